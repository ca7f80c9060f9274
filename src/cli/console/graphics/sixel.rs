//! The way of DEC: bands of six rows, a colour after the other.

use std::collections::HashMap;
use std::fmt::Write;

use image::imageops::FilterType;
use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

use super::Fit;

/// What a terminal that takes it lists among its attributes.
pub(super) const ATTRIBUTE: &str = "4";

/// How many colours every such terminal has.
const COLOURS: usize = 256;

pub(super) fn draw(image: &DynamicImage, fit: Fit) -> String {
    let image = if fit.is_smaller {
        let (width, height) = (fit.width as u32, fit.height as u32);
        image.resize_exact(width, height, FilterType::Triangle)
    } else {
        image.clone()
    };
    encode(&on_white(&image.to_rgba8()))
}

/// What is transparent shows white paper, as plots expect.
fn on_white(image: &RgbaImage) -> RgbImage {
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0.map(u32::from);
        let mixed = |part: u32| ((part * alpha + 255 * (255 - alpha)) / 255) as u8;
        Rgb([mixed(red), mixed(green), mixed(blue)])
    })
}

fn encode(image: &RgbImage) -> String {
    let palette = Palette::of(image);
    let mut text = format!("\x1bPq\"1;1;{};{}", image.width(), image.height());
    for (index, [red, green, blue]) in palette.colours.iter().enumerate() {
        let percent = |part: &u8| (u32::from(*part) * 100 + 127) / 255;
        let _ = write!(
            text,
            "#{index};2;{};{};{}",
            percent(red),
            percent(green),
            percent(blue)
        );
    }
    let width = image.width() as usize;
    for top in (0..image.height()).step_by(6) {
        // The sixels of each colour of the band, by column.
        let mut band: HashMap<usize, Vec<u8>> = HashMap::new();
        for row in 0..6.min(image.height() - top) {
            for x in 0..image.width() {
                let colour = palette.index(image.get_pixel(x, top + row).0);
                band.entry(colour).or_insert_with(|| vec![0; width])[x as usize] |= 1 << row;
            }
        }
        let mut colours: Vec<_> = band.into_iter().collect();
        colours.sort_unstable_by_key(|(colour, _)| *colour);
        for (colour, sixels) in colours {
            let _ = write!(text, "#{colour}");
            write_runs(&mut text, &sixels);
            text.push('$');
        }
        text.push('-');
    }
    text.push_str("\x1b\\");
    text
}

fn write_runs(text: &mut String, sixels: &[u8]) {
    for run in sixels.chunk_by(|one, other| one == other) {
        let character = char::from(run[0] + 63);
        if run.len() > 3 {
            let _ = write!(text, "!{}{character}", run.len());
        } else {
            text.extend(std::iter::repeat_n(character, run.len()));
        }
    }
}

/// The colours of an image: its own when they are few, else those of an even cube.
struct Palette {
    colours: Vec<[u8; 3]>,
    own: Option<HashMap<[u8; 3], usize>>,
}

/// The steps of the cube: the eye tells greens apart best.
const STEPS: [usize; 3] = [6, 7, 6];

impl Palette {
    fn of(image: &RgbImage) -> Self {
        let mut own = HashMap::new();
        for pixel in image.pixels() {
            let next = own.len();
            own.entry(pixel.0).or_insert(next);
            if own.len() > COLOURS {
                return Self::cube();
            }
        }
        let mut colours = vec![[0; 3]; own.len()];
        for (colour, index) in &own {
            colours[*index] = *colour;
        }
        Self {
            colours,
            own: Some(own),
        }
    }

    fn cube() -> Self {
        let part = |step: usize, steps: usize| (step * 255 / (steps - 1)) as u8;
        let [reds, greens, blues] = STEPS;
        let mut colours = Vec::with_capacity(reds * greens * blues);
        for red in 0..reds {
            for green in 0..greens {
                for blue in 0..blues {
                    colours.push([part(red, reds), part(green, greens), part(blue, blues)]);
                }
            }
        }
        Self { colours, own: None }
    }

    fn index(&self, colour: [u8; 3]) -> usize {
        match &self.own {
            Some(own) => own.get(&colour).copied().unwrap_or(0),
            None => (0..3).fold(0, |index, part| {
                let most = STEPS[part] - 1;
                index * STEPS[part] + (usize::from(colour[part]) * most + 127) / 255
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_exact() {
        let image = RgbImage::from_fn(5, 7, |x, y| {
            if x == 4 || y == 6 {
                Rgb([255, 0, 0])
            } else {
                Rgb([255, 255, 255])
            }
        });
        assert_eq!(
            encode(&image),
            "\x1bPq\"1;1;5;7#0;2;100;100;100#1;2;100;0;0#0!4~?$#1!4?~$-#1!5@$-\x1b\\"
        );
    }

    #[test]
    fn many_colours_are_those_of_a_cube() {
        let image = RgbImage::from_fn(256, 2, |x, y| {
            Rgb([x as u8, (255 - x) as u8, (y * 255) as u8])
        });
        let palette = Palette::of(&image);
        assert_eq!(palette.colours.len(), 252);
        for colour in [[0, 0, 0], [255, 255, 255], [255, 0, 0], [102, 85, 51]] {
            assert_eq!(palette.colours[palette.index(colour)], colour);
        }
    }

    #[test]
    fn what_is_transparent_is_white() {
        let clear = RgbaImage::from_pixel(1, 1, image::Rgba([0, 0, 0, 0]));
        assert_eq!(on_white(&clear).get_pixel(0, 0).0, [255, 255, 255]);
    }
}
