//! Whether input is a whole cell yet, as far as its text tells: brackets, strings, line ends and indentation.
//!
//! A guess that costs no trip to the engine. It errs on the side of running the cell: then the language itself says what
//! is wrong with it.

/// Whether the text that was typed is a whole cell. An empty line ends a block.
pub(super) fn is_complete(text: &str) -> bool {
    if text.trim_start().starts_with(':') {
        return true;
    }
    let scan = scan(text);
    match scan.end {
        End::Open => false,
        End::Closed => !scan.is_block || ends_with_empty_line(text),
    }
}

fn ends_with_empty_line(text: &str) -> bool {
    text.rsplit_once('\n')
        .is_some_and(|(_, last)| last.trim().is_empty())
}

/// Gathers lines that come without a person, who would end each block by an empty line: there a line that stands at the
/// margin ends it as well.
#[derive(Default)]
pub(super) struct Gatherer {
    text: String,
}

impl Gatherer {
    /// Takes a line and hands over the cells it completes: the block that stands before it, itself, both or none.
    pub(super) fn line(&mut self, line: &str) -> Vec<String> {
        let mut cells = Vec::new();
        if self.ends_before(line) {
            cells.extend(self.rest());
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        // Inside a block an empty line says nothing: files have them between the lines of a function.
        let scan = scan(&self.text);
        let is_whole = scan.end == End::Closed && !scan.is_block;
        if is_whole || self.text.trim_start().starts_with(':') {
            cells.extend(self.rest());
        }
        cells
    }

    /// What has been gathered, whole or not.
    pub(super) fn rest(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        (!text.trim().is_empty()).then_some(text)
    }

    fn ends_before(&self, line: &str) -> bool {
        let is_at_margin = line.starts_with(|first: char| !first.is_whitespace() && first != '#');
        let scan = scan(&self.text);
        is_at_margin
            && scan.end == End::Closed
            && scan.is_block
            && scan.has_body
            && !continues_a_block(line)
    }
}

/// Whether the line belongs to the statement before it though it stands at the margin.
fn continues_a_block(line: &str) -> bool {
    let word: &str = line
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .next()
        .unwrap_or_default();
    matches!(word, "else" | "elif" | "except" | "finally")
}

/// What the text says about itself.
struct Scan {
    end: End,
    /// A statement of it goes on over indented lines.
    is_block: bool,
    /// The last line that says anything is indented: a block has begun.
    has_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Inside brackets, a long string, or behind a backslash: more must come.
    Open,
    /// The last line ends a statement, or at least a line of one.
    Closed,
}

fn scan(text: &str) -> Scan {
    let mut scanner = Scanner::default();
    for line in text.split('\n') {
        scanner.line(line);
    }
    let is_open = scanner.depth > 0 || scanner.quote.is_some() || scanner.is_continued;
    Scan {
        end: if is_open { End::Open } else { End::Closed },
        is_block: scanner.is_header || scanner.is_indented || scanner.is_decorator,
        has_body: scanner.is_indented,
    }
}

/// Reads line by line, and knows what the last statement's line was.
#[derive(Default)]
struct Scanner {
    depth: usize,
    /// The long string that is open: its quote character.
    quote: Option<u8>,
    /// The last line ended in a backslash.
    is_continued: bool,
    /// The last line that began a statement ends with a colon.
    is_header: bool,
    is_indented: bool,
    is_decorator: bool,
}

impl Scanner {
    fn line(&mut self, line: &str) {
        let begins_statement = self.depth == 0 && self.quote.is_none() && !self.is_continued;
        let last = self.tokens(line.as_bytes());
        let Some(last) = last else {
            return;
        };
        if begins_statement {
            self.is_indented = line.starts_with([' ', '\t']);
            self.is_decorator = line.starts_with('@');
        }
        self.is_header = last == b':';
    }

    /// Goes over one line, and returns its last character that is code; none when it is blank or a comment.
    fn tokens(&mut self, line: &[u8]) -> Option<u8> {
        let mut last = None;
        let mut position = 0;
        self.is_continued = false;
        while position < line.len() {
            let byte = line[position];
            if let Some(quote) = self.quote {
                last = Some(quote);
                position += match byte {
                    b'\\' => 2,
                    _ if line[position..].starts_with(&[quote; 3]) => {
                        self.quote = None;
                        3
                    }
                    _ => 1,
                };
                continue;
            }
            match byte {
                b'#' => return last,
                b' ' | b'\t' | b'\r' => {
                    position += 1;
                    continue;
                }
                b'\\' if position + 1 == line.len() => {
                    self.is_continued = true;
                    return last.or(Some(b'\\'));
                }
                b'(' | b'[' | b'{' => self.depth += 1,
                b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                b'"' | b'\'' if line[position..].starts_with(&[byte; 3]) => {
                    self.quote = Some(byte);
                    last = Some(byte);
                    position += 3;
                    continue;
                }
                b'"' | b'\'' => {
                    last = Some(byte);
                    position = short_string_end(line, position);
                    // A short string may go on behind a backslash.
                    self.is_continued = position > line.len();
                    continue;
                }
                _ => {}
            }
            last = Some(byte);
            position += 1;
        }
        last
    }
}

/// Where a short string that begins at `start` ends: behind its quote, at the end of the line when it has none, and beyond
/// it when the line ends in a backslash.
fn short_string_end(line: &[u8], start: usize) -> usize {
    let quote = line[start];
    let mut position = start + 1;
    while position < line.len() {
        match line[position] {
            b'\\' => position += 2,
            byte if byte == quote => return position + 1,
            _ => position += 1,
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_statement_is_whole_at_once() {
        for text in [
            "1 + 1",
            "x = [1, 2]",
            "x = 'a # b'",
            "\"it's\"",
            "",
            "# only a comment:",
            "x = {'a': 1}  # :",
            "for n in range(3): print(n)",
            "f(\n1,\n)",
            "'''a\nb'''",
            "x = 1 + \\\n2",
            ":vars",
        ] {
            assert!(is_complete(text), "{text:?}");
        }
    }

    #[test]
    fn open_brackets_strings_and_backslashes_need_more() {
        for text in [
            "f(",
            "x = [1,",
            "{'a': (1",
            "'''a",
            "x = \"\"\"a\n\n",
            "x = 1 + \\",
            "f(  # )",
            "'''\\'''",
            "x = 'a\\",
        ] {
            assert!(!is_complete(text), "{text:?}");
        }
    }

    #[test]
    fn an_empty_line_ends_a_block() {
        for block in [
            "if x:",
            "def f():  # why",
            "def f():\n    return 1",
            "@cached",
            "@cached\ndef f(): pass\nif x:",
            "class A:\n    x = 1\n    y = (\n2)",
            "if x:\n    y\nelse:",
            "def f(\n  a,\n):",
        ] {
            assert!(!is_complete(block), "{block:?}");
            assert!(is_complete(&format!("{block}\n")), "{block:?}");
            assert!(is_complete(&format!("{block}\n    ")), "{block:?}");
        }
    }

    #[test]
    fn wrong_input_is_for_the_language_to_judge() {
        for text in [")", "x = 'a", "]]", "x = (1))"] {
            assert!(is_complete(text), "{text:?}");
        }
    }

    fn gathered(text: &str) -> Vec<String> {
        let mut gatherer = Gatherer::default();
        let mut cells: Vec<String> = text.lines().flat_map(|line| gatherer.line(line)).collect();
        cells.extend(gatherer.rest());
        cells
    }

    #[test]
    fn lines_from_a_pipe_need_no_empty_line_after_a_block() {
        assert_eq!(
            gathered("def f():\n    x = 1\n\n    return x\nf()\n:vars\ny = 2"),
            [
                "def f():\n    x = 1\n\n    return x",
                "f()",
                ":vars",
                "y = 2"
            ]
        );
        assert_eq!(
            gathered("if x:\n    1\n# why\nelse:\n    2\n3"),
            ["if x:\n    1\n# why\nelse:\n    2", "3"]
        );
        assert_eq!(
            gathered("@a\n@b\ndef f():\n  pass\n@c\ndef g():\n  pass"),
            ["@a\n@b\ndef f():\n  pass", "@c\ndef g():\n  pass"]
        );
        assert_eq!(gathered("x = (1,\n\n2)\n\n\ny"), ["x = (1,\n\n2)", "y"]);
        assert_eq!(gathered("f('''\n:quit\n''')"), ["f('''\n:quit\n''')"]);
    }

    proptest! {
        #[test]
        fn no_line_is_lost_and_none_is_made_up(
            lines in prop::collection::vec("[a-z(){}\\[\\]'\"\\\\:@# \t]{0,12}", 0..12),
        ) {
            let text = lines.join("\n");
            let said = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
            };
            prop_assert_eq!(said(&gathered(&text).join("\n")), said(&text));
        }
    }
}
