//! [`DescriptorSink`]: where an engine's output goes in a worker.
//!
//! What the running cell prints is written to descriptor 1 or 2 before the call returns, so that prints, C code and child
//! processes stand in order there and nothing is lost with the process. What earlier cells' threads and tasks print goes to
//! the host as a frame, which says that it does. Displays go as frames too, as many as the host takes.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::messages::{DISPLAY_BYTES, OfStream, Report};
use super::super::sockets;
use super::descriptors;
use super::outlet::Outlet;
use crate::outcome::Display;
use crate::output::{Origin, Sink, Stream};

/// The most that one frame of late output carries.
const LATE_BYTES: usize = 1 << 16;

/// How long the host may take to read what was printed.
const HEARING: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct DescriptorSink {
    /// Copies of the pipes, for when the program has closed 1 or 2.
    private: [OwnedFd; 2],
    outlet: Arc<Outlet>,
    /// Somebody watches the output as it comes.
    is_watched: AtomicBool,
    shown: Mutex<Shown>,
    /// How many entries were not sent since the cell began.
    left_out: AtomicU64,
}

/// What the host holds of what the cell has shown, in bytes.
#[derive(Debug, Default)]
struct Shown {
    bytes: usize,
    /// That of the entries which new content may come for.
    named: HashMap<String, usize>,
}

impl Shown {
    /// Whether an entry of so many bytes is within the limit; it counts then.
    fn admits(&mut self, entry: &Display, bytes: usize) -> bool {
        let replaced = match &entry.id {
            Some(id) if entry.updates => self.named.get(id).copied(),
            _ => None,
        };
        let after = self.bytes - replaced.unwrap_or_default() + bytes;
        let is_admitted = after <= DISPLAY_BYTES;
        if is_admitted {
            self.bytes = after;
            if let Some(id) = &entry.id {
                self.named.insert(id.clone(), bytes);
            }
        }
        is_admitted
    }
}

impl DescriptorSink {
    pub(super) fn new(outlet: Arc<Outlet>) -> io::Result<Self> {
        Ok(Self {
            private: [
                descriptors::private_copy(libc::STDOUT_FILENO)?,
                descriptors::private_copy(libc::STDERR_FILENO)?,
            ],
            outlet,
            is_watched: AtomicBool::new(false),
            shown: Mutex::default(),
            left_out: AtomicU64::new(0),
        })
    }

    /// A cell begins.
    pub(super) fn begin(&self, watched: bool) {
        self.is_watched.store(watched, Ordering::Relaxed);
        *self.shown() = Shown::default();
    }

    /// How many entries were not sent, and what a cell's outcome must say about it.
    pub(super) fn left_out(&self) -> (u64, Option<String>) {
        let number = self.left_out.swap(0, Ordering::Relaxed);
        let what = match number {
            0 => return (0, None),
            1 => "1 display was".to_owned(),
            many => format!("{many} displays were"),
        };
        let mib = DISPLAY_BYTES >> 20;
        let text = format!("{what} left out: what a cell shows may have {mib} MiB in all");
        (number, Some(text))
    }

    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [self.private[0].as_raw_fd(), self.private[1].as_raw_fd()]
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        // Nothing panics under it, and nothing is waited for.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn are_pipes_read(&self) -> bool {
        let mut pipes = self.private.iter();
        pipes.all(|pipe| sockets::waiting_bytes(pipe.as_fd()) == 0)
    }

    fn report(&self, report: &Report, blob: &[u8]) {
        // A host that cannot be reached has this process killed, or is gone.
        let _ = self.outlet.send(report, blob);
    }
}

impl Sink for DescriptorSink {
    fn write(&self, stream: Stream, origin: Origin, bytes: &[u8]) {
        match origin {
            Origin::Cell => {
                let (descriptor, private) = match stream {
                    Stream::Stdout => (libc::STDOUT_FILENO, &self.private[0]),
                    Stream::Stderr => (libc::STDERR_FILENO, &self.private[1]),
                };
                let rest = descriptors::write_all(descriptor, bytes);
                descriptors::write_all(private.as_raw_fd(), rest);
            }
            Origin::Background => {
                for part in bytes.chunks(LATE_BYTES) {
                    let stream = OfStream::from(stream);
                    self.report(&Report::Late { stream }, part);
                }
            }
        }
    }

    fn flush(&self, stream: Stream) {
        if self.is_watched.load(Ordering::Relaxed) {
            let stream = OfStream::from(stream);
            self.report(&Report::Flushed { stream }, &[]);
        }
    }

    fn display(&self, entry: Display) {
        let Ok(text) = serde_json::to_vec(&entry) else {
            return;
        };
        if self.shown().admits(&entry, text.len()) {
            self.report(&Report::Display, &text);
        } else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn clear(&self, wait: bool) {
        *self.shown() = Shown::default();
        if !wait {
            self.left_out.store(0, Ordering::Relaxed);
        }
        // Frames go another way than what is printed, and this one stands between what was printed and what will be. With a
        // frame before it that the host has not dealt with, it would come in one read with that one, and whatever is printed
        // once it is read would be taken as printed before it: 3 of 1,000 cells lost their text.
        let outlet = self.outlet.alone();
        patiently(|| outlet.is_heard() && self.are_pipes_read());
        let _ = outlet.send(&Report::Clear { wait }, &[]);
        patiently(|| outlet.is_heard());
    }
}

/// Waits for the host, which always reads; one whose own reader is behind is not waited for long.
fn patiently(is_done: impl Fn() -> bool) {
    let until = Instant::now() + HEARING;
    while !is_done() && Instant::now() < until {
        thread::sleep(Duration::from_micros(20));
    }
}
