//! [`Console`]: what a person sees. Data on one stream, messages on the other, colour only where somebody looks, and never
//! as the only carrier of a meaning.
//!
//! Where data goes anywhere but to a terminal it is exact; a terminal gets it drawn. What is drawn how lies in the modules
//! below, the terminal itself in [`Screen`].

mod colour;
mod cursor;
mod display;
mod graphics;
mod html;
mod markdown;
mod screen;
mod shelf;
mod spinner;
mod table;
mod terminal;
mod text;
mod traceback;
mod value;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use warmcell::{Event, Failure, FailureKind, Outcome, SessionState, Stream};

use self::colour::Tone;
use self::screen::Screen;
pub(super) use self::table::Table;
pub(super) use self::text::{bytes, counted, harmless};
pub(super) use self::value::{lay_out_plainly, table_of};

/// Which of a cell's results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// What it printed, as a script would; a terminal shows its displays and its value besides.
    Prints,
    /// What it displayed besides, and its value.
    Displays,
}

/// The two streams of the process. Standard output is buffered and flushed before anybody could wait for it.
pub(super) struct Console {
    stdout: BufWriter<Box<dyn Write>>,
    /// The last line of data has ended.
    is_at_line_start: bool,
    /// The last line that a program wrote to standard error has ended.
    is_stderr_at_line_start: bool,
    screen: Screen,
}

impl Console {
    /// The standard streams as the process has them.
    pub(super) fn on_standard_streams() -> Self {
        Self::new(Box::new(io::stdout()), Screen::of_standard_streams())
    }

    /// Data to `file`, messages to standard error.
    pub(super) fn on_file(file: File) -> Self {
        Self::new(Box::new(file), Screen::of_messages())
    }

    fn new(stdout: Box<dyn Write>, screen: Screen) -> Self {
        Self {
            stdout: BufWriter::with_capacity(1 << 16, stdout),
            is_at_line_start: true,
            is_stderr_at_line_start: true,
            screen,
        }
    }

    /// Whether messages are in colour.
    pub(super) fn is_coloured(&self) -> bool {
        self.screen.messages.is_coloured
    }

    /// Keeps images that the terminal cannot draw as files, for as long as this console lives.
    pub(super) fn keep_images(&mut self) {
        self.screen.keep_images();
    }

    /// A cell starts. `spins` says that all it prints comes through here, so that a spinner disturbs nothing.
    pub(super) fn begin_cell(&mut self, spins: bool) {
        self.screen.begin(spins);
    }

    /// The cell has ended.
    pub(super) fn end_cell(&mut self) {
        self.screen.end();
    }

    /// How long to wait for an event of the cell before [`Console::spin`] is due; none when it never is.
    pub(super) fn patience(&self) -> Option<Duration> {
        let is_free = self.is_at_line_start && self.is_stderr_at_line_start;
        if is_free {
            self.screen.patience()
        } else {
            None
        }
    }

    /// Shows that the cell still runs.
    pub(super) fn spin(&mut self) {
        self.screen.spin();
    }

    /// What a running cell printed or displayed.
    pub(super) fn event(&mut self, event: Event, show: Show) -> io::Result<()> {
        match event {
            Event::Output { stream, text } => self.text(stream, &text),
            Event::Display(entry) if self.shows(show) => match self.screen.look() {
                Some(look) => {
                    self.end_line()?;
                    let drawn = self.screen.draw(&entry, look);
                    self.stdout.write_all(drawn.as_bytes())
                }
                None => {
                    let text = self.screen.clean_data(display::plain(&entry));
                    self.line(&text)
                }
            },
            Event::Clear => {
                self.flush()?;
                if let Some(sequence) = self.screen.clear() {
                    self.stdout.write_all(sequence.as_bytes())?;
                    (self.is_at_line_start, self.is_stderr_at_line_start) = (true, true);
                }
                Ok(())
            }
            Event::Gap { bytes, .. } => {
                self.notice(&format!(
                    "{bytes} bytes of output came too fast to be shown"
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn shows(&self, show: Show) -> bool {
        show == Show::Displays || self.screen.shows_data
    }

    /// The value of a cell: its text, or in a terminal laid out, a long one folded if `folds`.
    pub(super) fn value(&mut self, json: &str, show: Show, folds: bool) -> io::Result<()> {
        match self.screen.look() {
            Some(look) => self.line(&value::lay_out(json, look.folded(folds))),
            None if self.shows(show) => {
                let text = self.screen.clean_data(json.to_owned());
                self.line(&text)
            }
            None => Ok(()),
        }
    }

    /// A table in a terminal, `otherwise` line by line elsewhere.
    pub(super) fn table(
        &mut self,
        table: &Table,
        mut otherwise: impl Iterator<Item = String>,
    ) -> io::Result<()> {
        match self.screen.look() {
            Some(look) => self.line(table.draw(look.columns, look.palette).trim_end()),
            None => otherwise.try_for_each(|line| {
                let line = self.screen.clean_data(line);
                self.line(&line)
            }),
        }
    }

    /// Text of a program, as it printed it.
    pub(super) fn text(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.screen.wipe();
        let ends_line = text.ends_with('\n');
        match stream {
            Stream::Stdout => {
                self.stdout.write_all(text.as_bytes())?;
                self.is_at_line_start = ends_line;
                self.screen.wrote_data(text);
            }
            Stream::Stderr => {
                self.stdout.flush()?;
                // Standard error may be gone; the program's data is not.
                let _ = io::stderr().write_all(text.as_bytes());
                self.is_stderr_at_line_start = ends_line;
                self.screen.wrote_message(text);
            }
        }
        if self.screen.is_one {
            // Both write on the same line.
            (self.is_at_line_start, self.is_stderr_at_line_start) = (ends_line, ends_line);
        }
        Ok(())
    }

    /// Data on a line of its own.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.begin_line()?;
        self.text(Stream::Stdout, text)?;
        self.text(Stream::Stdout, "\n")
    }

    /// Ends a line that a program left open, before something else is written there.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        self.begin_line()?;
        self.stdout.flush()
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if self.is_at_line_start {
            return Ok(());
        }
        self.text(Stream::Stdout, "\n")
    }

    /// Hands everything to the stream.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// What an outcome holds beyond value and streamed output: late output, the failure, and what its reader must know.
    pub(super) fn rest(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.text(Stream::Stdout, &outcome.background.stdout)?;
        self.text(Stream::Stderr, &outcome.background.stderr)?;
        let late = [
            &outcome.truncated.background_stdout,
            &outcome.truncated.background_stderr,
        ];
        let left_out: u64 = late
            .into_iter()
            .flatten()
            .map(|cut| cut.bytes_left_out)
            .sum();
        if left_out > 0 {
            self.notice(&format!(
                "{left_out} bytes that were printed between cells are left out"
            ));
        }
        self.flush()?;
        if let Some(failure) = &outcome.error {
            self.failure(failure);
        }
        match (&outcome.notice, outcome.state) {
            (Some(notice), _) => self.notice(notice),
            (None, SessionState::Lost) => self.notice("everything the session held is gone"),
            (None, _) => {}
        }
        Ok(())
    }

    fn failure(&mut self, failure: &Failure) {
        if failure.kind == FailureKind::Exit {
            return;
        }
        let traceback = failure.traceback.as_deref().unwrap_or_default();
        if !traceback.is_empty() {
            let cleaned = self.screen.clean_message(traceback);
            self.say(&traceback::paint(&cleaned, self.screen.messages));
        }
        // A traceback ends with the exception; why a cell was stopped stands in the message alone.
        if !traceback.contains(failure.message.trim()) || traceback.is_empty() {
            match &failure.name {
                Some(name) => self.error(&format!("{name}: {}", failure.message)),
                None => self.error(&failure.message),
            }
        }
        if let Some(hint) = &failure.hint {
            self.labelled("hint", Tone::Hint, hint);
        }
    }

    /// Something went wrong. Lines of `text` that begin with `hint:` say what to do.
    pub(super) fn error(&mut self, text: &str) {
        match text.split_once("\nhint: ") {
            None => self.labelled("error", Tone::Error, text),
            Some((text, hint)) => {
                self.labelled("error", Tone::Error, text);
                self.labelled("hint", Tone::Hint, hint);
            }
        }
    }

    /// Something to know.
    pub(super) fn notice(&mut self, text: &str) {
        self.labelled("notice", Tone::Notice, text);
    }

    fn labelled(&mut self, label: &str, tone: Tone, text: &str) {
        let label = self.screen.messages.paint(tone, &format!("{label}:"));
        let text = self.screen.clean_message(text);
        self.say(&format!("{label} {text}"));
    }

    /// A message without a label.
    pub(super) fn message(&mut self, text: &str) {
        let text = self.screen.clean_message(text);
        self.say(&text);
    }

    /// Text that is clean, and may be in colour.
    fn say(&mut self, text: &str) {
        // When standard output is gone its next user finds out; when standard error is, there is nobody to tell.
        if self.screen.shows_messages && !self.is_stderr_at_line_start {
            let _ = self.text(Stream::Stderr, "\n");
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = self.text(Stream::Stderr, &format!("{text}{end}"));
    }
}
