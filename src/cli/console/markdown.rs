//! Markdown in a terminal: headings, lists, quotes, code and tables, wrapped to its width.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::colour::{Palette, Tone};
use super::table::Table;
use super::text::{harmless, width};
use crate::cli::language;
use crate::cli::syntax;

/// Lines are no longer than this, however wide the terminal is.
const WIDEST: usize = 100;

/// Draws Markdown, its last line without an end. What it holds cannot move the cursor.
pub(super) fn draw(markdown: &str, columns: usize, palette: Palette) -> String {
    let markdown = harmless(markdown);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(columns, palette);
    for event in Parser::new_ext(&markdown, options) {
        page.take(event);
    }
    page.end_block();
    page.text.trim_end().to_owned()
}

/// A page as far as it is drawn.
struct Page {
    columns: usize,
    palette: Palette,
    text: String,
    /// What stands before each line of the block: quotes, and the room of lists.
    margin: String,
    /// How long it was outside of each quote and item.
    margins: Vec<usize>,
    /// What stands there before its first line instead: the mark of an item.
    mark: Option<String>,
    /// The words of the block.
    words: String,
    /// The numbers of the lists, innermost last; none for lists of bullets.
    lists: Vec<Option<u64>>,
    tones: Vec<Tone>,
    links: Vec<String>,
    code: Option<String>,
    table: Option<(Vec<String>, Vec<Vec<String>>)>,
}

impl Page {
    fn new(columns: usize, palette: Palette) -> Self {
        Self {
            columns,
            palette,
            text: String::new(),
            margin: String::new(),
            margins: Vec::new(),
            mark: None,
            words: String::new(),
            lists: Vec::new(),
            tones: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.inline(&text),
            Event::Code(code) => {
                let code = self.palette.paint(Tone::Code, &code);
                self.words.push_str(&code);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.inline(&text),
            Event::InlineHtml(html) => {
                if html.starts_with("<br") {
                    self.words.push('\n');
                }
            }
            Event::FootnoteReference(name) => self.inline(&format!("[{name}]")),
            Event::SoftBreak => self.words.push(' '),
            Event::HardBreak => self.words.push('\n'),
            Event::Rule => {
                let line = "─".repeat(self.room());
                self.words.push_str(&self.palette.paint(Tone::Aside, &line));
                self.end_block();
                self.gap();
            }
            Event::TaskListMarker(done) => self.words.push_str(if done { "[x] " } else { "[ ] " }),
            Event::Html(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_block();
                self.tones.push(match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Tone::Heading,
                    _ => Tone::Strong,
                });
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                let line = self.palette.paint(Tone::Aside, "│");
                self.indent(&format!("{line} "));
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(name) => name.into_string(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::List(first) => {
                self.end_block();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.mark = Some(format!("{}{mark}", self.margin));
                self.indent(&" ".repeat(width(&mark)));
            }
            Tag::Table(_) => {
                self.end_block();
                self.table = Some((Vec::new(), Vec::new()));
            }
            Tag::TableRow => {
                if let Some((_, rows)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.tones.push(Tone::Emphasis),
            Tag::Strong => self.tones.push(Tone::Strong),
            Tag::Strikethrough => self.tones.push(Tone::Aside),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_block();
                if self.lists.is_empty() {
                    self.gap();
                }
            }
            TagEnd::Heading(_) => {
                self.tones.pop();
                self.end_block();
                self.gap();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.outdent();
                self.gap();
            }
            TagEnd::CodeBlock => {
                self.end_code();
                self.gap();
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.gap();
                }
            }
            TagEnd::Item => {
                self.end_block();
                self.mark = None;
                self.outdent();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let words = std::mem::take(&mut self.words);
                if let Some((header, rows)) = &mut self.table {
                    rows.last_mut().unwrap_or(header).push(words);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.tones.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                let place = self.links.pop().unwrap_or_default();
                if !place.is_empty() && !self.words.ends_with(&place) && !place.starts_with("data:")
                {
                    let place = self.palette.paint(Tone::Aside, &format!(" ({place})"));
                    self.words.push_str(&place);
                }
            }
            _ => {}
        }
    }

    fn inline(&mut self, text: &str) {
        // A table's own drawing has no room for colours inside its cells.
        match self.tones.last() {
            Some(tone) if self.code.is_none() && self.table.is_none() => {
                let text = self.palette.paint(*tone, text);
                self.words.push_str(&text);
            }
            _ => self.words.push_str(text),
        }
    }

    fn indent(&mut self, by: &str) {
        self.margins.push(self.margin.len());
        self.margin.push_str(by);
    }

    fn outdent(&mut self) {
        self.margin.truncate(self.margins.pop().unwrap_or(0));
    }

    fn room(&self) -> usize {
        let room = self.columns.min(WIDEST).saturating_sub(1);
        room.saturating_sub(width(&self.margin)).max(10)
    }

    /// Writes the words of the block, wrapped.
    fn end_block(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.trim().is_empty() {
            return;
        }
        let room = self.room();
        for line in words.trim().split('\n') {
            let (mut written, mut taken) = (String::new(), 0);
            for word in line.split(' ').filter(|word| !word.is_empty()) {
                let wide = width(word);
                if taken > 0 && taken + 1 + wide > room {
                    self.line(&written);
                    (written, taken) = (String::new(), 0);
                }
                if taken > 0 {
                    written.push(' ');
                    taken += 1;
                }
                written.push_str(word);
                taken += wide;
            }
            self.line(&written);
        }
    }

    fn end_code(&mut self) {
        let code = std::mem::take(&mut self.words);
        let name = self.code.take().unwrap_or_default();
        let painted = match language::of_name(&name) {
            Some(language) => self.palette.pieces(&syntax::pieces(language, &code)),
            None if name == "json" => self.palette.pieces(&syntax::json(&code)),
            None => code,
        };
        for line in painted.trim_end().split('\n') {
            self.line(&format!("    {line}"));
        }
    }

    fn end_table(&mut self) {
        let Some((header, rows)) = self.table.take() else {
            return;
        };
        let table = Table::of_rows(header, rows.len(), |row| rows[row].clone());
        let columns = self.columns.saturating_sub(width(&self.margin));
        for line in table.draw(columns, self.palette).lines() {
            self.line(line);
        }
        self.gap();
    }

    fn line(&mut self, text: &str) {
        let begin = self.mark.take().unwrap_or_else(|| self.margin.clone());
        self.text.push_str(begin.as_str());
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A line between two blocks.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(markdown: &str, columns: usize) -> String {
        draw(markdown, columns, Palette { is_coloured: false })
    }

    #[test]
    fn blocks_are_readable() {
        assert_eq!(
            drawn(
                "# Title\n\nSome *text* with `code`\nand a [link](https://a.b).\n\n- one\n- two\n  1. inner\n  2. more\n\n> quoted\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | x |\n",
                80
            ),
            "\
Title

Some text with code and a link (https://a.b).

• one
• two
  1. inner
  2. more

│ quoted

    x = 1

┌───┬───┐
│ a │ b │
├───┼───┤
│ 1 │ x │
└───┴───┘"
        );
    }

    #[test]
    fn lines_wrap_at_the_width() {
        let text = "word ".repeat(30);
        let drawn = drawn(&format!("- {text}"), 24);
        assert!(drawn.lines().all(|line| width(line) <= 23), "{drawn}");
        assert!(
            drawn.starts_with("• word word word word\n  word"),
            "{drawn}"
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(drawn("a\x1b[2Jb <script>x</script>", 80), "ab x");
    }

    #[test]
    fn colours_mean_something() {
        let palette = Palette { is_coloured: true };
        assert_eq!(
            draw("**b** `c`", 80, palette),
            "\x1b[1mb\x1b[0m \x1b[36mc\x1b[0m"
        );
    }
}
