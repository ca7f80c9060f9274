//! [`Transcript`]: everything a session printed and showed, sorted by cell and background, until an outcome takes it.
//!
//! One lock, held for a copy of bytes and never while another is taken or while anything waits
//! (a cell that has to wait for its reader does so after giving it back). It is taken by whoever
//! prints (the engine's thread, threads of the program) and by whoever settles a cell. What is over its
//! budget goes to an artifact under it, in pieces that end in the page cache; everything else that artifacts
//! cost, and what it takes to make displays fit, comes after it was given back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::displays::{self, Budgets};
use super::ledger::Ledger;
use super::pace::Pace;
use super::{EventSender, Origin, Sink, Stream};
use crate::artifacts::{Artifacts, LARGE_BYTES};
use crate::limits::Limits;
use crate::outcome::{Background, Display, Files, Json, Truncated};

/// How many bytes of displays are kept until an outcome takes them; what is shown beyond is counted.
const HELD_BYTES: usize = 256 << 20;

/// A session's output in process.
#[derive(Debug)]
pub(crate) struct Transcript {
    budgets: Budgets,
    artifacts: Option<Arc<Artifacts>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cell: Pair,
    background: Pair,
    display: Vec<Display>,
    display_bytes: usize,
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
    pub(crate) files: Files,
    /// What became of artifacts, where there was trouble.
    pub(crate) notice: Option<String>,
}

impl Transcript {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::with_artifacts(limits, None)
    }

    /// A transcript that has a place for what is over its budgets.
    pub(crate) fn with_artifacts(limits: &Limits, artifacts: Option<Arc<Artifacts>>) -> Self {
        let ledger = |what| Ledger::new(limits.output_bytes).spilling(artifacts.as_ref(), what);
        let state = State {
            cell: Pair {
                stdout: ledger("stdout"),
                stderr: ledger("stderr"),
            },
            background: Pair {
                stdout: ledger("background-stdout"),
                stderr: ledger("background-stderr"),
            },
            display: Vec::new(),
            display_bytes: 0,
            display_entries: limits.display_entries,
            displays_left_out: 0,
            clears: false,
            events: None,
        };
        Self {
            budgets: Budgets::of(limits),
            artifacts,
            state: Mutex::new(state),
        }
    }

    /// Where the session's artifacts lie, when the host gave a place.
    pub(crate) fn artifacts(&self) -> Option<&Arc<Artifacts>> {
        self.artifacts.as_ref()
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

    /// So many displays have not come here.
    pub(crate) fn leave_out(&self, displays: u64) {
        let mut state = self.lock();
        state.displays_left_out = state.displays_left_out.saturating_add(displays);
    }

    /// A cell has ended with that value: hands over everything since the last outcome.
    pub(crate) fn take(&self, value: Option<&Json>) -> Taken {
        let mut taken = self.take_raw();
        let artifacts = self.artifacts.as_deref();
        if !taken.display.is_empty() {
            taken.display = self.budgets.fit(taken.display, artifacts);
        }
        if let Some(artifacts) = artifacts {
            let keep = |what, extension, text: &str| {
                let is_large = text.len() >= LARGE_BYTES;
                is_large.then(|| artifacts.keep(what, extension, text.as_bytes()))?
            };
            taken.files.value = value.and_then(|value| keep("value", "json", value.as_str()));
            if taken.truncated.stdout.is_none() {
                taken.files.stdout = keep("stdout", "txt", &taken.stdout);
            }
            if taken.truncated.stderr.is_none() {
                taken.files.stderr = keep("stderr", "txt", &taken.stderr);
            }
            taken.notice = artifacts.take_trouble();
        }
        taken
    }

    fn take_raw(&self) -> Taken {
        let mut state = self.lock();
        state.clears = false;
        if let Some(events) = state.events.take() {
            events.finish();
        }
        let (stdout, stdout_cut) = state.cell.stdout.take();
        let (stderr, stderr_cut) = state.cell.stderr.take();
        let (late_stdout, late_stdout_cut) = state.background.stdout.take();
        let (late_stderr, late_stderr_cut) = state.background.stderr.take();
        state.display_bytes = 0;
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
            files: Files::default(),
            notice: None,
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
                state.cell.of(stream).print(bytes);
                state.events.as_mut().and_then(|events| {
                    events.write(stream, bytes);
                    events.pace()
                })
            }
            Origin::Background => {
                state.background.of(stream).print(bytes);
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics half-way through a change that matters: at worst a write is missing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets what the running cell printed and showed.
    fn clear(&mut self) {
        self.clears = false;
        if let Some(events) = &mut self.events {
            events.clear();
        }
        self.cell.stdout.forget();
        self.cell.stderr.forget();
        self.display.clear();
        self.display_bytes = 0;
        self.displays_left_out = 0;
    }

    fn clear_if_due(&mut self) {
        if self.clears {
            self.clear();
        }
    }

    /// Takes an entry of so many bytes, or new content for one.
    fn show(&mut self, entry: Display, bytes: usize) {
        let is_shown =
            |shown: &Display| entry.updates && entry.id.is_some() && shown.id == entry.id;
        let place = self.display.iter().rposition(is_shown);
        let had = place.map_or(0, |place| displays::size_of_entry(&self.display[place]));
        let has_room = self.display_bytes - had + bytes <= HELD_BYTES;
        match place {
            Some(place) if has_room => {
                let updates = self.display[place].updates;
                self.display[place] = Display { updates, ..entry };
            }
            None if has_room && self.display.len() < self.display_entries => {
                self.display.push(entry);
            }
            _ => {
                self.displays_left_out += 1;
                return;
            }
        }
        self.display_bytes = self.display_bytes - had + bytes;
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
        let bytes = displays::size_of_entry(&entry);
        let mut state = self.lock();
        state.clear_if_due();
        if let Some(events) = &mut state.events {
            events.display(&entry);
        }
        state.show(entry, bytes);
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

#[cfg(test)]
mod tests;
