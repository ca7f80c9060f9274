//! [`images`]: which images of a result can be shown to a model, within a budget.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::outcome::{Display, Outcome};

/// The types that models take.
const TYPES: [&str; 2] = ["image/png", "image/jpeg"];

/// The longest side of an image that is shown to a model, in pixels: vision APIs refuse what is much larger.
const MOST_SIDE: u32 = 8000;

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
/// given the same budget. One that does not fit does not keep a smaller one out. What is no whole image of its type, or has a
/// side of over 8000 pixels, is none of them: it would have the whole request refused.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session, tool};
///
/// let session = Session::builder(Language::Python).open_blocking()?;
/// let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
/// let code = format!("display({{'image/png': '{pixel}'}}, raw=True)\ndisplay({{'image/png': 'bm9uZQ=='}}, raw=True)");
/// let outcomes = [session.run(code.into())?.wait()];
/// assert_eq!(tool::images(&outcomes, 1 << 20).len(), 1);
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
    TYPES.into_iter().find_map(|mime_type| {
        let data = display.data.get(mime_type).and_then(Value::as_str)?;
        problem(mime_type, data)
            .is_none()
            .then_some((mime_type, data))
    })
}

/// Why what is of a type that models take cannot be shown to one.
pub(super) fn unfit(mime_type: &str, content: &Value) -> Option<&'static str> {
    let data = content.as_str().filter(|_| TYPES.contains(&mime_type))?;
    problem(mime_type, data)
}

/// A program can show anything as an image; who cannot decode it may refuse the whole result.
fn problem(mime_type: &str, data: &str) -> Option<&'static str> {
    let Ok(bytes) = STANDARD.decode(data) else {
        return Some("not base64");
    };
    let size = match mime_type {
        "image/png" => png_size(&bytes),
        _ => jpeg_size(&bytes),
    };
    match size {
        None => Some("no whole image of that type"),
        Some((width, height)) if width.max(height) > MOST_SIDE => {
            Some("larger than 8000 pixels a side")
        }
        Some(_) => None,
    }
}

/// Width and height of a PNG that is there to its end.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let (width, rest) = rest.split_first_chunk()?;
    let (height, rest) = rest.split_first_chunk()?;
    rest.ends_with(b"\0\0\0\0IEND\xaeB`\x82")
        .then(|| (u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
        .filter(|(width, height)| *width > 0 && *height > 0)
}

/// Width and height of a JPEG that is there to its end.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?.strip_suffix(b"\xff\xd9")?;
    loop {
        let [0xff, marker, high, low, segment @ ..] = rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match marker {
            // A frame begins; C4, C8 and CC in between are something else.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let [_, height_high, height_low, width_high, width_low, ..] = segment else {
                    return None;
                };
                let side = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
                let size = (
                    side(*width_high, *width_low),
                    side(*height_high, *height_low),
                );
                return (size.0 > 0 && size.1 > 0).then_some(size);
            }
            _ => rest = rest.get(2 + length..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
        [
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(),
            &sides,
            b"...\0\0\0\0IEND\xaeB`\x82",
        ]
        .concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let sides = [height.to_be_bytes(), width.to_be_bytes()].concat();
        [
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x07\x08".as_slice(),
            &sides,
            b"...\xff\xd9",
        ]
        .concat()
    }

    #[test]
    fn only_whole_images_of_their_type_are_shown() {
        let broken = Some("no whole image of that type");
        let large = Some("larger than 8000 pixels a side");
        for (mime_type, bytes, expected) in [
            ("image/png", png(8000, 1), None),
            ("image/png", png(8001, 1), large),
            ("image/png", png(0, 1), broken),
            ("image/png", png(5, 5)[..30].to_vec(), broken),
            ("image/png", jpeg(5, 5), broken),
            ("image/png", Vec::new(), broken),
            ("image/jpeg", jpeg(8000, 8000), None),
            ("image/jpeg", jpeg(1, 8001), large),
            ("image/jpeg", png(5, 5), broken),
            ("image/jpeg", b"\xff\xd8\xff\xd9".to_vec(), broken),
        ] {
            let data = STANDARD.encode(&bytes);
            assert_eq!(problem(mime_type, &data), expected, "{mime_type} {bytes:?}");
        }
        assert_eq!(problem("image/png", "no base64"), Some("not base64"));
    }
}
