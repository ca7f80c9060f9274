//! What the pieces of a source are, for whoever colours them: the prompt's values, the pages of `--html`.
//!
//! A reading by tokens that needs no parser. It keeps every byte, and where it errs (a regular expression with a quote in it) a
//! colour is wrong until the line ends, and nothing else.

use warmcell::Language;

/// What a piece of a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    Keyword,
    Text,
    Number,
    Comment,
    /// The name of a property, in JSON.
    Key,
}

/// The pieces of a source, which together are the source.
pub(super) fn pieces(language: Language, source: &str) -> Vec<(Role, &str)> {
    let is_python = language == Language::Python;
    gather(source, |rest| {
        let bytes = rest.as_bytes();
        match bytes[0] {
            b'#' if is_python => (Role::Comment, line_end(rest)),
            b'/' if !is_python && rest.starts_with("//") => (Role::Comment, line_end(rest)),
            b'/' if !is_python && rest.starts_with("/*") => (Role::Comment, behind(rest, 2, "*/")),
            b'`' if !is_python => (Role::Text, string_end(rest, true)),
            b'"' | b'\'' => (Role::Text, text_end(rest, is_python)),
            b'0'..=b'9' => (Role::Number, word_end(rest, |byte| byte == b'.')),
            byte if is_word(byte) => {
                let end = word_end(rest, |_| false);
                let is_prefix =
                    end <= 2 && rest[..end].bytes().all(|byte| b"rRbBfFuU".contains(&byte));
                let opens = matches!(bytes.get(end), Some(b'"' | b'\''));
                if is_python && is_prefix && opens {
                    (Role::Text, end + text_end(&rest[end..], true))
                } else if keywords(language).contains(&&rest[..end]) {
                    (Role::Keyword, end)
                } else {
                    (Role::Plain, end)
                }
            }
            _ => (Role::Plain, 1),
        }
    })
}

/// Whether a source ends in a string, or directly behind one. What a string holds of code in braces counts as its text.
pub(super) fn ends_in_text(language: Language, source: &str) -> bool {
    matches!(pieces(language, source).last(), Some((Role::Text, _)))
}

/// The pieces of JSON text.
pub(super) fn json(text: &str) -> Vec<(Role, &str)> {
    gather(text, |rest| match rest.as_bytes()[0] {
        b'"' => {
            let end = string_end(rest, true);
            let is_key = rest[end..].trim_start().starts_with(':');
            (if is_key { Role::Key } else { Role::Text }, end)
        }
        b'-' | b'0'..=b'9' => {
            let is_sign = |byte| matches!(byte, b'.' | b'+' | b'-');
            (Role::Number, 1 + word_end(&rest[1..], is_sign))
        }
        byte if is_word(byte) => (Role::Keyword, word_end(rest, |_| false)),
        _ => (Role::Plain, 1),
    })
}

/// The words of a language that cannot be names.
pub(super) fn keywords(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &[
            "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
            "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
            "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
            "return", "try", "while", "with", "yield",
        ],
        _ => &[
            "async",
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "default",
            "delete",
            "do",
            "else",
            "enum",
            "export",
            "extends",
            "false",
            "finally",
            "for",
            "function",
            "if",
            "import",
            "in",
            "instanceof",
            "interface",
            "let",
            "new",
            "null",
            "of",
            "return",
            "static",
            "super",
            "switch",
            "this",
            "throw",
            "true",
            "try",
            "type",
            "typeof",
            "undefined",
            "var",
            "void",
            "while",
            "yield",
        ],
    }
}

/// Takes piece after piece off the text, and joins neighbours of one role.
fn gather<'a>(text: &'a str, next: impl Fn(&'a str) -> (Role, usize)) -> Vec<(Role, &'a str)> {
    let mut pieces: Vec<(Role, &str)> = Vec::new();
    let (mut begin, mut position, mut role) = (0, 0, Role::Plain);
    while position < text.len() {
        let (found, length) = next(&text[position..]);
        if found != role {
            if begin < position {
                pieces.push((role, &text[begin..position]));
            }
            (begin, role) = (position, found);
        }
        position += length;
    }
    if begin < text.len() {
        pieces.push((role, &text[begin..]));
    }
    pieces
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn word_end(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    let is_end = |byte: u8| !is_word(byte) && !belongs(byte);
    text.bytes().position(is_end).unwrap_or(text.len())
}

fn line_end(text: &str) -> usize {
    memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len())
}

/// Where `end` ends, looked for from `from`.
fn behind(text: &str, from: usize, end: &str) -> usize {
    text[from..]
        .find(end)
        .map_or(text.len(), |found| from + found + end.len())
}

/// Where the string ends that the text begins with, which may be a long one.
fn text_end(text: &str, is_python: bool) -> usize {
    let quote = &text[..1];
    let long = quote.repeat(3);
    if is_python && text.starts_with(&long) {
        let mut position = 3;
        while position < text.len() {
            match text.as_bytes()[position] {
                b'\\' => position += 2,
                _ if text.as_bytes()[position..].starts_with(long.as_bytes()) => {
                    return position + 3;
                }
                _ => position += 1,
            }
        }
        return text.len();
    }
    string_end(text, false)
}

/// Where the string ends that the text begins with: behind its quote or, unless it may span lines, where the line ends.
fn string_end(text: &str, spans_lines: bool) -> usize {
    let bytes = text.as_bytes();
    let mut position = 1;
    while position < bytes.len() {
        match bytes[position] {
            b'\\' => {
                let escaped = text[position + 1..].chars().next();
                position += 1 + escaped.map_or(0, char::len_utf8);
            }
            b'\n' if !spans_lines => return position,
            byte if byte == bytes[0] => return position + 1,
            _ => position += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(role: Role, pieces: Vec<(Role, &str)>) -> Vec<&str> {
        let is_it = pieces.into_iter().filter(|(found, _)| *found == role);
        is_it.map(|(_, text)| text).collect()
    }

    #[test]
    fn python_is_told_apart() {
        let source = "def f(x):  # 'no string'\n    return rb'a\\'b' + \"\"\"x\n'y'\"\"\" + f'{x}' if x else 0x1f + 1.5";
        let read = |role| of(role, pieces(Language::Python, source));
        assert_eq!(read(Role::Keyword), ["def", "return", "if", "else"]);
        assert_eq!(read(Role::Comment), ["# 'no string'"]);
        assert_eq!(
            read(Role::Text),
            ["rb'a\\'b'", "\"\"\"x\n'y'\"\"\"", "f'{x}'"]
        );
        assert_eq!(read(Role::Number), ["0x1f", "1.5"]);
    }

    #[test]
    fn javascript_is_told_apart() {
        let source = "const a = `x\n${y}` /* 'b'\n */ + 'c\n// d\nlet default_ = \"é\\\"\"";
        let read = |role| of(role, pieces(Language::TypeScript, source));
        assert_eq!(read(Role::Keyword), ["const", "let"]);
        assert_eq!(read(Role::Comment), ["/* 'b'\n */", "// d"]);
        assert_eq!(read(Role::Text), ["`x\n${y}`", "'c", "\"é\\\"\""]);
    }

    #[test]
    fn an_open_string_is_told_apart() {
        for open in [
            r#"df["al"#,
            r#""pri"#,
            "f'{na",
            "x = '''a\nb",
            r"'it\'s",
            "r'",
            "'a' + \"b",
        ] {
            assert!(ends_in_text(Language::Python, open), "{open}");
        }
        for code in [
            "",
            "na",
            "'a'.spl",
            "f('a', na",
            "'a\nna",
            "# it's na",
            "'''a''' + na",
        ] {
            assert!(!ends_in_text(Language::Python, code), "{code}");
        }
        assert!(ends_in_text(Language::JavaScript, "`a\n${na"));
        assert!(ends_in_text(Language::JavaScript, "x['na"));
        assert!(!ends_in_text(Language::JavaScript, "`a` + na"));
    }

    #[test]
    fn keys_of_json_are_no_texts() {
        let read = |role| of(role, json(r#"{"a\"": ["b", -1.5e+3, true], "c":null}"#));
        assert_eq!(read(Role::Key), [r#""a\"""#, r#""c""#]);
        assert_eq!(read(Role::Text), [r#""b""#]);
        assert_eq!(read(Role::Number), ["-1.5e+3"]);
        assert_eq!(read(Role::Keyword), ["true", "null"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[a-z0-9 \n'\"`\\\\/*#{}é🙂-]{0,40}") {
            for language in Language::ALL {
                let whole: String = pieces(*language, &text).iter().map(|(_, piece)| *piece).collect();
                prop_assert_eq!(&whole, &text);
            }
            let whole: String = json(&text).iter().map(|(_, piece)| *piece).collect();
            prop_assert_eq!(&whole, &text);
        }
    }
}
