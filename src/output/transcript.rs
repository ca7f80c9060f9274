//! [`Transcript`]: everything a session printed and showed, sorted by cell and background, until an outcome takes it.
//!
//! One lock, held for a copy of bytes and never while another is taken or while anything waits
//! (a cell that has to wait for its reader does so after giving it back). It is taken by whoever
//! prints (the engine's thread, threads of the program) and by whoever settles a cell.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ledger::Ledger;
use super::pace::Pace;
use super::{EventSender, Origin, Sink, Stream};
use crate::limits::Limits;
use crate::outcome::{Background, Display, Truncated};

/// A session's output in process.
#[derive(Debug)]
pub(crate) struct Transcript(Mutex<State>);

#[derive(Debug)]
struct State {
    cell: Pair,
    background: Pair,
    display: Vec<Display>,
    display_entries: usize,
    displays_left_out: u64,
    /// The next thing printed or shown takes the place of everything before it.
    clears: bool,
    events: Option<EventSender>,
}

#[derive(Debug)]
struct Pair {
    stdout: Ledger,
    stderr: Ledger,
}

/// What one outcome takes out of the transcript.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) background: Background,
    pub(crate) truncated: Truncated,
    pub(crate) display: Vec<Display>,
}

impl Transcript {
    pub(crate) fn new(limits: &Limits) -> Self {
        let pair = || Pair {
            stdout: Ledger::new(limits.output_bytes),
            stderr: Ledger::new(limits.output_bytes),
        };
        Self(Mutex::new(State {
            cell: pair(),
            background: pair(),
            display: Vec::new(),
            display_entries: limits.display_entries,
            displays_left_out: 0,
            clears: false,
            events: None,
        }))
    }

    /// A cell starts: what it prints is streamed to `events` from now on.
    pub(crate) fn begin(&self, events: Option<EventSender>) {
        if events.is_some() {
            self.lock().events = events;
        }
    }

    /// The cell is to end: it waits for no reader any more.
    pub(crate) fn hurry(&self) {
        let pace = self.lock().events.as_ref().and_then(EventSender::pace);
        if let Some(pace) = pace {
            pace.end();
        }
    }

    /// A cell has ended: hands over everything since the last outcome.
    pub(crate) fn take(&self) -> Taken {
        let mut state = self.lock();
        state.clears = false;
        if let Some(events) = state.events.take() {
            events.finish();
        }
        let (stdout, stdout_cut) = state.cell.stdout.take();
        let (stderr, stderr_cut) = state.cell.stderr.take();
        let (late_stdout, late_stdout_cut) = state.background.stdout.take();
        let (late_stderr, late_stderr_cut) = state.background.stderr.take();
        Taken {
            stdout,
            stderr,
            background: Background {
                stdout: late_stdout,
                stderr: late_stderr,
            },
            truncated: Truncated {
                stdout: stdout_cut,
                stderr: stderr_cut,
                background_stdout: late_stdout_cut,
                background_stderr: late_stderr_cut,
                displays_left_out: std::mem::take(&mut state.displays_left_out),
            },
            display: std::mem::take(&mut state.display),
        }
    }

    /// Takes what a worker's cell or background printed. Says whether the cell is ahead of its reader: whoever drains it
    /// should wait before it takes more.
    pub(crate) fn take_in(&self, stream: Stream, origin: Origin, bytes: &[u8]) -> bool {
        self.push(stream, origin, bytes)
            .is_some_and(|pace| pace.is_ahead())
    }

    /// Whether somebody watches the running cell's output.
    pub(crate) fn is_watched(&self) -> bool {
        self.lock().events.is_some()
    }

    /// Whether the running cell is ahead of its reader.
    pub(crate) fn is_ahead(&self) -> bool {
        let pace = self.lock().events.as_ref().and_then(EventSender::pace);
        pace.is_some_and(|pace| pace.is_ahead())
    }

    /// Takes what was printed. Gives what the writer should wait for once it holds no lock.
    fn push(&self, stream: Stream, origin: Origin, bytes: &[u8]) -> Option<Arc<Pace>> {
        let mut state = self.lock();
        match origin {
            Origin::Cell => {
                state.clear_if_due();
                state.cell.of(stream).push(bytes);
                state.events.as_mut().and_then(|events| {
                    events.write(stream, bytes);
                    events.pace()
                })
            }
            Origin::Background => {
                state.background.of(stream).push(bytes);
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics half-way through a change that matters: at worst a write is missing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets what the running cell printed and showed.
    fn clear(&mut self) {
        self.clears = false;
        if let Some(events) = &mut self.events {
            events.clear();
        }
        self.cell.stdout.take();
        self.cell.stderr.take();
        self.display.clear();
        self.displays_left_out = 0;
    }

    fn clear_if_due(&mut self) {
        if self.clears {
            self.clear();
        }
    }

    /// Takes an entry, or new content for one.
    fn show(&mut self, entry: Display) {
        let is_shown =
            |shown: &Display| entry.updates && entry.id.is_some() && shown.id == entry.id;
        match self.display.iter().rposition(is_shown) {
            Some(place) => {
                let updates = self.display[place].updates;
                self.display[place] = Display { updates, ..entry };
            }
            None if self.display.len() < self.display_entries => self.display.push(entry),
            None => self.displays_left_out += 1,
        }
    }
}

impl Pair {
    fn of(&mut self, stream: Stream) -> &mut Ledger {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}

impl Sink for Transcript {
    fn write(&self, stream: Stream, origin: Origin, bytes: &[u8]) {
        if let Some(pace) = self.push(stream, origin, bytes) {
            pace.keep();
        }
    }

    fn flush(&self, stream: Stream) {
        if let Some(events) = &mut self.lock().events {
            events.flush(stream);
        }
    }

    fn display(&self, entry: Display) {
        let mut state = self.lock();
        state.clear_if_due();
        if let Some(events) = &mut state.events {
            events.display(&entry);
        }
        state.show(entry);
    }

    fn clear(&self, wait: bool) {
        let mut state = self.lock();
        if wait {
            state.clears = true;
        } else {
            state.clear();
        }
    }
}
