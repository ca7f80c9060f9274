//! Reads a cell's tokens, without parsing them, to see how the cell ends: with an expression, with a `return`, or with neither.
//!
//! One pass over the bytes (about 1 % of what CPython's own compile costs) that follows CPython's tokenizer through strings,
//! comments, brackets and line continuations, so that it knows exactly where statements start. It never decides what is valid:
//! wherever the tokens look odd it gives up with [`Shape::Unclear`], and what it says of an invalid cell is of no consequence,
//! since every part it proposes has to compile. Nothing here may touch Python.

use std::ops::Range;

use memchr::{memchr, memchr2, memchr3, memmem};

/// How a cell ends; offsets are bytes of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value: the last statement is not an expression, or its value is hidden by a `;`.
    Statements,
    /// The last statement is the expression that starts here.
    Expression { start: usize },
    /// The only `return` is the last statement; `start` is that of the statement, `value` the expression behind it.
    Return { start: usize, value: Range<usize> },
    /// The only `return` is the last statement and has no value.
    BareReturn { start: usize },
    /// A `return` that is nested or has statements behind it. The statement at column 0 that contains the first one has its
    /// line start here; what stands before runs without a `return`.
    EarlyReturn { start: usize },
    /// The whole cell is indented by these bytes, so that it cannot compile as it is.
    Indented { indentation: Range<usize> },
    /// Only the parser can say.
    Unclear,
}

/// What a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) shape: Shape,
    /// Where the first statement starts: whatever stands before it is comments and blank lines.
    pub(super) first: usize,
}

/// Scans `source`, whose newlines are `\n`. From Python 3.12 on, f-strings nest: `nested_f_strings`.
pub(super) fn scan(source: &str, nested_f_strings: bool) -> Scan {
    let mut scanner = Scanner {
        bytes: source.as_bytes(),
        at: 0,
        nested_f_strings,
        nesting: 0,
        first: None,
        indentation: None,
        uniform: true,
        scope: None,
        decorated: false,
        declares_globals: false,
        statement: Statement::default(),
        returns: Returns::default(),
    };
    let finished = scanner.lines().is_some();
    Scan {
        shape: scanner.shape(finished),
        first: scanner.first.unwrap_or(0),
    }
}

struct Scanner<'source> {
    bytes: &'source [u8],
    at: usize,
    nested_f_strings: bool,
    /// How deep the scan is inside f-strings.
    nesting: usize,
    first: Option<usize>,
    /// The white space before the first statement, and whether every logical line starts with it.
    indentation: Option<Range<usize>>,
    uniform: bool,
    /// The column of the `def` or `class` whose body is being read: a `return` in there is none of the cell's.
    scope: Option<usize>,
    /// The statement has its decorators so far.
    decorated: bool,
    /// `global` at module level: it is checked against the rest of the cell, which therefore must not be cut.
    declares_globals: bool,
    statement: Statement,
    returns: Returns,
}

/// The last statement that starts at column 0.
#[derive(Default)]
struct Statement {
    line: usize,
    /// Compound, or one that has an indented line: never an expression.
    is_block: bool,
    /// The last of the simple statements that `;` separates.
    simple: Simple,
}

/// A simple statement.
#[derive(Default, Clone, Copy)]
struct Simple {
    start: usize,
    end: Option<usize>,
    lead: Lead,
    /// The first `=` or `:` outside brackets.
    mark: Option<usize>,
    /// A `*` outside brackets at the start or behind a comma, which an expression alone cannot have.
    is_starred: bool,
}

/// The `return`s that are the cell's own.
#[derive(Default)]
struct Returns {
    count: usize,
    last: usize,
    /// The line of the statement at column 0 that contains the first.
    line: usize,
}

/// What the first word of a logical line says about the line.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Scope,
    Compound,
    Clause,
    Simple,
    Return,
    Global,
    Lambda,
    #[default]
    Other,
}

impl Lead {
    fn of(bytes: &[u8], start: usize) -> Self {
        match word(bytes, start) {
            b"def" | b"class" => Self::Scope,
            b"async" => match word(bytes, skip_blanks(bytes, start + 5)) {
                b"def" => Self::Scope,
                _ => Self::Compound,
            },
            b"if" | b"for" | b"while" | b"try" | b"with" => Self::Compound,
            b"else" | b"elif" | b"except" | b"finally" => Self::Clause,
            b"import" | b"from" | b"del" | b"raise" | b"pass" | b"nonlocal" | b"assert"
            | b"break" | b"continue" | b"yield" => Self::Simple,
            b"return" => Self::Return,
            b"global" => Self::Global,
            b"lambda" => Self::Lambda,
            _ => Self::Other,
        }
    }
}

/// `None`: the scan gives up.
type Progress = Option<()>;

impl Scanner<'_> {
    fn shape(&self, finished: bool) -> Shape {
        match &self.indentation {
            Some(indentation) if self.uniform => {
                return Shape::Indented {
                    indentation: indentation.clone(),
                };
            }
            Some(_) => return Shape::Statements,
            None => {}
        }
        if !finished {
            return Shape::Unclear;
        }
        let Some(first) = self.first else {
            return Shape::Statements;
        };
        let Statement {
            is_block, simple, ..
        } = self.statement;
        match self.returns.count {
            0 if is_block => Shape::Statements,
            0 => self.last_simple_statement(simple),
            1 if !is_block && self.returns.last == simple.start && !simple.is_starred => {
                let start = simple.start;
                let value = skip_blanks(self.bytes, start + b"return".len());
                let end = simple.end.unwrap_or(self.bytes.len());
                match self.bytes.get(value) {
                    None | Some(b'\n' | b'#' | b';') => Shape::BareReturn { start },
                    // A continuation does not work behind the form feed that keeps the place of a part.
                    Some(b'\\') => self.early_return(first),
                    Some(_) => Shape::Return {
                        start,
                        value: value..end,
                    },
                }
            }
            _ => self.early_return(first),
        }
    }

    fn early_return(&self, first: usize) -> Shape {
        let is_whole = self.declares_globals || self.returns.line <= first;
        Shape::EarlyReturn {
            start: if is_whole { 0 } else { self.returns.line },
        }
    }

    fn last_simple_statement(&self, simple: Simple) -> Shape {
        let expression = Shape::Expression {
            start: simple.start,
        };
        match (simple.lead, simple.mark) {
            // Hidden by a `;`.
            _ if simple.end.is_some() => Shape::Statements,
            (Lead::Lambda, _) => expression,
            // `key=lambda x=1: x` and `x, lambda: y`: whose `:` and `=` is it?
            (Lead::Other, Some(mark)) if has_lambda(&self.bytes[simple.start..mark]) => {
                Shape::Unclear
            }
            (Lead::Other, Some(_)) => Shape::Statements,
            (Lead::Other, None) if simple.is_starred => Shape::Unclear,
            _ if self.bytes.get(simple.start) == Some(&b'\\') => Shape::Unclear,
            (Lead::Other, None) => expression,
            _ => Shape::Statements,
        }
    }

    fn lines(&mut self) -> Progress {
        loop {
            let line = self.at;
            let column = self.indent();
            match self.peek() {
                None => return Some(()),
                Some(b'\n') => self.at += 1,
                Some(b'#') => self.comment(),
                Some(_) => self.logical_line(line, column)?,
            }
        }
    }

    /// The column that the tokenizer gives the line's first token: tabs go to multiples of 8, a form feed back to 0.
    fn indent(&mut self) -> usize {
        let mut column = 0;
        while let Some(blank) = self.peek() {
            match blank {
                b' ' => column += 1,
                b'\t' => column = (column / 8 + 1) * 8,
                b'\x0c' => column = 0,
                _ => break,
            }
            self.at += 1;
        }
        column
    }

    fn logical_line(&mut self, line: usize, column: usize) -> Progress {
        let start = self.at;
        // A continuation of nothing: its indentation is the tokenizer's secret.
        if self.peek() == Some(b'\\') {
            return None;
        }
        if self.first.is_none() {
            self.first = Some(start);
            if column > 0 {
                self.indentation = Some(line..start);
            }
        } else if let Some(indentation) = &self.indentation {
            self.uniform &= self.bytes[line..].starts_with(&self.bytes[indentation.clone()]);
        }

        let lead = Lead::of(self.bytes, start);
        if self.scope.is_some_and(|scope| column <= scope) {
            self.scope = None;
        }
        if lead == Lead::Scope && self.scope.is_none() {
            self.scope = Some(column);
        }

        if column == 0 && lead != Lead::Clause && !self.decorated {
            self.statement = Statement {
                line,
                is_block: matches!(lead, Lead::Scope | Lead::Compound),
                simple: Simple {
                    start,
                    lead,
                    ..Simple::default()
                },
            };
        } else {
            self.statement.is_block = true;
        }
        self.decorated = column == 0 && self.peek() == Some(b'@');
        self.simple_statement_at(start, lead);
        self.rest_of_line()
    }

    /// Notes what a simple statement means for the cell as a whole, wherever it stands.
    fn simple_statement_at(&mut self, start: usize, lead: Lead) {
        if self.scope.is_some() {
            return;
        }
        match lead {
            Lead::Return => {
                if self.returns.count == 0 {
                    self.returns.line = self.statement.line;
                }
                self.returns.count += 1;
                self.returns.last = start;
            }
            Lead::Global => self.declares_globals = true,
            _ => {}
        }
    }

    fn rest_of_line(&mut self) -> Progress {
        let mut depth = 0_usize;
        loop {
            self.skip_plain();
            let Some(byte) = self.peek() else {
                return (depth == 0).then_some(());
            };
            match byte {
                b'\n' if depth == 0 => {
                    self.at += 1;
                    return Some(());
                }
                b'#' => self.comment(),
                b'\'' | b'"' => self.string()?,
                b'\\' => self.continuation()?,
                b'(' | b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b';' if depth == 0 => self.semicolon(),
                b':' if depth == 0 => self.colon(),
                b'=' if depth == 0 => self.equals(),
                b'*' if depth == 0 => self.star(),
                _ => self.at += 1,
            }
        }
    }

    fn semicolon(&mut self) {
        let semicolon = self.at;
        self.at = skip_blanks(self.bytes, semicolon + 1);
        match self.peek() {
            None | Some(b'\n' | b'#') => self.statement.simple.end = Some(semicolon),
            Some(_) => {
                let start = self.at;
                let lead = Lead::of(self.bytes, start);
                self.statement.simple = Simple {
                    start,
                    lead,
                    ..Simple::default()
                };
                self.simple_statement_at(start, lead);
            }
        }
    }

    fn colon(&mut self) {
        let colon = self.at;
        if self.bytes.get(colon + 1) == Some(&b'=') {
            self.at += 2;
            return;
        }
        self.statement.simple.mark.get_or_insert(colon);
        // `if x: return`
        self.at = skip_blanks(self.bytes, colon + 1);
        let lead = Lead::of(self.bytes, self.at);
        self.simple_statement_at(self.at, lead);
    }

    fn equals(&mut self) {
        let equals = self.at;
        if self.bytes.get(equals + 1) == Some(&b'=') {
            self.at += 2;
            return;
        }
        self.at += 1;
        let before = &self.bytes[..equals];
        let compares = match before {
            // `<<=` and `>>=` assign.
            [.., a, b @ (b'<' | b'>')] => a != b,
            [.., b'!'] => true,
            _ => false,
        };
        if !compares {
            self.statement.simple.mark.get_or_insert(equals);
        }
    }

    fn star(&mut self) {
        let simple = &mut self.statement.simple;
        let before = self.bytes[simple.start..self.at].trim_ascii_end();
        simple.is_starred |= matches!(before, [] | [.., b','] | b"return");
        self.at += 1;
    }

    fn comment(&mut self) {
        self.at = memchr(b'\n', &self.bytes[self.at..])
            .map_or(self.bytes.len(), |length| self.at + length);
    }

    fn continuation(&mut self) -> Progress {
        self.at += 2;
        (self.bytes.get(self.at - 1) == Some(&b'\n')).then_some(())
    }

    /// A string, from its opening quote on.
    fn string(&mut self) -> Progress {
        let start = self.at;
        let quote = self.bytes[start];
        let is_triple = self.bytes[start..].starts_with(&[quote; 3]);
        self.at += if is_triple { 3 } else { 1 };
        if self.nested_f_strings
            && let Some(prefix) = FPrefix::before(self.bytes, start)
        {
            self.nesting += 1;
            self.f_string(quote, is_triple, prefix)?;
            self.nesting -= 1;
            return Some(());
        }
        loop {
            let rest = &self.bytes[self.at..];
            self.at += if is_triple {
                memchr2(quote, b'\\', rest)?
            } else {
                memchr3(quote, b'\\', b'\n', rest)?
            };
            match self.bytes[self.at] {
                b'\\' => self.skip_two()?,
                b'\n' => return None,
                _ => match self.closing_quotes(quote, is_triple) {
                    0 => self.at += 1,
                    length => {
                        self.at += length;
                        return Some(());
                    }
                },
            }
        }
    }

    /// The rest of an f-string that may contain any expression, strings with the same quote among them (PEP 701).
    fn f_string(&mut self, quote: u8, is_triple: bool, prefix: FPrefix) -> Progress {
        // CPython itself allows 150.
        if self.nesting > 100 {
            return None;
        }
        loop {
            match self.peek()? {
                b'\\' => match self.bytes.get(self.at + 1)? {
                    b'{' | b'}' => self.at += 1,
                    b'N' if !prefix.is_raw && self.bytes.get(self.at + 2) == Some(&b'{') => {
                        self.at += memchr(b'}', &self.bytes[self.at..])? + 1;
                    }
                    _ => self.skip_two()?,
                },
                b'{' if self.bytes.get(self.at + 1) == Some(&b'{') => self.at += 2,
                b'{' => self.field(quote, is_triple, prefix)?,
                b'\n' if !is_triple => return None,
                _ => match self.closing_quotes(quote, is_triple) {
                    0 => self.at += 1,
                    length => {
                        self.at += length;
                        return Some(());
                    }
                },
            }
        }
    }

    /// A replacement field, from its `{` to behind its `}`.
    fn field(&mut self, quote: u8, is_triple: bool, prefix: FPrefix) -> Progress {
        self.at += 1;
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'#' => self.comment(),
                b'\'' | b'"' => self.string()?,
                b'\\' => self.continuation()?,
                b':' if depth == 0 => return self.format(quote, is_triple, prefix),
                b'}' if depth == 0 => {
                    self.at += 1;
                    return Some(());
                }
                b'(' | b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }

    /// The format of a replacement field, from its `:` to behind the field's `}`.
    fn format(&mut self, quote: u8, is_triple: bool, prefix: FPrefix) -> Progress {
        self.nesting += 1;
        if self.nesting > 100 {
            return None;
        }
        loop {
            match self.peek()? {
                b'{' => self.field(quote, is_triple, prefix)?,
                b'}' => {
                    self.at += 1;
                    self.nesting -= 1;
                    return Some(());
                }
                // Rare, and not the same in every version.
                b'\\' | b'\n' => return None,
                byte if byte == quote => return None,
                _ => self.at += 1,
            }
        }
    }

    /// How many bytes here end a string, 0 for none.
    fn closing_quotes(&self, quote: u8, is_triple: bool) -> usize {
        let length = if is_triple { 3 } else { 1 };
        let closes = self.bytes[self.at..].starts_with(&[quote; 3][..length]);
        if closes { length } else { 0 }
    }

    fn skip_two(&mut self) -> Progress {
        self.at += 2;
        (self.at <= self.bytes.len()).then_some(())
    }

    fn skip_plain(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest
            .iter()
            .position(|byte| IS_SPECIAL[usize::from(*byte)])
            .unwrap_or(rest.len());
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// The bytes that can mean something outside strings.
const IS_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let special = b"\n#'\"\\()[]{};:=*";
    let mut index = 0;
    while index < special.len() {
        table[special[index] as usize] = true;
        index += 1;
    }
    table
};

/// The prefix of an f-string or a t-string.
#[derive(Clone, Copy)]
struct FPrefix {
    is_raw: bool,
}

impl FPrefix {
    fn before(bytes: &[u8], quote: usize) -> Option<Self> {
        let length = bytes[..quote]
            .iter()
            .rev()
            .take(3)
            .take_while(|byte| is_word(**byte))
            .count();
        match &bytes[quote - length..quote].to_ascii_lowercase()[..] {
            b"f" | b"t" => Some(Self { is_raw: false }),
            b"fr" | b"rf" | b"tr" | b"rt" => Some(Self { is_raw: true }),
            _ => None,
        }
    }
}

fn has_lambda(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"lambda").any(|start| {
        let is_start = start == 0 || !is_word(bytes[start - 1]);
        is_start && word(bytes, start) == b"lambda"
    })
}

fn word(bytes: &[u8], start: usize) -> &[u8] {
    let rest = bytes.get(start..).unwrap_or_default();
    let end = rest
        .iter()
        .position(|byte| !is_word(*byte))
        .unwrap_or(rest.len());
    &rest[..end]
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn skip_blanks(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start
        + rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c'))
            .unwrap_or(rest.len())
}
