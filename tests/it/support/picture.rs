//! Pictures that cells show, as pixels.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{ImageFormat, RgbaImage};

/// The picture whose PNG this base64 is.
#[track_caller]
pub(crate) fn decoded(base64: &str) -> RgbaImage {
    let bytes = BASE64_STANDARD.decode(base64).expect("base64");
    let picture = image::load_from_memory_with_format(&bytes, ImageFormat::Png);
    picture.expect("a PNG").to_rgba8()
}
