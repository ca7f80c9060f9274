//! [`Running`]: a cell on its way, apart from the call that started it.
//!
//! A task drives it to its outcome, whoever waits meanwhile. The outcome is handed over once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use warmcell::{Canceller, Cell, Event, Language, Lease, Outcome, RuntimeError, Stream};

/// How many events may wait for the task that gathers them.
const WAITING_EVENTS: usize = 256;

/// How much of each stream of a running cell is kept to be shown: its end.
const KEPT_BYTES: usize = 4096;

/// How much of its last line a progress notification shows, in characters.
const LINE: usize = 200;

/// A cell on its way, or one whose outcome nobody has taken yet.
pub(super) struct Running {
    pub(super) session: String,
    pub(super) language: Language,
    started: Instant,
    canceller: Canceller,
    /// Whether its call has been answered, or is not there to be answered any more.
    is_left: AtomicBool,
    /// Whether somebody asked for its end, which comes soon then.
    is_stopped: AtomicBool,
    live: Mutex<Live>,
    outcome: Mutex<Option<Outcome>>,
    /// Closed when the cell has ended.
    ended: watch::Receiver<()>,
}

/// What a running cell has printed.
#[derive(Default)]
struct Live {
    stdout: Tail,
    stderr: Tail,
}

#[derive(Default)]
struct Tail {
    text: String,
    bytes: u64,
}

impl Running {
    /// Gives the cell to the session, which stays leased until the cell has ended.
    pub(super) fn start(lease: Lease, cell: Cell) -> Result<Arc<Self>, RuntimeError> {
        let (cell, mut events) = cell.with_events(WAITING_EVENTS);
        let execution = lease.session().run(cell)?;
        let (end, ended) = watch::channel(());
        let running = Arc::new(Self {
            session: lease.name().to_owned(),
            language: lease.language(),
            started: Instant::now(),
            canceller: execution.canceller(),
            is_left: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            live: Mutex::default(),
            outcome: Mutex::new(None),
            ended,
        });
        let shared = running.clone();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                lock(&shared.live).take_in(event);
            }
            let mut outcome = execution.await;
            lease.note(&outcome);
            let mut notices = lease.notices().to_vec();
            notices.extend(outcome.notice.take());
            if !notices.is_empty() {
                outcome.notice = Some(notices.join("\nnotice: "));
            }
            // The session is free before anybody learns that the cell has ended.
            drop(lease);
            *lock(&shared.outcome) = Some(outcome);
            drop(end);
        });
        Ok(running)
    }

    /// Waits until the cell has ended.
    pub(super) async fn ended(&self) {
        // Nothing is ever sent: the channel closes.
        while self.ended.clone().changed().await.is_ok() {}
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.has_changed().is_err()
    }

    /// The outcome, for the first one who asks after the end.
    pub(super) fn take(&self) -> Option<Outcome> {
        lock(&self.outcome).take()
    }

    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.canceller.cancel();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Its call goes without its outcome, which is for whoever asks next.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    pub(super) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    pub(super) fn time(&self) -> Duration {
        self.started.elapsed()
    }

    /// The last line that it printed.
    pub(super) fn last_line(&self) -> Option<String> {
        let live = lock(&self.live);
        let line = live.stdout.text.lines().next_back()?;
        Some(
            line.chars()
                .filter(|character| !character.is_control())
                .take(LINE)
                .collect(),
        )
    }

    /// What it has printed, by its end.
    pub(super) fn so_far(&self) -> String {
        let live = lock(&self.live);
        let mut text = String::new();
        for (name, tail) in [("stdout", &live.stdout), ("stderr", &live.stderr)] {
            if tail.bytes == 0 {
                continue;
            }
            let shown = tail.text.len() as u64;
            text.push_str(&match tail.bytes.saturating_sub(shown) {
                0 => format!("{name} so far ({} bytes):\n", tail.bytes),
                left_out => format!(
                    "{name} so far ({} bytes; the first {left_out} bytes are left out here):\n",
                    tail.bytes
                ),
            });
            text.push_str(&tail.text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }
}

impl Live {
    fn take_in(&mut self, event: Event) {
        match event {
            Event::Output { stream, text } => {
                let tail = match stream {
                    Stream::Stdout => &mut self.stdout,
                    Stream::Stderr => &mut self.stderr,
                };
                tail.push(&text);
            }
            // They stand in the outcome; which stream they were on is not told.
            Event::Gap { bytes, .. } => self.stdout.bytes += bytes,
            Event::Clear => (self.stdout, self.stderr) = Default::default(),
            _ => {}
        }
    }
}

impl Tail {
    fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.text.push_str(text);
        if self.text.len() > 2 * KEPT_BYTES {
            let from = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES);
            self.text.drain(..from);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
