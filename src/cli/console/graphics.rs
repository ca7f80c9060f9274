//! Images in a terminal: whether it draws any and in which way, found out by asking it and never guessed.

mod iterm;
mod kitty;
mod sixel;

use image::{DynamicImage, ImageFormat, ImageReader};
use std::io::Cursor;

use super::terminal::{self, Answers, Size};

/// The ways in which terminals take images, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Kitty,
    Iterm,
    Sixel,
}

/// Its name and version, the way terminals are asked for that.
const VERSION: &str = "\x1b[>q";

/// How large its cells are, in pixels.
const CELL: &str = "\x1b[16t";

/// Terminals of these names take images in the way of iTerm2.
const LIKE_ITERM: [&str; 2] = ["iTerm2", "WezTerm"];

/// The pixels of a cell where the terminal does not tell: they matter only to how far a large image is made smaller.
const USUAL_CELL: (usize, usize) = (8, 16);

/// A terminal that draws images.
#[derive(Debug)]
pub(super) struct Graphics {
    protocol: Protocol,
    cell: Option<(usize, usize)>,
    /// The number of the last image: the way of kitty numbers them, for all programs of a terminal.
    last: u32,
}

/// An image, as it was drawn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// What is written.
    pub(super) text: String,
    /// How many rows it takes, when that is known.
    pub(super) rows: Option<usize>,
    /// What takes it away again, where overwriting the text does not.
    pub(super) removal: Option<String>,
}

impl Graphics {
    /// Asks the terminal of this process. None when it draws no images.
    pub(super) fn detect() -> Detected {
        let question = format!("{}{VERSION}{CELL}", kitty::QUESTION);
        match terminal::ask(&question) {
            Some(answers) => match Self::of(&answers) {
                Some(graphics) => Detected::Some(graphics),
                None => Detected::None,
            },
            None => Detected::NotNow,
        }
    }

    fn of(answers: &Answers) -> Option<Self> {
        let name = answers.between("\x1bP>|", "\x1b\\").unwrap_or_default();
        let protocol = if answers.between(kitty::ANSWER, "\x1b\\").is_some() {
            Protocol::Kitty
        } else if LIKE_ITERM.iter().any(|like| name.starts_with(like)) {
            Protocol::Iterm
        } else if answers.has_attribute(sixel::ATTRIBUTE) {
            Protocol::Sixel
        } else {
            return None;
        };
        let cell = answers.between("\x1b[6;", "t").and_then(|told| {
            let (down, across) = told.split_once(';')?;
            let cell = (across.parse().ok()?, down.parse().ok()?);
            (cell.0 > 0 && cell.1 > 0).then_some(cell)
        });
        Some(Self {
            protocol,
            cell,
            last: std::process::id() << 10,
        })
    }

    /// Draws an image within the terminal's size.
    pub(super) fn draw(&mut self, picture: &Picture, size: Size) -> Option<Drawn> {
        let known = self.cell.or(size.cell);
        let fit = Fit::of(picture, size, known.unwrap_or(USUAL_CELL));
        self.last = self.last.wrapping_add(1);
        let text = match self.protocol {
            Protocol::Kitty => kitty::draw(picture, fit, self.last)?,
            Protocol::Iterm => iterm::draw(picture, fit),
            Protocol::Sixel => sixel::draw(&picture.decode()?, fit),
        };
        let is_kitty = self.protocol == Protocol::Kitty;
        Some(Drawn {
            text,
            rows: known.map(|_| fit.rows),
            removal: is_kitty.then(|| kitty::removal(self.last)),
        })
    }
}

/// What came of asking.
#[derive(Debug)]
pub(super) enum Detected {
    Some(Graphics),
    None,
    /// It could not be asked now.
    NotNow,
}

/// An image as a cell showed it, in a format that can be read here.
#[derive(Debug)]
pub(super) struct Picture {
    format: ImageFormat,
    bytes: Vec<u8>,
    width: usize,
    height: usize,
}

impl Picture {
    /// Reads an image's size. None for what is no image of a format that this build reads.
    pub(super) fn read(bytes: Vec<u8>) -> Option<Self> {
        let reader = ImageReader::new(Cursor::new(&bytes));
        let reader = reader.with_guessed_format().ok()?;
        let format = reader.format()?;
        let (width, height) = reader.into_dimensions().ok()?;
        (width > 0 && height > 0).then_some(Self {
            format,
            width: width as usize,
            height: height as usize,
            bytes,
        })
    }

    /// Its width and height in pixels.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The image as it came.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn decode(&self) -> Option<DynamicImage> {
        image::load_from_memory_with_format(&self.bytes, self.format).ok()
    }

    /// The image as PNG.
    fn png(&self) -> Option<Vec<u8>> {
        if self.format == ImageFormat::Png {
            return Some(self.bytes.clone());
        }
        let mut png = Cursor::new(Vec::new());
        let image = self.decode()?;
        image.write_to(&mut png, ImageFormat::Png).ok()?;
        Some(png.into_inner())
    }
}

/// How large an image is drawn: as it is, or smaller, so that it is seen whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    columns: usize,
    rows: usize,
    /// In pixels.
    width: usize,
    height: usize,
    is_smaller: bool,
}

impl Fit {
    fn of(picture: &Picture, size: Size, (across, down): (usize, usize)) -> Self {
        let (width, height) = picture.size();
        // The prompt stays in sight.
        let (most_width, most_height) = (
            size.columns * across,
            size.rows.saturating_sub(2).max(1) * down,
        );
        let is_smaller = width > most_width || height > most_height;
        let (width, height) = if width * most_height > height * most_width {
            (
                width.min(most_width),
                height * width.min(most_width) / width,
            )
        } else {
            (
                width * height.min(most_height) / height,
                height.min(most_height),
            )
        };
        let (width, height) = (width.max(1), height.max(1));
        Self {
            columns: width.div_ceil(across),
            rows: height.div_ceil(down),
            width,
            height,
            is_smaller,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(answers: &str) -> Option<Protocol> {
        Graphics::of(&Answers::of(answers)).map(|graphics| graphics.protocol)
    }

    #[test]
    fn only_what_the_terminal_answers_counts() {
        assert_eq!(
            protocol("\x1b_Gi=31;OK\x1b\\\x1b[?62;4c"),
            Some(Protocol::Kitty)
        );
        assert_eq!(protocol("\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?62c"), None);
        assert_eq!(
            protocol("\x1bP>|iTerm2 3.5.0\x1b\\\x1b[?62;4c"),
            Some(Protocol::Iterm)
        );
        assert_eq!(
            protocol("\x1bP>|tmux 3.3a\x1b\\\x1b[?1;2;4c"),
            Some(Protocol::Sixel)
        );
        assert_eq!(protocol("\x1b[?4;2c"), None);
        assert_eq!(protocol(""), None);
        let told = Graphics::of(&Answers::of("\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62c"));
        assert_eq!(told.and_then(|graphics| graphics.cell), Some((10, 20)));
    }

    fn picture(width: usize, height: usize) -> Picture {
        Picture {
            format: ImageFormat::Png,
            bytes: Vec::new(),
            width,
            height,
        }
    }

    #[test]
    fn a_large_image_is_seen_whole() {
        let size = Size {
            columns: 80,
            rows: 24,
            cell: None,
        };
        let fit = |width, height| Fit::of(&picture(width, height), size, (10, 20));
        let drawn = |fit: Fit| (fit.width, fit.height, fit.columns, fit.rows, fit.is_smaller);
        assert_eq!(drawn(fit(95, 41)), (95, 41, 10, 3, false));
        assert_eq!(drawn(fit(1600, 400)), (800, 200, 80, 10, true));
        assert_eq!(drawn(fit(400, 880)), (200, 440, 20, 22, true));
        assert_eq!(drawn(fit(1_000_000, 1)), (800, 1, 80, 1, true));
    }
}
