//! HTML in a terminal: its tables, and its text between them.
//!
//! A reading in one pass, without a tree: a page of a program's own may be as long and as deeply nested as it likes. What a
//! browser would forgive is forgiven as far as text goes.

use super::table::Table;

/// What is on a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Lines of text, the last one without an end.
    Text(String),
    Table(Table),
}

/// Elements whose content is no text.
const SKIPPED: [&str; 6] = ["head", "noscript", "script", "style", "template", "title"];

/// Elements that stand on lines of their own.
const LINES: [&str; 14] = [
    "br", "div", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "pre", "tr",
];

/// How many cells the spans of a page may make up.
const SPANNED: usize = 10_000;

/// Reads a page.
pub(super) fn read(html: &str) -> Vec<Block> {
    let mut page = Page::default();
    let mut rest = html;
    while let Some((text, behind)) = rest.split_once('<') {
        page.text(text);
        if let Some(comment) = behind.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        if !behind.starts_with(|first: char| first.is_ascii_alphabetic() || "/!?".contains(first)) {
            page.text("<");
            rest = behind;
            continue;
        }
        let (tag, behind) = behind.split_at(tag_length(behind));
        rest = behind;
        let (is_end, tag) = match tag.strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, tag),
        };
        let is_name = |character: char| character.is_ascii_alphanumeric();
        let length = tag.find(|character| !is_name(character));
        let name = tag[..length.unwrap_or(tag.len())].to_ascii_lowercase();
        if is_end {
            page.end(&name);
        } else if SKIPPED.contains(&name.as_str()) {
            rest = behind_element(rest, &name);
        } else {
            page.start(&name, tag);
        }
    }
    page.text(rest);
    page.end_table();
    page.end_text();
    page.blocks
}

/// How long a tag is, its `>` included, which may also stand in the quotes of an attribute.
fn tag_length(text: &str) -> usize {
    let mut quote = None;
    for (position, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return position + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// What follows the end of an element.
fn behind_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(found) = text[from..].find("</") {
        let tag = &text[from + found + 2..];
        if tag
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
        {
            return &tag[tag_length(tag)..];
        }
        from += found + 2;
    }
    ""
}

/// A page as far as it is read.
#[derive(Default)]
struct Page {
    blocks: Vec<Block>,
    text: String,
    table: Option<Grid>,
    spanned: usize,
}

/// A table as far as it is read.
#[derive(Default)]
struct Grid {
    head: Vec<Vec<String>>,
    body: Vec<Vec<String>>,
    is_in_head: bool,
    /// The column of the cell that is read.
    cell: Option<usize>,
    /// Tables inside its cells, which are text here.
    inner: usize,
    row: Option<Vec<String>>,
    /// For how many more rows a cell from above fills each column.
    spans: Vec<usize>,
    is_heading: bool,
}

impl Page {
    fn text(&mut self, text: &str) {
        let text = unescaped(text);
        match &mut self.table {
            Some(Grid {
                row: Some(row),
                cell: Some(column),
                ..
            }) => push_words(&mut row[*column], &text),
            // Between cells there is nothing to read.
            Some(_) => {}
            None => push_words(&mut self.text, &text),
        }
    }

    fn start(&mut self, name: &str, tag: &str) {
        let Some(grid) = &mut self.table else {
            if name == "table" {
                self.end_text();
                self.table = Some(Grid::default());
            } else if LINES.contains(&name) {
                self.line();
            }
            return;
        };
        match name {
            "table" => grid.inner += 1,
            _ if grid.inner > 0 => self.text(" "),
            "thead" => grid.is_in_head = true,
            "tbody" | "tfoot" => grid.end_row(),
            "tr" => {
                grid.end_row();
                grid.row = Some(Vec::new());
                grid.is_heading = true;
            }
            "td" | "th" => {
                grid.is_heading &= name == "th";
                let mut span = |attribute: &str| {
                    let span = attribute_of(tag, attribute).clamp(1, 100);
                    self.spanned += span - 1;
                    if self.spanned > SPANNED { 1 } else { span }
                };
                let (columns, rows) = (span("colspan"), span("rowspan"));
                grid.begin_cell(columns, rows);
            }
            _ => self.text(" "),
        }
    }

    fn end(&mut self, name: &str) {
        let Some(grid) = &mut self.table else {
            if LINES.contains(&name) {
                self.line();
            }
            return;
        };
        match name {
            "table" if grid.inner > 0 => grid.inner -= 1,
            "table" => self.end_table(),
            _ if grid.inner > 0 => {}
            "td" | "th" => grid.cell = None,
            "tr" => grid.end_row(),
            "thead" => {
                grid.end_row();
                grid.is_in_head = false;
            }
            _ => {}
        }
    }

    fn line(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.blocks.push(Block::Text(text.trim().to_owned()));
        }
    }

    fn end_table(&mut self) {
        let Some(mut grid) = self.table.take() else {
            return;
        };
        grid.end_row();
        let header = grid.header();
        if !header.is_empty() {
            let body = grid.body;
            let table = Table::of_rows(header, body.len(), |row| body[row].clone());
            self.blocks.push(Block::Table(table));
        }
    }
}

impl Grid {
    fn begin_cell(&mut self, columns: usize, rows: usize) {
        let row = self.row.get_or_insert_default();
        while self.spans.get(row.len()).is_some_and(|span| *span > 0) {
            self.spans[row.len()] -= 1;
            row.push(String::new());
        }
        let first = row.len();
        // The text of a wide cell stands in its first column; the others are there all the same.
        for column in first..first + columns {
            if self.spans.len() <= column {
                self.spans.resize(column + 1, 0);
            }
            self.spans[column] = rows - 1;
        }
        row.extend(std::iter::repeat_n(String::new(), columns));
        self.cell = Some(first);
    }

    fn end_row(&mut self) {
        self.cell = None;
        let Some(row) = self.row.take() else {
            return;
        };
        if row.is_empty() {
            return;
        }
        let is_first = self.head.is_empty() && self.body.is_empty();
        if self.is_in_head || is_first && self.is_heading {
            self.head.push(row);
        } else {
            self.body.push(row);
        }
    }

    /// One line of names: what several lines of headings say of a column, one after the other. As wide as the widest row.
    fn header(&self) -> Vec<String> {
        let rows = self.head.iter().chain(&self.body);
        let columns = rows.map(Vec::len).max().unwrap_or(0);
        let names = |column: usize| {
            let cells = self.head.iter().filter_map(|row| row.get(column));
            let names: Vec<&str> = cells
                .map(|cell| cell.trim())
                .filter(|name| !name.is_empty())
                .collect();
            names.join(" ")
        };
        (0..columns).map(names).collect()
    }
}

/// Adds text whose spaces and line ends are single spaces.
fn push_words(to: &mut String, text: &str) {
    for character in text.chars() {
        if !character.is_ascii_whitespace() {
            to.push(character);
        } else if !to.is_empty() && !to.ends_with([' ', '\n']) {
            to.push(' ');
        }
    }
}

/// The number that an attribute holds, or 1.
fn attribute_of(tag: &str, name: &str) -> usize {
    let value = tag.split_once(name).map_or("", |(_, value)| value);
    let value = value.trim_start_matches(['=', '"', '\'', ' ']);
    let length = value.bytes().take_while(u8::is_ascii_digit).count();
    value[..length].parse().unwrap_or(1)
}

/// The characters that pages of data name.
const NAMED: [(&str, &str); 9] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("times", "×"),
    ("hellip", "…"),
    ("middot", "·"),
];

fn unescaped(text: &str) -> String {
    let mut unescaped = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        unescaped.push_str(before);
        rest = behind;
        let name = behind
            .find(';')
            .filter(|end| *end < 10)
            .map(|end| &behind[..end]);
        match name.and_then(|name| character(name).map(|character| (name, character))) {
            Some((name, character)) => {
                unescaped.push_str(&character);
                rest = &behind[name.len() + 1..];
            }
            None => unescaped.push('&'),
        }
    }
    unescaped.push_str(rest);
    unescaped
}

fn character(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return char::from_u32(number.ok()?).map(String::from);
    }
    let known = NAMED.iter().find(|(known, _)| *known == name);
    known.map(|(_, character)| (*character).to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(blocks: &[Block]) -> (Vec<String>, Vec<Vec<String>>) {
        let found = blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some((table.header.clone(), table.rows.clone())),
            Block::Text(_) => None,
        });
        found.unwrap_or_default()
    }

    #[test]
    fn a_frame_of_pandas_is_a_table() {
        let blocks = read(
            "<div>\n<style scoped>\n td > a { x: '<'; }\n</style>\n<table border=\"1\" class=\"dataframe\">\n  <thead>\n    <tr style=\"text-align: right;\">\n      <th></th>\n      <th>a</th>\n      <th>b &lt; c</th>\n    </tr>\n    <tr><th>index</th><th></th><th></th></tr>\n  </thead>\n  <tbody>\n    <tr>\n      <th>0</th>\n      <td>1</td>\n      <td>x&amp;y</td>\n    </tr>\n  </tbody>\n</table>\n<p>1 rows × 2 columns</p>\n</div>",
        );
        assert_eq!(
            table(&blocks),
            (
                ["index", "a", "b < c"].map(str::to_owned).to_vec(),
                vec![["0", "1", "x&y"].map(str::to_owned).to_vec()]
            )
        );
        assert_eq!(blocks[1], Block::Text("1 rows × 2 columns".to_owned()));
        assert_eq!(blocks.len(), 2);
    }

    #[test]
    fn spans_keep_their_columns() {
        let blocks = read(
            "<table><thead><tr><th></th><th></th><th colspan=\"2\">x</th></tr><tr><th></th><th></th><th>a</th><th>b</th></tr></thead><tbody><tr><th rowspan=\"2\">k</th><th>1</th><td>5</td><td>6</td></tr><tr><th>2</th><td>7</td><td>8</td></tr></tbody></table>",
        );
        let (header, rows) = table(&blocks);
        assert_eq!(header, ["", "", "x a", "b"]);
        assert_eq!(rows, [["k", "1", "5", "6"], ["", "2", "7", "8"]]);
    }

    #[test]
    fn text_is_what_a_reader_sees() {
        let blocks = read(
            "<h1>Title</h1><p>one\n two<br>three</p><script>'</p>'</script><!-- no -->a < b &copy; &#65;",
        );
        assert_eq!(
            blocks,
            [Block::Text(
                "Title\none two\nthree\na < b &copy; A".to_owned()
            )]
        );
        assert_eq!(read("<style>x</style>"), []);
        assert_eq!(read("<table></table>"), []);
    }

    #[test]
    fn hostile_pages_cost_no_more_than_their_length() {
        for page in [
            "<table><tr><td colspan=100 rowspan=100>".repeat(50_000),
            "<div>".repeat(1_000_000),
            "<script>".repeat(100_000),
            "<".repeat(1_000_000),
            format!("<table>{}", "<tr><td colspan=99999999999>x".repeat(50_000)),
        ] {
            read(&page);
        }
    }

    proptest! {
        #[test]
        fn no_page_is_too_broken(page in "(<(/?(table|tr|td|th|thead|p|script|b)( colspan=\"[0-9]{0,3}\")?>?|!--)|[a&;#x<>\" é\n]){0,30}") {
            read(&page);
        }
    }
}
