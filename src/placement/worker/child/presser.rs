//! [`Presser`]: the thread of a worker that stops its cell when the host says so.
//!
//! The host has the clock; its word comes on a socket of its own, which the thread reads while the engine's thread is in the
//! cell, and presses the engine's interrupter until the cell has ended. Should nothing help, the host kills the process.
//!
//! [`State::still`] is held by the thread while it presses, and by the engine's thread while it forks: so at a fork the thread
//! is in none of the interrupter's locks. Nothing else is waited for under it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::messages::Urgent;
use super::super::sockets::{self, Channel, within};
use crate::engine::Interrupter;

/// The longest urgent order.
const FRAME_BYTES: usize = 4096;

/// How often a stop looks whether its cell has begun, should it have come before it.
const AHEAD: Duration = Duration::from_millis(1);

/// The stack of the thread.
const STACK_BYTES: usize = 512 << 10;

pub(super) struct Presser(Arc<State>);

struct State {
    interrupter: Arc<dyn Interrupter>,
    running: AtomicU64,
    ended: AtomicU64,
    socket: AtomicI32,
    still: Mutex<()>,
}

impl Presser {
    /// Starts the thread. Gives the host's end of its socket.
    pub(super) fn new(interrupter: Arc<dyn Interrupter>) -> io::Result<(Self, OwnedFd)> {
        let presser = Self(Arc::new(State {
            interrupter,
            running: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            socket: AtomicI32::new(-1),
            still: Mutex::new(()),
        }));
        let urgent = presser.start_again()?;
        Ok((presser, urgent))
    }

    /// Starts the thread, in a process that is a copy and lacks it.
    pub(super) fn start_again(&self) -> io::Result<OwnedFd> {
        let (there, here) = sockets::pair()?;
        let here = super::descriptors::out_of_reach(here)?;
        self.0.socket.store(here.as_raw_fd(), Ordering::Relaxed);
        let state = self.0.clone();
        thread::Builder::new()
            .name("warmcell-presser".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || state.listen(Channel::new(here, FRAME_BYTES)))?;
        Ok(there)
    }

    /// Does something that can be stopped as `epoch`.
    pub(super) fn during<T>(&self, epoch: u64, action: impl FnOnce() -> T) -> T {
        self.0.running.store(epoch, Ordering::SeqCst);
        let result = action();
        self.0.running.store(0, Ordering::SeqCst);
        self.0.ended.store(epoch, Ordering::SeqCst);
        result
    }

    /// Keeps the thread from pressing for as long as the guard lives.
    pub(super) fn hold_still(&self) -> Still<'_> {
        Still(self.0.hold_still())
    }

    /// The number of the thread's socket.
    pub(super) fn raw(&self) -> RawFd {
        self.0.socket.load(Ordering::Relaxed)
    }
}

pub(super) struct Still<'a>(#[expect(dead_code, reason = "held, not read")] MutexGuard<'a, ()>);

impl State {
    fn listen(&self, mut channel: Channel) {
        // The end of the socket is no order to end: the host has the process killed.
        while let Ok(frame) = channel.wait_for::<Urgent>(None) {
            let Urgent::Stop { epoch } = frame.header;
            self.stop(epoch, &channel);
        }
        // The program may have closed the socket, and its number be another descriptor's by now.
        std::mem::forget(channel);
    }

    fn stop(&self, epoch: u64, channel: &Channel) {
        let since = Instant::now();
        while self.ended.load(Ordering::SeqCst) < epoch {
            let again = if self.running.load(Ordering::SeqCst) == epoch {
                let still = self.hold_still();
                let again = self.interrupter.press(epoch, since.elapsed());
                drop(still);
                again
            } else {
                AHEAD
            };
            // A host that sends another order or goes away ends the pause, not the pressing.
            let _ = sockets::wait([Some(channel.raw())], Some(within(again)));
        }
    }

    fn hold_still(&self) -> MutexGuard<'_, ()> {
        // Nothing panics under this lock.
        self.still.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
