//! JSON as a person reads it: on one line where that fits, else a member a line, in colour, and folded where it is long.
//!
//! It works on the text, so that every number keeps its digits and every object its order. The text is valid: an engine or
//! serde wrote it.

mod node;

use self::node::Node;
use super::colour::{Palette, Tone};
use super::table::Table;
use super::text::{counted, width};
use crate::cli::syntax;

/// How many members of an array or object are shown, by how deep it lies; beyond the last, the last.
const MEMBERS: [usize; 4] = [50, 20, 10, 5];

/// How many of them come from its end.
const LAST: usize = 2;

/// How many characters of a text are shown.
const CHARACTERS: usize = 500;

/// How many lines a folded value takes, roughly: behind that, containers show their size alone.
const LINES: usize = 200;

/// How many columns a table may have before it is easier to read as JSON.
const MOST_COLUMNS: usize = 64;

/// How a value is shown.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Look {
    pub(in crate::cli) columns: usize,
    pub(in crate::cli) palette: Palette,
    /// Long values are shown by their beginnings, and records as a table.
    pub(in crate::cli) is_folded: bool,
}

impl Look {
    /// The same, folded or not.
    pub(in crate::cli) fn folded(self, is_folded: bool) -> Self {
        Self { is_folded, ..self }
    }
}

/// Lays a value out, without an end of its last line.
pub(in crate::cli) fn lay_out(json: &str, look: Look) -> String {
    let node = Node::read(json);
    if look.is_folded
        && let Some(table) = records(&node)
    {
        return table.draw(look.columns, look.palette).trim_end().to_owned();
    }
    let mut layout = Layout {
        look,
        text: String::new(),
        lines: 0,
        packs: false,
    };
    layout.node(&node, 0, 0);
    escaped(layout.text)
}

/// JSON leaves some control characters as they are, which are sequences of their own to a terminal; escaped, the value is
/// the same.
fn escaped(text: String) -> String {
    let obeys = |character| matches!(character, '\u{7f}'..='\u{9f}');
    if !text.contains(obeys) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if obeys(character) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Lays a value out whole and without colours, for a page.
pub(in crate::cli) fn lay_out_plainly(json: &str) -> String {
    lay_out(
        json,
        Look {
            columns: 100,
            palette: Palette { is_coloured: false },
            is_folded: false,
        },
    )
}

/// The table that a value is, if it is one.
pub(in crate::cli) fn table_of(json: &str) -> Option<Table> {
    records(&Node::read(json))
}

/// The table that an array of records is, at least two that have most of their names in common.
fn records(node: &Node<'_>) -> Option<Table> {
    let Node::Array(items) = node else {
        return None;
    };
    let mut names: Vec<&str> = Vec::new();
    let mut filled = 0;
    for item in items {
        let Node::Object(members) = item else {
            return None;
        };
        filled += members.len();
        for (name, _) in members {
            if !names.contains(name) {
                names.push(name);
            }
        }
        if names.len() > MOST_COLUMNS {
            return None;
        }
    }
    if items.len() < 2 || names.is_empty() || filled * 2 < items.len() * names.len() {
        return None;
    }
    let header = names.iter().map(|name| text_of(name)).collect();
    let row = |index: usize| {
        let Node::Object(members) = &items[index] else {
            return Vec::new();
        };
        let cell = |name: &&str| {
            let member = members.iter().find(|(own, _)| own == name);
            member.map_or(String::new(), |(_, value)| match value {
                Node::Leaf(text) => text_of(text),
                value => beginning(value),
            })
        };
        names.iter().map(cell).collect()
    };
    Some(Table::of_rows(header, items.len(), row))
}

/// What a leaf says: a text without its quotes.
fn text_of(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())
}

/// As much of a value as a cell of a table could hold, on one line.
fn beginning(node: &Node<'_>) -> String {
    let mut text = String::new();
    let _ = node.write_line(&mut text, 120);
    text
}

struct Layout {
    look: Look,
    text: String,
    lines: usize,
    /// The members of the next container stand beside each other.
    packs: bool,
}

impl Layout {
    /// Writes a value behind so many columns that its line has already.
    fn node(&mut self, node: &Node<'_>, depth: usize, taken: usize) {
        let room = self.look.columns.saturating_sub(taken + 1);
        let mut line = String::new();
        let fits = node.write_line(&mut line, room).is_ok() && width(&line) <= room;
        match node {
            Node::Leaf(leaf) => self.leaf(leaf),
            Node::Array(items) if !fits => {
                // Leaves share lines.
                self.packs = items.iter().all(|item| matches!(item, Node::Leaf(_)));
                self.members(('[', ']'), items.len(), depth, "item", |layout, index| {
                    layout.node(&items[index], depth + 1, (depth + 1) * 2);
                });
            }
            Node::Object(members) if !fits => {
                self.packs = false;
                self.members(
                    ('{', '}'),
                    members.len(),
                    depth,
                    "member",
                    |layout, index| {
                        let (name, value) = &members[index];
                        layout.coloured(name, true);
                        layout.text.push_str(": ");
                        layout.node(value, depth + 1, (depth + 1) * 2 + width(name) + 2);
                    },
                );
            }
            _ => self.coloured(&line, false),
        }
    }

    /// Writes the members of a container, each on a line; from the middle of a long one they are left out.
    fn members(
        &mut self,
        (open, close): (char, char),
        count: usize,
        depth: usize,
        thing: &str,
        mut member: impl FnMut(&mut Self, usize),
    ) {
        self.text.push(open);
        let packs = std::mem::take(&mut self.packs);
        let mut head = count;
        if self.look.is_folded {
            let most = MEMBERS[depth.min(MEMBERS.len() - 1)];
            if self.lines > LINES {
                head = 0;
            } else if count > most + LAST {
                head = most;
            }
        }
        let left_out = match count - head {
            0 => 0,
            _ if head == 0 => count,
            behind => behind - LAST,
        };
        for index in (0..head).chain(head + left_out..count) {
            if left_out > 0 && index == head + left_out {
                self.left_out(left_out, thing, depth);
            }
            if packs && index != 0 && index != head + left_out {
                self.share_line(depth + 1, |layout| member(layout, index));
            } else {
                self.next_line(depth + 1);
                member(self, index);
            }
            if index + 1 < count {
                self.text.push(',');
            }
        }
        if left_out > 0 && left_out == count {
            let said = format!("… {}", counted(count, thing));
            self.aside(&said);
        } else {
            self.next_line(depth);
        }
        self.text.push(close);
    }

    /// Writes what takes one line at most behind what its line has, if it fits there.
    fn share_line(&mut self, depth: usize, write: impl FnOnce(&mut Self)) {
        let before = self.text.len();
        write(self);
        let written = self.text.split_off(before);
        let line = self.text.rfind('\n').map_or(0, |end| end + 1);
        // Its comma comes behind it.
        if width(&self.text[line..]) + 2 + width(&written) < self.look.columns {
            self.text.push(' ');
        } else {
            self.next_line(depth);
        }
        self.text.push_str(&written);
    }

    fn left_out(&mut self, count: usize, thing: &str, depth: usize) {
        self.next_line(depth + 1);
        let said = format!("… {} more", counted(count, thing));
        self.aside(&said);
    }

    fn next_line(&mut self, depth: usize) {
        self.lines += 1;
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(depth));
    }

    fn leaf(&mut self, leaf: &str) {
        let is_long = self.look.is_folded && leaf.len() > CHARACTERS;
        match leaf.char_indices().nth(CHARACTERS) {
            Some((end, _)) if is_long => {
                // An escape is not cut.
                let end = leaf[..end]
                    .rfind('\\')
                    .filter(|escape| end - escape < 6)
                    .unwrap_or(end);
                self.coloured(&leaf[..end], false);
                let said = format!("… {} in all", counted(leaf.chars().count(), "character"));
                self.aside(&said);
            }
            _ => self.coloured(leaf, false),
        }
    }

    fn coloured(&mut self, json: &str, is_key: bool) {
        let palette = self.look.palette;
        let text = if is_key {
            palette.paint(Tone::Of(syntax::Role::Key), json)
        } else {
            palette.pieces(&syntax::json(json))
        };
        self.text.push_str(&text);
    }

    fn aside(&mut self, text: &str) {
        let text = self.look.palette.paint(Tone::Aside, text);
        self.text.push_str(&text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn laid_out(json: &str, columns: usize, is_folded: bool) -> String {
        let palette = Palette { is_coloured: false };
        lay_out(
            json,
            Look {
                columns,
                palette,
                is_folded,
            },
        )
    }

    #[test]
    fn what_fits_stands_on_one_line() {
        assert_eq!(
            laid_out(r#"{"b":[1,2.50],"a":{"c":"d\"e","f":{}}}"#, 80, true),
            r#"{"b": [1, 2.50], "a": {"c": "d\"e", "f": {}}}"#
        );
        assert_eq!(laid_out("42", 80, true), "42");
        assert_eq!(
            laid_out("[\"\u{9b}2J\u{7f}\"]", 80, true),
            r#"["\u009b2J\u007f"]"#
        );
        assert_eq!(
            laid_out(r#"{"b":[1,2],"name":"a longer text"}"#, 24, true),
            "{\n  \"b\": [1, 2],\n  \"name\": \"a longer text\"\n}"
        );
    }

    #[test]
    fn a_long_value_is_folded_and_says_so() {
        let numbers: Vec<u32> = (0..1000).collect();
        let json = serde_json::to_string(&numbers).unwrap_or_default();
        let folded = laid_out(&json, 80, true);
        assert_eq!(folded.lines().count(), 1 + 3 + 1 + 1 + 1, "{folded}");
        assert!(folded.starts_with("[\n  0, 1, 2, "), "{folded}");
        assert!(
            folded.ends_with(" 49,\n  … 948 items more\n  998, 999\n]"),
            "{folded}"
        );
        assert!(
            folded.lines().all(|line| line.chars().count() < 80),
            "{folded}"
        );
        let whole = laid_out(&json, 80, false);
        assert_eq!(whole.replace(['\n', ' '], ""), json);
        let text = format!("\"{}\"", "é".repeat(2000));
        let folded = laid_out(&text, 80, true);
        assert_eq!(
            folded.chars().count(),
            500 + "… 2,002 characters in all".len() - 2
        );
    }

    #[test]
    fn a_folded_value_has_its_bounds() {
        let inner = serde_json::json!(vec![vec![vec!["x".repeat(90); 40]; 40]; 400]);
        let folded = laid_out(&inner.to_string(), 80, true);
        assert!(folded.lines().count() < 400, "{}", folded.lines().count());
    }

    #[test]
    fn records_are_a_table() {
        let json = r#"[{"name":"Ann","score":91,"tags":["a","b"]},{"name":"Bo\nb","score":null}]"#;
        assert_eq!(
            laid_out(json, 80, true),
            "\
┌──────┬───────┬────────────┐
│ name │ score │ tags       │
├──────┼───────┼────────────┤
│ Ann  │    91 │ [\"a\", \"b\"] │
│ Bo⏎b │  null │            │
└──────┴───────┴────────────┘"
        );
        for json in [
            r#"[{"a":1}]"#,
            r#"[{"a":1},{"b":2},{"c":3}]"#,
            "[{},{}]",
            "[1,2]",
            "[]",
        ] {
            assert!(!laid_out(json, 80, true).contains('│'), "{json}");
        }
        assert!(!laid_out(json, 80, false).contains('│'));
    }

    fn values() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[a\\\\\"{}\\[\\],:é\n ]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map("[a\"\\\\:]{0,4}", inner, 0..6).prop_map(|members| {
                    members
                        .into_iter()
                        .collect::<serde_json::Map<_, _>>()
                        .into()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_unfolded_value_is_the_same_value(value in values(), columns in 10_usize..120) {
            let laid_out = laid_out(&value.to_string(), columns, false);
            let read: serde_json::Value = serde_json::from_str(&laid_out).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(read, value);
        }
    }
}
