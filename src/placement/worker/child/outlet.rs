//! [`Outlet`]: everything that a worker says to its host goes out here, a frame at a time.
//!
//! Frames come from several threads: the lock is held while one is sent, and nothing else is waited for under it but that the
//! host reads (`sink`, for a limited time). The host always reads, so sending ends.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::messages::Report;
use super::super::sockets::{self, ChannelError};

#[derive(Debug)]
pub(super) struct Outlet {
    /// The number of the channel's socket.
    control: AtomicI32,
    sending: Mutex<()>,
}

/// Nobody else sends meanwhile.
pub(super) struct Alone<'a> {
    outlet: &'a Outlet,
    _guard: MutexGuard<'a, ()>,
}

impl Outlet {
    pub(super) fn new(control: RawFd) -> Self {
        Self {
            control: AtomicI32::new(control),
            sending: Mutex::new(()),
        }
    }

    /// Frames go to another socket from here on.
    pub(super) fn connect(&self, control: RawFd) {
        self.control.store(control, Ordering::Relaxed);
    }

    pub(super) fn alone(&self) -> Alone<'_> {
        Alone {
            outlet: self,
            _guard: self.sending.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(super) fn send(&self, report: &Report, blob: &[u8]) -> Result<(), ChannelError> {
        self.alone().send(report, blob)
    }

    pub(super) fn send_with(
        &self,
        report: &Report,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        let alone = self.alone();
        sockets::send(alone.socket(), report, &[], descriptors, None)
    }
}

impl Alone<'_> {
    pub(super) fn send(&self, report: &Report, blob: &[u8]) -> Result<(), ChannelError> {
        sockets::send(self.socket(), report, blob, &[], None)
    }

    /// Whether the host has read everything that was sent.
    pub(super) fn is_heard(&self) -> bool {
        sockets::unread_bytes(self.socket()) == 0
    }

    fn socket(&self) -> RawFd {
        self.outlet.control.load(Ordering::Relaxed)
    }
}
