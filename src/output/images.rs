//! [`scale`]: a smaller copy of an image that is too large to be handed over.
//!
//! An image may be anything that a program calls one. What it is, is told by its content; it is decoded only if its size is
//! within bounds that keep time and memory small, and a decoder that panics is only an image that cannot be read. Nothing
//! here is called with a lock held.

/// What kind of image stands in a bundle under this MIME type; none for what is no image in pixels.
pub(super) fn extension(mime: &str) -> Option<&'static str> {
    match mime {
        "image/png" => Some("png"),
        "image/jpeg" => Some("jpg"),
        "image/gif" => Some("gif"),
        "image/webp" => Some("webp"),
        _ => None,
    }
}

/// A copy in fewer pixels.
#[derive(Debug)]
pub(super) struct Scaled {
    pub(super) mime: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Width and height of the original.
    pub(super) original: (u32, u32),
}

/// Why there is no copy.
#[derive(Debug)]
pub(super) struct Unscaled {
    /// Width and height of the original, as far as it tells them.
    pub(super) original: Option<(u32, u32)>,
    pub(super) problem: String,
}

#[cfg(not(feature = "images"))]
pub(super) fn scale(_original: &[u8], _most: usize) -> Result<Scaled, Unscaled> {
    Err(Unscaled {
        original: None,
        problem: "this build does not scale images".to_owned(),
    })
}

#[cfg(feature = "images")]
pub(super) use scaling::scale;

#[cfg(feature = "images")]
mod scaling {
    use std::io::Cursor;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use image::codecs::jpeg::JpegEncoder;
    use image::metadata::Orientation;
    use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, ImageResult, Limits};

    use super::{Scaled, Unscaled};

    /// The largest image that is decoded.
    const MOST_PIXELS: u64 = 40_000_000;
    const LONGEST_SIDE: u32 = 1 << 16;
    const MEMORY_BYTES: u64 = 256 << 20;

    /// How many sizes are tried.
    const ATTEMPTS: u32 = 6;

    /// How much smaller than by the estimate the next copy is made, so that it fits.
    const CAUTION: f64 = 0.93;

    /// The quality of a JPEG copy.
    const QUALITY: u8 = 85;

    /// Makes a copy of at most `most` bytes: JPEG of a JPEG, PNG of anything else. Of an animation it is the first picture.
    pub(in crate::output) fn scale(original: &[u8], most: usize) -> Result<Scaled, Unscaled> {
        let attempt = catch_unwind(AssertUnwindSafe(|| try_to_scale(original, most)));
        attempt.unwrap_or_else(|_| Err(unreadable(None)))
    }

    fn unreadable(original: Option<(u32, u32)>) -> Unscaled {
        Unscaled {
            original,
            problem: "it cannot be read as an image".to_owned(),
        }
    }

    fn try_to_scale(original: &[u8], most: usize) -> Result<Scaled, Unscaled> {
        let format = match image::guess_format(original) {
            Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) => format,
            Ok(format @ (ImageFormat::Gif | ImageFormat::WebP)) => format,
            _ => return Err(unreadable(None)),
        };
        let (picture, size) = decode(original, format)?;
        let is_photo = format == ImageFormat::Jpeg;
        let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
        let shrink = |bytes: usize| (most as f64 / bytes as f64).sqrt().min(1.0) * CAUTION;
        let mut factor = shrink(original.len());
        for _ in 0..ATTEMPTS {
            let side = |pixels: f64| (pixels * factor).round().max(1.0) as u32;
            let copy = picture.thumbnail_exact(side(width), side(height));
            let bytes = encode(copy, is_photo).map_err(|_| unreadable(Some(size)))?;
            if bytes.len() <= most {
                return Ok(Scaled {
                    mime: if is_photo { "image/jpeg" } else { "image/png" },
                    bytes,
                    original: size,
                });
            }
            factor *= shrink(bytes.len());
        }
        Err(Unscaled {
            original: Some(size),
            problem: "no copy of it is small enough".to_owned(),
        })
    }

    /// The picture the way up it is meant to be seen, and its width and height.
    fn decode(
        original: &[u8],
        format: ImageFormat,
    ) -> Result<(DynamicImage, (u32, u32)), Unscaled> {
        let mut reader = ImageReader::with_format(Cursor::new(original), format);
        let mut limits = Limits::default();
        limits.max_image_width = Some(LONGEST_SIDE);
        limits.max_image_height = Some(LONGEST_SIDE);
        limits.max_alloc = Some(MEMORY_BYTES);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(|_| unreadable(None))?;
        let size = decoder.dimensions();
        let pixels = u64::from(size.0) * u64::from(size.1);
        if pixels > MOST_PIXELS || decoder.total_bytes() > MEMORY_BYTES {
            return Err(Unscaled {
                original: Some(size),
                problem: format!("it has more than {MOST_PIXELS} pixels, and was not scaled"),
            });
        }
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut picture =
            DynamicImage::from_decoder(decoder).map_err(|_| unreadable(Some(size)))?;
        picture.apply_orientation(orientation);
        Ok((picture, size))
    }

    fn encode(picture: DynamicImage, is_photo: bool) -> ImageResult<Vec<u8>> {
        let mut bytes = Cursor::new(Vec::new());
        if is_photo {
            let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
            picture.into_rgb8().write_with_encoder(encoder)?;
        } else {
            picture.write_to(&mut bytes, ImageFormat::Png)?;
        }
        Ok(bytes.into_inner())
    }

    #[cfg(test)]
    mod tests {
        use image::{Rgb, RgbImage};

        use super::*;

        /// A picture that does not compress: red above, blue below, and noise over both.
        fn noisy(width: u32, height: u32) -> DynamicImage {
            let mut state = 1_u32;
            let mut noise = move || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 27) as u8
            };
            DynamicImage::from(RgbImage::from_fn(width, height, |_, y| {
                let (red, blue) = if y < height / 2 { (220, 20) } else { (20, 220) };
                Rgb([red + noise(), noise(), blue + noise()])
            }))
        }

        fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
            let mut bytes = Cursor::new(Vec::new());
            picture.write_to(&mut bytes, format).expect("an image");
            bytes.into_inner()
        }

        #[test]
        fn each_format_is_scaled_to_its_budget() {
            let picture = noisy(400, 300);
            for (format, mime) in [
                (ImageFormat::Png, "image/png"),
                (ImageFormat::Jpeg, "image/jpeg"),
                (ImageFormat::Gif, "image/png"),
                (ImageFormat::WebP, "image/png"),
            ] {
                let original = encoded(&picture, format);
                for most in [original.len() / 2, 5000, 1000] {
                    let scaled = scale(&original, most).expect("a copy");
                    assert_eq!((scaled.mime, scaled.original), (mime, (400, 300)));
                    assert!(scaled.bytes.len() <= most, "{format:?}");
                    let copy = image::load_from_memory(&scaled.bytes).expect("an image");
                    let copy = copy.into_rgb8();
                    let (width, height) = copy.dimensions();
                    assert!((f64::from(width) / f64::from(height) - 4.0 / 3.0).abs() < 0.2);
                    let top = copy.get_pixel(width / 2, height / 4);
                    let bottom = copy.get_pixel(width / 2, height * 3 / 4);
                    assert!(top[0] > 180 && top[2] < 90, "{format:?}: {top:?}");
                    assert!(bottom[2] > 180 && bottom[0] < 90, "{format:?}: {bottom:?}");
                }
            }
        }

        #[test]
        fn what_is_no_image_is_only_that() {
            let png = encoded(&noisy(400, 300), ImageFormat::Png);
            let cut = &png[..png.len() / 2];
            let mut broken = png.clone();
            for byte in &mut broken[1000..1100] {
                *byte ^= 0x5a;
            }
            let problem = "it cannot be read as an image";
            for (original, size) in [
                (&b""[..], None),
                (&b"not an image"[..], None),
                (&b"\x89PNG\r\n\x1a\n"[..], None),
                (&b"BM then what"[..], None),
                (cut, Some((400, 300))),
                (&broken[..], Some((400, 300))),
            ] {
                let refused = scale(original, 1000).expect_err("no image");
                assert_eq!(
                    (refused.problem.as_str(), refused.original),
                    (problem, size)
                );
            }
        }

        /// A few kilobytes that say they are gigabytes of pixels.
        #[test]
        fn a_bomb_is_not_decoded() {
            for (width, height) in [(60_000, 60_000), (10_000, 10_000)] {
                let mut bomb = encoded(&noisy(20, 20), ImageFormat::Png);
                bomb[16..20].copy_from_slice(&u32::to_be_bytes(width));
                bomb[20..24].copy_from_slice(&u32::to_be_bytes(height));
                let checksum = crc(&bomb[12..29]);
                bomb[29..33].copy_from_slice(&checksum.to_be_bytes());
                let begun = std::time::Instant::now();
                let refused = scale(&bomb, 1000).expect_err("a bomb");
                assert!(begun.elapsed() < std::time::Duration::from_millis(200));
                if let Some(size) = refused.original {
                    assert_eq!(size, (width, height));
                }
            }
        }

        fn crc(bytes: &[u8]) -> u32 {
            let fold = |mut crc: u32, byte: &u8| {
                crc ^= u32::from(*byte);
                for _ in 0..8 {
                    crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
                }
                crc
            };
            !bytes.iter().fold(!0, fold)
        }
    }
}
