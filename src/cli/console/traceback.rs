//! Tracebacks in colour, by the shapes of their lines: where each frame is, what the carets point at, what was raised.

use super::colour::{Palette, Tone};

/// The traceback with its places, carets and exceptions coloured; not a byte of its text is changed.
pub(super) fn paint(traceback: &str, palette: Palette) -> String {
    if !palette.is_coloured {
        return traceback.to_owned();
    }
    let mut painted = String::with_capacity(traceback.len() * 2);
    for line in traceback.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        painted.push_str(&paint_line(text, palette));
        painted.push_str(&line[text.len()..]);
    }
    painted
}

fn paint_line(line: &str, palette: Palette) -> String {
    let text = line.trim_start();
    let indentation = &line[..line.len() - text.len()];
    let is_caret = |character: char| matches!(character, '^' | '~' | ' ');
    if !indentation.is_empty() && !text.is_empty() && text.chars().all(is_caret) {
        return format!("{indentation}{}", palette.paint(Tone::Error, text));
    }
    if text.starts_with("File \"") || text.starts_with("at ") {
        return format!("{indentation}{}", palette.paint(Tone::Place, text));
    }
    if indentation.is_empty()
        && let Some(name) = exception(text)
    {
        let (name, rest) = text.split_at(name.len());
        return format!("{}{rest}", palette.paint(Tone::Error, name));
    }
    line.to_owned()
}

/// The class that a line names, as the last line of a traceback does: `json.decoder.JSONDecodeError: …`.
fn exception(line: &str) -> Option<&str> {
    let name = line.split_once(':').map_or(line, |(name, _)| name);
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '$');
    (!name.is_empty() && name.chars().all(is_part)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_colour_and_no_text_is_lost() {
        let palette = Palette { is_coloured: true };
        let traceback = "Traceback (most recent call last):\n  File \"<cell 2>\", line 3, in f\n    return {}['no']\n           ~~^^^^^^\nKeyError: 'no'\n";
        assert_eq!(
            paint(traceback, palette),
            "Traceback (most recent call last):\n  \x1b[36mFile \"<cell 2>\", line 3, in f\x1b[0m\n    return {}['no']\n           \x1b[1;31m~~^^^^^^\x1b[0m\n\x1b[1;31mKeyError\x1b[0m: 'no'\n"
        );
        assert_eq!(
            paint("TypeError: no 7\n    at f (<cell 2>:4:9)", palette),
            "\x1b[1;31mTypeError\x1b[0m: no 7\n    \x1b[36mat f (<cell 2>:4:9)\x1b[0m"
        );
        let plain = Palette { is_coloured: false };
        assert_eq!(paint(traceback, plain), traceback);
    }
}
