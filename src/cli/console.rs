//! [`Console`]: what a person sees. Data on one stream, messages on the other, colour only where somebody looks, and never
//! as the only carrier of a meaning.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

use warmcell::{Display, Event, Failure, FailureKind, Outcome, SessionState, Stream};

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const CYAN: &str = "\x1b[1;36m";
const PLAIN: &str = "\x1b[0m";

/// Which of a cell's displays are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Only what it printed, as a script would.
    Prints,
    /// What it displayed besides.
    Displays,
}

/// The two streams of the process. Standard output is buffered and flushed before anybody could wait for it.
pub(super) struct Console {
    stdout: BufWriter<Box<dyn Write>>,
    is_at_line_start: bool,
    is_coloured: bool,
}

impl Console {
    /// The standard streams as the process has them.
    pub(super) fn on_standard_streams() -> Self {
        Self::new(Box::new(io::stdout()))
    }

    /// Data to `file`, messages to standard error.
    pub(super) fn on_file(file: File) -> Self {
        Self::new(Box::new(file))
    }

    fn new(stdout: Box<dyn Write>) -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self {
            stdout: BufWriter::with_capacity(1 << 16, stdout),
            is_at_line_start: true,
            is_coloured: io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Whether colours are wanted.
    pub(super) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// What a running cell printed or displayed.
    pub(super) fn event(&mut self, event: Event, show: Show) -> io::Result<()> {
        match event {
            Event::Output { stream, text } => self.text(stream, &text),
            Event::Display(entry) if show == Show::Displays => self.line(&plain(&entry)),
            Event::Gap { bytes, .. } => {
                self.notice(&format!(
                    "{bytes} bytes of output came too fast to be shown"
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Text of a program, as it printed it.
    pub(super) fn text(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        match stream {
            Stream::Stdout => {
                self.stdout.write_all(text.as_bytes())?;
                if !text.is_empty() {
                    self.is_at_line_start = text.ends_with('\n');
                }
                Ok(())
            }
            Stream::Stderr => {
                self.stdout.flush()?;
                // Standard error may be gone; the program's data is not.
                let _ = io::stderr().write_all(text.as_bytes());
                Ok(())
            }
        }
    }

    /// Data on a line of its own.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_at_line_start, true) {
            self.stdout.write_all(b"\n")?;
        }
        self.stdout.write_all(text.as_bytes())?;
        self.stdout.write_all(b"\n")
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
            self.message_text(traceback);
        }
        // A traceback ends with the exception; why a cell was stopped stands in the message alone.
        if !traceback.contains(failure.message.trim()) || traceback.is_empty() {
            match &failure.name {
                Some(name) => self.error(&format!("{name}: {}", failure.message)),
                None => self.error(&failure.message),
            }
        }
        if let Some(hint) = &failure.hint {
            self.labelled("hint", CYAN, hint);
        }
    }

    /// Something went wrong. Lines of `text` that begin with `hint:` say what to do.
    pub(super) fn error(&mut self, text: &str) {
        match text.split_once("\nhint: ") {
            None => self.labelled("error", RED, text),
            Some((text, hint)) => {
                self.labelled("error", RED, text);
                self.labelled("hint", CYAN, hint);
            }
        }
    }

    /// Ends a line that a program left open, before something else is written there.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_at_line_start, true) {
            self.stdout.write_all(b"\n")?;
        }
        self.stdout.flush()
    }

    /// A message without a label.
    pub(super) fn message(&mut self, text: &str) {
        self.message_text(text);
    }

    /// Something to know.
    pub(super) fn notice(&mut self, text: &str) {
        self.labelled("notice", YELLOW, text);
    }

    fn labelled(&mut self, label: &str, colour: &str, text: &str) {
        let label = if self.is_coloured {
            format!("{colour}{label}:{PLAIN}")
        } else {
            format!("{label}:")
        };
        self.message_text(&format!("{label} {text}"));
    }

    fn message_text(&mut self, text: &str) {
        // When standard output is gone its next user finds out; when standard error is, there is nobody to tell.
        let _ = self.stdout.flush();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = io::stderr().write_all(format!("{text}{end}").as_bytes());
    }
}

/// What a display says where only text can be shown.
fn plain(entry: &Display) -> String {
    match entry.data.get("text/plain") {
        Some(serde_json::Value::String(text)) => text.clone(),
        _ => {
            let types: Vec<&str> = entry.data.keys().map(String::as_str).collect();
            format!("[{}]", types.join(", "))
        }
    }
}
