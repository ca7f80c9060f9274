//! [`Screen`]: the terminal behind the streams, if any is: what is on it, and what it can draw.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::RawFd;
use std::time::Duration;

use warmcell::Display;

use super::colour::Palette;
use super::cursor::Cursor;
use super::display;
use super::graphics::{Detected, Drawn, Graphics, Picture};
use super::shelf::Shelf;
use super::spinner::Spinner;
use super::terminal::Size;
use super::text::harmless;
use super::value::Look;

/// What the process's streams show on a terminal.
#[derive(Debug)]
pub(super) struct Screen {
    /// Data is shown on a terminal.
    pub(super) shows_data: bool,
    pub(super) shows_messages: bool,
    /// What the streams are, even where nothing can be drawn.
    are_terminals: Streams,
    /// Data and messages are, and on one as far as anybody can tell.
    pub(super) is_one: bool,
    data: Palette,
    pub(super) messages: Palette,
    cursor: Cursor,
    spinner: Option<Spinner>,
    /// Whether it draws images; none before it was asked.
    graphics: Option<Option<Graphics>>,
    /// What takes the cell's images away.
    removals: String,
    /// What the cell displayed last, if that can be updated in its place.
    last: Option<Shown>,
    shelf: Option<Shelf>,
}

/// Which of the streams a terminal reads, which obeys whatever sequences it gets.
#[derive(Clone, Copy, Debug)]
struct Streams {
    data: bool,
    messages: bool,
}

/// A display that stands at the end of what is on the screen.
#[derive(Debug)]
struct Shown {
    id: String,
    /// The rows of the cell before it, and with it.
    before: usize,
    after: usize,
}

impl Screen {
    pub(super) fn of_standard_streams() -> Self {
        Self::new(io::stdout().is_terminal())
    }

    /// Data goes elsewhere.
    pub(super) fn of_messages() -> Self {
        Self::new(false)
    }

    fn new(shows_data: bool) -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_colour_welcome = !is_set("NO_COLOR") && !is_dumb;
        let shows_messages = io::stderr().is_terminal();
        let palette = |is_terminal: bool| Palette {
            is_coloured: is_terminal && is_colour_welcome,
        };
        Self {
            // What cannot move its cursor is no place to draw.
            shows_data: shows_data && !is_dumb,
            shows_messages: shows_messages && !is_dumb,
            are_terminals: Streams {
                data: shows_data,
                messages: shows_messages,
            },
            is_one: shows_data && shows_messages,
            data: palette(shows_data),
            messages: palette(shows_messages),
            cursor: Cursor::new(),
            spinner: None,
            graphics: None,
            removals: String::new(),
            last: None,
            shelf: None,
        }
    }

    pub(super) fn keep_images(&mut self) {
        self.shelf.get_or_insert_default();
    }

    /// Data of ours that a terminal shows as it is, without what the terminal would obey.
    pub(super) fn clean_data(&self, text: String) -> String {
        if self.are_terminals.data {
            harmless(&text)
        } else {
            text
        }
    }

    /// The same of messages, which hold names and texts of a program's.
    pub(super) fn clean_message<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.are_terminals.messages {
            harmless(text).into()
        } else {
            text.into()
        }
    }

    /// How data is drawn; none where it is not.
    pub(super) fn look(&self) -> Option<Look> {
        self.shows_data.then(|| Look {
            columns: self.size().columns,
            palette: self.data,
            is_folded: true,
        })
    }

    fn size(&self) -> Size {
        let terminal: RawFd = if self.shows_data {
            libc::STDOUT_FILENO
        } else {
            libc::STDERR_FILENO
        };
        Size::of(terminal)
    }

    // A cell, and the time it takes.

    pub(super) fn begin(&mut self, spins: bool) {
        if self.shows_data || self.shows_messages {
            self.cursor.mark(self.size().columns);
        }
        self.last = None;
        self.removals.clear();
        self.spinner = (spins && self.shows_messages).then(Spinner::start);
    }

    pub(super) fn end(&mut self) {
        self.wipe();
        self.spinner = None;
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.spinner.as_ref().map(Spinner::wait)
    }

    pub(super) fn spin(&mut self) {
        if let Some(spinner) = &mut self.spinner {
            let _ = io::stderr().write_all(spinner.draw().as_bytes());
        }
    }

    /// Takes the spinner away, before anything else is written.
    pub(super) fn wipe(&mut self) {
        if let Some(spinner) = &mut self.spinner {
            if spinner.is_drawn {
                let _ = io::stderr().write_all(b"\r\x1b[K");
            }
            spinner.rest();
        }
    }

    // What was written.

    pub(super) fn wrote_data(&mut self, text: &str) {
        if self.shows_data {
            self.cursor.take(text);
        }
    }

    pub(super) fn wrote_message(&mut self, text: &str) {
        if self.shows_messages {
            self.cursor.take(text);
        }
    }

    /// What takes everything away that the cell has written and that is still on the screen.
    pub(super) fn clear(&mut self) -> Option<String> {
        self.wipe();
        if !self.shows_data {
            return None;
        }
        self.last = None;
        let size = self.size();
        let sequence = self.cursor.rows().map(|rows| self.back(rows, size));
        self.cursor.mark(size.columns);
        sequence
    }

    /// Goes back so many rows and clears what is there.
    fn back(&mut self, rows: usize, size: Size) -> String {
        let up = match rows.min(size.rows.saturating_sub(1)) {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        format!("{}\r{up}\x1b[J", std::mem::take(&mut self.removals))
    }

    // Displays.

    /// Draws a display where the cursor is, at the start of a line. One that was updated is drawn in its place if that is
    /// the last thing on the screen.
    pub(super) fn draw(&mut self, entry: &Display, look: Look) -> String {
        self.wipe();
        let size = self.size();
        let mut drawn = String::new();
        if let Some(shown) = self.last.take()
            && entry.updates
            && entry.id.as_ref() == Some(&shown.id)
            && self.cursor.rows() == Some(shown.after)
            && self.cursor.is_at_line_start()
        {
            drawn.push_str(&self.back(shown.after - shown.before, size));
            self.cursor.set_rows(shown.before);
        }
        let before = self.cursor.rows();
        if let Some((mime, picture)) = display::picture(entry) {
            match self.draw_picture(&picture, size) {
                Some(image) => {
                    drawn.push_str(&image.text);
                    drawn.push('\n');
                    self.removals.extend(image.removal);
                    self.cursor.take_rows(image.rows);
                }
                None => {
                    let file = entry.file.clone();
                    let file = file.or_else(|| self.shelf.as_mut()?.keep(mime, picture.bytes()));
                    let text =
                        display::text_of_picture(entry, mime, &picture, file.as_deref(), look);
                    self.cursor.take(&text);
                    drawn.push_str(&text);
                }
            }
        } else {
            let text = display::text(entry, look);
            self.cursor.take(&text);
            drawn.push_str(&text);
        }
        if let (Some(before), Some(after), Some(id)) = (before, self.cursor.rows(), &entry.id) {
            let id = id.clone();
            self.last = Some(Shown { id, before, after });
        }
        drawn
    }

    /// Draws an image if the terminal can, which it is asked the first time there is one.
    fn draw_picture(&mut self, picture: &Picture, size: Size) -> Option<Drawn> {
        if self.graphics.is_none() {
            self.graphics = match Graphics::detect() {
                Detected::Some(graphics) => Some(Some(graphics)),
                Detected::None => Some(None),
                Detected::NotNow => None,
            };
        }
        self.graphics.as_mut()?.as_mut()?.draw(picture, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        let mut screen = Screen::new(true);
        (screen.shows_data, screen.shows_messages) = (true, false);
        screen.begin(false);
        screen
    }

    fn entry(id: &str, text: &str, updates: bool) -> Display {
        let mut entry = Display::text(text);
        entry.id = Some(id.to_owned());
        entry.updates = updates;
        entry
    }

    fn draw(screen: &mut Screen, entry: &Display) -> String {
        let look = Look {
            columns: 80,
            palette: Palette { is_coloured: false },
            is_folded: true,
        };
        screen.draw(entry, look)
    }

    #[test]
    fn a_clear_goes_back_to_where_the_cell_began() {
        let mut screen = screen();
        screen.wrote_data("one\ntwo\n50%\r");
        assert_eq!(screen.clear().as_deref(), Some("\r\x1b[2A\x1b[J"));
        // What was cleared is not counted again, and what has left the screen cannot be reached.
        screen.wrote_data("three");
        assert_eq!(screen.clear().as_deref(), Some("\r\x1b[J"));
        screen.wrote_data(&"line\n".repeat(1000));
        let rows = screen.size().rows - 1;
        assert_eq!(screen.clear(), Some(format!("\r\x1b[{rows}A\x1b[J")));
        screen.shows_data = false;
        assert_eq!(screen.clear(), None);
    }

    #[test]
    fn an_update_takes_the_place_of_what_stands_last() {
        let mut screen = screen();
        assert_eq!(draw(&mut screen, &entry("a", "1\n2", false)), "1\n2\n");
        assert_eq!(
            draw(&mut screen, &entry("a", "3", true)),
            "\r\x1b[2A\x1b[J3\n"
        );
        assert_eq!(
            draw(&mut screen, &entry("a", "4", true)),
            "\r\x1b[1A\x1b[J4\n"
        );
        screen.wrote_data("printed\n");
        assert_eq!(draw(&mut screen, &entry("a", "5", true)), "5\n");
        assert_eq!(draw(&mut screen, &entry("b", "6", true)), "6\n");
        screen.begin(false);
        assert_eq!(draw(&mut screen, &entry("b", "7", true)), "7\n");
    }
}
