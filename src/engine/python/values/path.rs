//! Where in a value something is, in words that are Python or nearly: `rows[3].score`, `["my key"].x`.

/// One step from a container to an item of it.
#[derive(Clone, Copy)]
pub(super) enum Segment<'t> {
    /// The index in a list or a tuple.
    Index(isize),
    /// The key in a dict, as JSON text with its quotes.
    Key(&'t str),
}

/// How many segments a path shows before the middle of it is left out, which happens from twice as many on.
const SEGMENTS_SHOWN: usize = 8;

/// How many characters of a key are shown.
const KEY_SHOWN: usize = 60;

/// Joins the steps from the outermost container on; no steps are the value itself, an empty path.
pub(super) fn render<'t>(segments: impl ExactSizeIterator<Item = Segment<'t>>) -> String {
    let count = segments.len();
    let left_out = SEGMENTS_SHOWN..count.saturating_sub(SEGMENTS_SHOWN);
    let mut path = String::new();
    for (position, segment) in segments.enumerate() {
        if !left_out.contains(&position) {
            push(&mut path, segment);
        } else if position == left_out.start {
            path.push('…');
        }
    }
    path
}

fn push(path: &mut String, segment: Segment<'_>) {
    match segment {
        Segment::Index(index) => path.push_str(&format!("[{index}]")),
        Segment::Key(quoted) => {
            let key = quoted
                .strip_prefix('"')
                .and_then(|key| key.strip_suffix('"'))
                .unwrap_or(quoted);
            let cut = key.char_indices().nth(KEY_SHOWN).map(|(at, _)| at);
            match cut {
                Some(end) => path.push_str(&format!("[\"{}…\"]", &key[..end])),
                None if !is_identifier(key) => path.push_str(&format!("[\"{key}\"]")),
                None => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
    }
}

/// Whether a key could stand after a dot in Python; what JSON escapes is never part of a name.
fn is_identifier(key: &str) -> bool {
    let mut characters = key.chars();
    characters
        .next()
        .is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|character| character == '_' || character.is_alphanumeric())
}
