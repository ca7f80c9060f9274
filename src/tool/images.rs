//! [`images`]: which images of a result can be shown to a model, within a budget.

use serde_json::Value;

use crate::outcome::{Display, Outcome};

/// The types that models take.
const TYPES: [&str; 2] = ["image/png", "image/jpeg"];

/// An image that a cell showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image<'a> {
    /// Which of the outcomes showed it, from 0.
    pub outcome: usize,
    /// Which of its display entries it is, from 0.
    pub entry: usize,
    /// `image/png` or `image/jpeg`.
    pub mime_type: &'static str,
    /// The image as base64.
    pub data: &'a str,
}

/// The images that fit in `bytes` of base64 together, in order; [`render`](super::render) says which they are when it is
/// given the same budget. One that does not fit does not keep a smaller one out.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session, tool};
///
/// let session = Session::builder(Language::Python).open_blocking()?;
/// let code = "class Plot:\n    def _repr_png_(self): return b'\\x89PNG'\nPlot()";
/// let outcome = session.run(code.into())?.wait();
/// let outcomes = [outcome];
/// assert_eq!(tool::images(&outcomes, 1 << 20)[0].mime_type, "image/png");
/// assert!(tool::images(&outcomes, 4).is_empty());
/// # }
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn images(outcomes: &[Outcome], bytes: usize) -> Vec<Image<'_>> {
    let mut left = bytes;
    let mut found = Vec::new();
    for (outcome, shown) in outcomes.iter().enumerate() {
        for (entry, display) in shown.display.iter().enumerate() {
            let Some((mime_type, data)) = of_entry(display) else {
                continue;
            };
            if data.len() <= left {
                left -= data.len();
                found.push(Image {
                    outcome,
                    entry,
                    mime_type,
                    data,
                });
            }
        }
    }
    found
}

fn of_entry(display: &Display) -> Option<(&'static str, &str)> {
    TYPES.iter().find_map(|mime_type| {
        let data = display.data.get(*mime_type).and_then(Value::as_str)?;
        is_base64(data).then_some((*mime_type, data))
    })
}

/// A program can show anything as an image; a client that cannot decode it may refuse the whole result.
fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    !data.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base64_is_an_image() {
        for (data, is_image) in [
            ("iVBORw==", true),
            ("iVBO", true),
            ("", false),
            ("iVB", false),
            ("====", false),
            ("iVB\n", false),
            ("éé", false),
        ] {
            assert_eq!(is_base64(data), is_image, "{data:?}");
        }
    }
}
