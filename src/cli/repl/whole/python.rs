//! Python: brackets, strings, line ends and indentation.

use super::{Reading, Whole};

/// Whether a line belongs to the block before it: it is indented, a comment, or begins with a word that goes on with it.
pub(super) fn goes_on(line: &str) -> bool {
    if !line.starts_with(|first: char| !first.is_whitespace() && first != '#') {
        return true;
    }
    let word: &str = line
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .next()
        .unwrap_or_default();
    matches!(word, "else" | "elif" | "except" | "finally")
}

/// Reads a text.
pub(super) fn read(text: &str) -> Reading {
    let mut scanner = Scanner::default();
    for line in text.split('\n') {
        scanner.line(line);
    }
    let is_open = scanner.depth > 0 || scanner.quote.is_some() || scanner.is_continued;
    let is_block = scanner.is_header || scanner.is_indented || scanner.is_decorator;
    Reading {
        whole: match (is_open, is_block) {
            (true, _) => Whole::Open,
            (false, true) => Whole::Expecting,
            (false, false) => Whole::Yes,
        },
        // The last line that says anything is indented: a block has begun.
        may_go_on: is_block && scanner.is_indented,
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
