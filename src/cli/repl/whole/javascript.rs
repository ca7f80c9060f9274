//! JavaScript and TypeScript: brackets, strings, templates, regular expressions, comments, and what cannot end a statement.

use memchr::{memchr, memmem};

use super::{Reading, Whole};

/// Whether a line belongs to the `if` or `try` before it: it says nothing, or begins with a word that goes on with it.
pub(super) fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let word = line
        .split(|character: char| !character.is_alphanumeric())
        .next()
        .unwrap_or_default();
    line.is_empty()
        || line.starts_with("//")
        || line.starts_with("/*")
        || matches!(word, "else" | "catch" | "finally")
}

/// Reads a text.
pub(super) fn read(text: &str) -> Reading {
    let mut scanner = Scanner::default();
    scanner.scan(text.as_bytes());
    let is_expecting = match scanner.last {
        Last::Operator | Last::Header => true,
        Last::Block => matches!(scanner.clause, Clause::Try | Clause::Do),
        Last::Nothing | Last::Value => false,
    };
    Reading {
        whole: if scanner.is_open || !scanner.brackets.is_empty() {
            Whole::Open
        } else if is_expecting || scanner.needs_body {
            Whole::Expecting
        } else {
            Whole::Yes
        },
        may_go_on: scanner.last == Last::Block
            && matches!(scanner.clause, Clause::If | Clause::Catch),
    }
}

/// Goes over tokens, and knows what the last one asks for.
#[derive(Default)]
struct Scanner {
    brackets: Vec<Bracket>,
    last: Last,
    /// The clause that the statement outside all brackets has come to.
    clause: Clause,
    /// A function or class was begun whose body has not come yet.
    needs_body: bool,
    /// The next parenthesis is that of an `if` or its kin.
    is_header: bool,
    /// Nothing of the statement has come yet.
    is_start: bool,
    /// The text ends inside a comment, or behind a backslash inside a string.
    is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// `(` of `if (…)` and its kin, after which a statement follows.
    Header,
    Other,
    /// Inside the text of a template.
    Template,
    /// Inside `${…}` of a template.
    Substitution,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    /// Something that a statement can end with.
    Value,
    /// `}` outside all brackets.
    Block,
    /// Something that an operand has to follow.
    Operator,
    /// Something that a statement has to follow.
    Header,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Clause {
    #[default]
    None,
    If,
    Try,
    Catch,
    Do,
}

impl Scanner {
    fn scan(&mut self, text: &[u8]) {
        self.is_start = true;
        let mut position = if text.starts_with(b"#!") {
            line_end(text, 0)
        } else {
            0
        };
        while position < text.len() {
            position = match self.brackets.last() {
                Some(Bracket::Template) => self.template(text, position),
                _ => self.token(text, position),
            };
        }
    }

    /// Takes the text of a template up to its end or to the next `${`, and returns where that ends.
    fn template(&mut self, text: &[u8], position: usize) -> usize {
        match text[position] {
            b'\\' => position + 2,
            b'`' => {
                self.brackets.pop();
                self.value();
                position + 1
            }
            b'$' if text.get(position + 1) == Some(&b'{') => {
                self.brackets.push(Bracket::Substitution);
                self.last = Last::Operator;
                position + 2
            }
            _ => position + 1,
        }
    }

    /// Takes one token, and returns where it ends.
    fn token(&mut self, text: &[u8], position: usize) -> usize {
        let rest = &text[position..];
        match rest[0] {
            b'\n' => {
                self.is_start |=
                    self.is_outside() && matches!(self.last, Last::Value | Last::Block);
                position + 1
            }
            byte if byte.is_ascii_whitespace() => position + 1,
            _ if rest.starts_with(b"//") => line_end(text, position),
            _ if rest.starts_with(b"/*") => match memmem::find(&rest[2..], b"*/") {
                Some(end) => position + 2 + end + 2,
                None => {
                    self.is_open = true;
                    text.len()
                }
            },
            b'"' | b'\'' => self.string(text, position),
            b'`' => {
                self.brackets.push(Bracket::Template);
                position + 1
            }
            b'(' | b'[' | b'{' => {
                self.open(rest[0]);
                position + 1
            }
            b')' | b']' | b'}' => {
                self.close(rest[0]);
                position + 1
            }
            b'/' if self.last != Last::Value && self.last != Last::Block => {
                self.value();
                regular_expression_end(text, position)
            }
            byte if is_word(byte) => {
                let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                let is_name = position > 0 && text[position - 1] == b'.';
                self.word(&rest[..length], is_name);
                position + length
            }
            b';' => {
                self.last = Last::Value;
                if self.is_outside() {
                    self.is_start = true;
                    self.needs_body = false;
                }
                position + 1
            }
            b'+' | b'-' if rest.get(1) == Some(&rest[0]) => position + 2,
            b'=' if rest.get(1) == Some(&b'>') => self.operator(position + 2),
            // `x!` of TypeScript, and the end of `Promise<string>`: running too early is the lesser evil.
            b'!' if self.last == Last::Value && rest.get(1) != Some(&b'=') => position + 1,
            b'>' if self.last == Last::Value && rest.get(1) != Some(&b'=') => position + 1,
            _ => self.operator(position + 1),
        }
    }

    fn is_outside(&self) -> bool {
        self.brackets.is_empty()
    }

    fn value(&mut self) {
        self.last = Last::Value;
        self.begin();
    }

    fn operator(&mut self, end: usize) -> usize {
        self.last = Last::Operator;
        self.begin();
        end
    }

    /// Something that is no word of a clause has come: where a statement begins, it is of no clause.
    fn begin(&mut self) {
        self.is_header = false;
        if self.is_outside() && std::mem::replace(&mut self.is_start, false) {
            self.clause = Clause::None;
        }
    }

    fn open(&mut self, bracket: u8) {
        let is_header = self.is_header && bracket == b'(';
        self.begin();
        if self.is_outside() && bracket == b'{' {
            self.needs_body = false;
        }
        self.brackets.push(if is_header {
            Bracket::Header
        } else {
            Bracket::Other
        });
        self.last = Last::Operator;
    }

    fn close(&mut self, bracket: u8) {
        self.last = match self.brackets.pop() {
            Some(Bracket::Header) => Last::Header,
            _ if bracket == b'}' && self.is_outside() => Last::Block,
            _ => Last::Value,
        };
    }

    fn word(&mut self, word: &[u8], is_name: bool) {
        if is_name {
            return self.value();
        }
        let ends_do = word == b"while" && self.clause == Clause::Do && self.last != Last::Header;
        if self.is_outside() {
            self.clause = match word {
                b"if" => Clause::If,
                b"try" => Clause::Try,
                b"catch" => Clause::Catch,
                b"do" => Clause::Do,
                b"finally" => Clause::None,
                b"else" => self.clause,
                _ if ends_do || self.is_start => Clause::None,
                _ => self.clause,
            };
            self.is_start = false;
            self.needs_body |= matches!(word, b"function" | b"class" | b"interface" | b"enum");
        }
        self.is_header = match word {
            b"if" | b"for" | b"with" | b"switch" | b"catch" => true,
            b"while" => !ends_do,
            b"await" => self.is_header,
            _ => false,
        };
        self.last = match word {
            b"else" | b"do" | b"try" | b"finally" | b"if" | b"for" | b"while" | b"switch"
            | b"catch" => Last::Header,
            b"typeof" | b"delete" | b"void" | b"new" | b"in" | b"of" | b"instanceof" | b"await"
            | b"throw" | b"case" | b"extends" => Last::Operator,
            // An operand may follow, and a regular expression is one.
            b"return" | b"yield" => Last::Nothing,
            _ => Last::Value,
        };
    }

    /// A string that is not closed on its line is for the language to judge, unless a backslash ends the line.
    fn string(&mut self, text: &[u8], start: usize) -> usize {
        let mut position = start + 1;
        self.value();
        while position < text.len() {
            match text[position] {
                b'\\' => position += 2,
                b'\n' => return position,
                byte if byte == text[start] => return position + 1,
                _ => position += 1,
            }
        }
        self.is_open = position > text.len();
        position
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn line_end(text: &[u8], position: usize) -> usize {
    let rest = &text[position..];
    position + memchr(b'\n', rest).unwrap_or(rest.len())
}

/// Where the regular expression that begins at `start` ends: one that does not end on its line is for the language to judge.
fn regular_expression_end(text: &[u8], start: usize) -> usize {
    let mut position = start + 1;
    let mut is_in_class = false;
    while let Some(byte) = text.get(position) {
        match byte {
            b'\\' => position += 1,
            b'\n' => return position,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            // Its flags are taken for a word.
            b'/' if !is_in_class => return position + 1,
            _ => {}
        }
        position += 1;
    }
    position
}
