//! [`Presser`]: the thread of a worker that stops its cell when the host says so.
//!
//! Answers to calls of host functions come the same way, and are handed to the [`Switchboard`].
//!
//! The host has the clock; its word comes on a socket of its own, which the thread reads while the engine's thread is in the
//! cell, and presses the engine's interrupter until the cell has ended. Should nothing help, the host kills the process.
//!
//! [`State::still`] is held by the thread while it presses or hands an answer over, and by the engine's thread while it forks: so at a fork the thread
//! is in none of the locks of either. Nothing else is waited for under it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::messages::Urgent;
use super::super::sockets::{self, Channel, ChannelError, within};
use super::switchboard::Switchboard;
use crate::capability::CapabilityError;
use crate::engine::Interrupter;
use crate::outcome::Json;

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
    switchboard: OnceLock<Arc<Switchboard>>,
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
            switchboard: OnceLock::new(),
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
            .spawn(move || state.listen(Channel::new(here, super::ORDER_BYTES)))?;
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

    /// Answers to calls go there.
    pub(super) fn connect(&self, switchboard: Arc<Switchboard>) {
        let _ = self.0.switchboard.set(switchboard);
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
            match frame.header {
                Urgent::Stop { epoch } => self.stop(epoch, &mut channel),
                Urgent::Answer { call, error } => self.answer(call, error, frame.blob),
            }
        }
        // The program may have closed the socket, and its number be another descriptor's by now.
        std::mem::forget(channel);
    }

    fn stop(&self, mut epoch: u64, channel: &mut Channel) {
        let mut since = Instant::now();
        while self.ended.load(Ordering::SeqCst) < epoch {
            let again = if self.running.load(Ordering::SeqCst) == epoch {
                let still = self.hold_still();
                let again = self.interrupter.press(epoch, since.elapsed());
                drop(still);
                again
            } else {
                AHEAD
            };
            match channel.wait_for::<Urgent>(Some(within(again))) {
                Ok(frame) => match frame.header {
                    Urgent::Answer { call, error } => self.answer(call, error, frame.blob),
                    // The cell has ended while this waited to press again, and the next one is to stop already.
                    Urgent::Stop { epoch: next } if next != epoch => {
                        (epoch, since) = (next, Instant::now());
                    }
                    Urgent::Stop { .. } => {}
                },
                Err(ChannelError::TooLate) => {}
                // A host that goes away ends no pressing.
                Err(_) => thread::sleep(again),
            }
        }
    }

    fn answer(&self, call: u64, error: Option<CapabilityError>, value: Vec<u8>) {
        let answer = match error {
            Some(error) => Err(error),
            None => String::from_utf8(value)
                .ok()
                .and_then(|text| Json::new(text).ok())
                .ok_or_else(|| CapabilityError::tool("the host answered what is no JSON")),
        };
        if let Some(switchboard) = self.switchboard.get() {
            let still = self.hold_still();
            switchboard.answer(call, answer);
            drop(still);
        }
    }

    fn hold_still(&self) -> MutexGuard<'_, ()> {
        // Nothing panics under this lock.
        self.still.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
