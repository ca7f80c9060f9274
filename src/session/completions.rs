//! [`Completions`]: what may stand where a cursor is. Which names there are is the engine's to say; what was typed so far is
//! read here, alike for every language.

/// The names that may stand where a cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completions {
    /// Where the name begins that they complete, in bytes: they replace what stands from there to the cursor.
    pub start: usize,
    /// The names, sorted. Private ones, which begin with `_`, are there when that was typed.
    pub names: Vec<String>,
}

/// What stands before a cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    start: usize,
    /// The beginning of a name.
    typed: &'a str,
    /// The names before it, each followed by a dot; none where they are something else, a call or a number for instance.
    pub(super) path: Option<Vec<String>>,
}

impl<'a> Place<'a> {
    pub(super) fn of(source: &'a str, cursor: usize) -> Self {
        let mut cursor = cursor.min(source.len());
        while !source.is_char_boundary(cursor) {
            cursor -= 1;
        }
        let before = &source[..cursor];
        let start = name_start(before);
        let mut place = Self {
            start,
            typed: &before[start..],
            path: None,
        };
        let mut path = Vec::new();
        let mut rest = &before[..start];
        while let Some(shorter) = rest.strip_suffix("?.").or_else(|| rest.strip_suffix('.')) {
            let start = name_start(shorter);
            let name = &shorter[start..];
            if name.is_empty() {
                return place;
            }
            path.push(name.to_owned());
            rest = &shorter[..start];
        }
        let first = path.last().map_or(place.typed, String::as_str);
        if !first.starts_with(|character: char| character.is_ascii_digit()) {
            path.reverse();
            place.path = Some(path);
        }
        place
    }

    /// The names among these that what was typed is the beginning of.
    pub(super) fn complete(&self, mut names: Vec<String>) -> Completions {
        names.retain(|name| {
            name.starts_with(self.typed) && (self.typed.starts_with('_') || !name.starts_with('_'))
        });
        names.sort_unstable();
        names.dedup();
        Completions {
            start: self.start,
            names,
        }
    }
}

/// Where the name begins that a text ends with.
fn name_start(text: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    text.trim_end_matches(is_part).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> (usize, Option<Vec<String>>) {
        let place = Place::of(source, source.len());
        (place.start, place.path)
    }

    fn path(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_path_is_names_with_dots_between() {
        assert_eq!(read(""), (0, path(&[])));
        assert_eq!(read("print(ro"), (6, path(&[])));
        assert_eq!(read("x = os.path.jo"), (12, path(&["os", "path"])));
        assert_eq!(read("a?.b"), (3, path(&["a"])));
        assert_eq!(read("größe.w"), (8, path(&["größe"])));
        assert_eq!(read("$x."), (3, path(&["$x"])));
    }

    #[test]
    fn what_is_no_path_has_no_names() {
        for source in ["f().x", "1.", "1.e", "'a'.x", "rows[0].x", "..x", "12"] {
            assert_eq!(read(source).1, None, "{source}");
        }
    }

    #[test]
    fn a_cursor_may_be_anywhere() {
        let place = Place::of("é = 1", 1);
        assert_eq!((place.start, place.typed), (0, ""));
        assert_eq!(Place::of("ab", 99).typed, "ab");
    }
}
