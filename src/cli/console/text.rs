//! Text as a terminal shows it: how wide it is, where it must be cut, and what of it must not reach a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a text takes on one line. Sequences that colour it take none.
pub(in crate::cli) fn width(text: &str) -> usize {
    if text.contains('\x1b') {
        without_sequences(text).width()
    } else {
        text.width()
    }
}

/// The text, or as much of its beginning as fits into so many columns, with a mark.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut cut = String::new();
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        cut.push(character);
    }
    cut.push('…');
    cut
}

/// The text on one line, with what is no visible character written as the symbol for it.
pub(in crate::cli) fn on_one_line(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => '⏎',
            '\t' => ' ',
            other => visible(other),
        })
        .collect()
}

/// The text without sequences that colour it or move the cursor, and with other control characters made visible.
pub(in crate::cli) fn harmless(text: &str) -> String {
    without_sequences(text)
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            other => visible(other),
        })
        .collect()
}

/// Unicode has a picture for each control character.
fn visible(character: char) -> char {
    match character {
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).unwrap_or('�'),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' => '�',
        other => other,
    }
}

fn without_sequences(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(position) = rest.find('\x1b') {
        kept.push_str(&rest[..position]);
        rest = &rest[position..];
        rest = &rest[sequence_length(rest)..];
    }
    kept.push_str(rest);
    kept
}

/// How long the escape sequence is that the text begins with; a lone escape is one of its own.
pub(super) fn sequence_length(text: &str) -> usize {
    let behind = |found: Option<usize>, end: usize| found.map_or(text.len(), |found| found + end);
    match text.as_bytes().get(1) {
        Some(b'[') => {
            let is_last = |byte: u8| (0x40..0x7f).contains(&byte);
            let last = text.bytes().skip(2).position(is_last);
            behind(last, 3)
        }
        // Up to a bell or the string terminator.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let bell = text.find('\x07').map_or(usize::MAX, |found| found + 1);
            let terminator = text.find("\x1b\\").map_or(usize::MAX, |found| found + 2);
            bell.min(terminator).min(text.len())
        }
        Some(byte) if byte.is_ascii() && !byte.is_ascii_control() => 2,
        _ => 1,
    }
}

/// A number of bytes as a person says it.
pub(in crate::cli) fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// A count with its thing, `1 row` and `2,000 rows`.
pub(in crate::cli) fn counted(count: usize, thing: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {thing}{end}", grouped(count))
}

/// The digits in groups of three.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_that_of_the_screen() {
        assert_eq!(width("aé漢🙂"), 6);
        assert_eq!(width("\x1b[1;31mred\x1b[0m"), 3);
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn nothing_that_moves_the_cursor_is_left() {
        assert_eq!(
            harmless("a\x1b[2Jb\x1b]0;title\x07c\x1b_Gx\x1b\\d\x1be\u{9b}"),
            "abcd�"
        );
        assert_eq!(harmless("50%\r100%\n\x1b"), "50%␍100%\n");
        assert_eq!(on_one_line("a\nb\x1b"), "a⏎b␛");
        assert_eq!(harmless("\x1b]never ends"), "");
    }

    #[test]
    fn counts_are_told_as_a_person_would() {
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(1_234_567, "row"), "1,234,567 rows");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_500_000), "1.5 MB");
    }
}
