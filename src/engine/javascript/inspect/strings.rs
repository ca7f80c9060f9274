//! Strings and keys in quotes.

use std::fmt::Write;

use crate::engine::javascript::realm::Text;

/// The width that a line of output keeps to where it can.
pub(super) const LINE: usize = 80;

/// A string in the quotes it needs escapes for least, `'` first.
pub(in crate::engine::javascript) fn quoted(text: &Text) -> String {
    match text {
        Text::Utf8(text) => {
            let quote = quote_for(text);
            let mut out = String::with_capacity(text.len() + 2);
            out.push(quote);
            text.chars()
                .for_each(|character| escape(character, quote, &mut out));
            out.push(quote);
            out
        }
        Text::Broken(units) => {
            let quote = quote_for(&String::from_utf16_lossy(units));
            let mut out = String::from(quote);
            for unit in char::decode_utf16(units.iter().copied()) {
                match unit {
                    Ok(character) => escape(character, quote, &mut out),
                    Err(lone) => _ = write!(out, "\\u{:04x}", lone.unpaired_surrogate()),
                }
            }
            out.push(quote);
            out
        }
    }
}

/// A string inside another value: cut when it is long, on several lines when it has several and is wide.
pub(super) fn in_object(text: &Text, longest: usize, indentation: usize) -> String {
    let units = match text {
        Text::Utf8(text) => text.encode_utf16().count(),
        Text::Broken(units) => units.len(),
    };
    let trailer = match units.saturating_sub(longest) {
        0 => String::new(),
        1 => "... 1 more character".to_owned(),
        more => format!("... {more} more characters"),
    };
    let text = match text {
        Text::Utf8(text) => cut(text, longest),
        Text::Broken(units) => {
            let units = &units[..longest.min(units.len())];
            return quoted(&Text::Broken(units.to_vec())) + &trailer;
        }
    };
    if units > 16
        && units as isize > LINE as isize - indentation as isize - 4
        && text.contains('\n')
    {
        let lines: Vec<String> = text
            .split_inclusive('\n')
            .map(|line| quoted(&Text::Utf8(line.to_owned())))
            .collect();
        let separator = format!(" +\n{}", " ".repeat(indentation + 2));
        return lines.join(&separator) + &trailer;
    }
    quoted(&Text::Utf8(text.to_owned())) + &trailer
}

/// The beginning of a text, `units` UTF-16 units long.
fn cut(text: &str, units: usize) -> &str {
    let mut left = units;
    for (index, character) in text.char_indices() {
        match left.checked_sub(character.len_utf16()) {
            Some(rest) => left = rest,
            None => return &text[..index],
        }
    }
    text
}

/// Whether a key can stand without quotes.
pub(super) fn is_plain_key(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn quote_for(text: &str) -> char {
    if !text.contains('\'') {
        '\''
    } else if !text.contains('"') {
        '"'
    } else if !text.contains('`') && !text.contains("${") {
        '`'
    } else {
        '\''
    }
}

fn escape(character: char, quote: char, out: &mut String) {
    match character {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\x0b' => out.push_str("\\v"),
        '\\' => out.push_str("\\\\"),
        '\x00'..='\x1f' | '\x7f'..='\u{9f}' => _ = write!(out, "\\x{:02X}", character as u32),
        _ if character == quote => {
            out.push('\\');
            out.push(character);
        }
        _ => out.push(character),
    }
}
