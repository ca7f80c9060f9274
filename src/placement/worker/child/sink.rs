//! [`DescriptorSink`]: where an engine's output goes in a worker.
//!
//! What the running cell prints is written to descriptor 1 or 2 before the call returns, so that prints, C code and child
//! processes stand in order there and nothing is lost with the process. What earlier cells' threads and tasks print goes to
//! the host as a frame, which says that it does. Displays go as frames too, as many as the host takes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
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
    /// What was shown since the cell began, in bytes.
    shown_bytes: AtomicUsize,
    /// How many entries were not sent since then.
    left_out: AtomicU64,
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
            shown_bytes: AtomicUsize::new(0),
            left_out: AtomicU64::new(0),
        })
    }

    /// A cell begins.
    pub(super) fn begin(&self, watched: bool) {
        self.is_watched.store(watched, Ordering::Relaxed);
        self.shown_bytes.store(0, Ordering::Relaxed);
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
        let shown = self.shown_bytes.fetch_add(text.len(), Ordering::Relaxed);
        if shown.saturating_add(text.len()) <= DISPLAY_BYTES {
            self.report(&Report::Display, &text);
        } else {
            self.shown_bytes.fetch_sub(text.len(), Ordering::Relaxed);
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn clear(&self, wait: bool) {
        // Frames go another way than what is printed, and this one stands between what was printed and what will be.
        patiently(|| {
            self.private
                .iter()
                .all(|pipe| sockets::waiting_bytes(pipe.as_fd()) == 0)
        });
        self.report(&Report::Clear { wait }, &[]);
        patiently(|| self.outlet.is_heard());
    }
}

/// Waits for the host, which always reads; one whose own reader is behind is not waited for long.
fn patiently(is_done: impl Fn() -> bool) {
    let until = Instant::now() + HEARING;
    while !is_done() && Instant::now() < until {
        thread::sleep(Duration::from_micros(20));
    }
}
