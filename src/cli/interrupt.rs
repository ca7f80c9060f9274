//! Ctrl-C: it stops the cell that runs, so that the cell can clean up, and only then ends the process. Where something is to be
//! written in the end, other requests to end the process are heeded in the same way.
//!
//! The handler does what a handler may: it writes a byte into a pipe. A thread of ours reads the pipe and acts, so that
//! nothing is locked or allocated inside a signal. A child that a cell forked inherits the handler; there it gives way to
//! the default at once, as the child has none of our threads.

use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use warmcell::Session;

use super::signals;

static PROCESS: AtomicI32 = AtomicI32::new(0);
static PIPE: AtomicI32 = AtomicI32::new(-1);
/// The signal that came last, and 0 before any.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// When Ctrl-C ends the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Where there is no cell to stop, and when it is pressed again while one is being stopped.
    Eventually,
    /// Never: a person who pressed it too late wants the session all the same.
    Never,
}

/// The session whose cells Ctrl-C stops. Its lock is held to store or copy the handle, never while anything waits.
#[derive(Clone, Default)]
pub(super) struct Interrupts(Arc<Mutex<Option<Session>>>);

impl Interrupts {
    /// From here on Ctrl-C is ours. To be called once in a process.
    pub(super) fn listen(leave: Leave) -> io::Result<Self> {
        let interrupts = Self::default();
        let (mut presses, pipe) = io::pipe()?;
        PIPE.store(pipe.into_raw_fd(), Ordering::Release);
        // SAFETY: `getpid` has no preconditions.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
        let shared = interrupts.clone();
        thread::Builder::new()
            .name("warmcell-ctrl-c".to_owned())
            .spawn(move || {
                let mut is_first = true;
                while presses.read_exact(&mut [0]).is_ok() {
                    let has_stopped = shared.stop();
                    if leave == Leave::Eventually && !(is_first && has_stopped) {
                        crate::leave(status());
                    }
                    is_first = false;
                }
            })?;
        signals::listen(libc::SIGINT, pressed, libc::SA_RESTART)?;
        Ok(interrupts)
    }

    /// From here on a request to end the process is what Ctrl-C is.
    pub(super) fn heed_endings(&self) -> io::Result<()> {
        for number in [libc::SIGTERM, libc::SIGHUP] {
            signals::listen(number, pressed, libc::SA_RESTART)?;
        }
        Ok(())
    }

    /// It is the cells of `session` that run from here on.
    pub(super) fn aim(&self, session: &Session) {
        *self.lock() = Some(session.clone());
    }

    fn stop(&self) -> bool {
        let session = self.lock().clone();
        session.is_some_and(|session| session.interrupt())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        // Nothing panics under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether Ctrl-C was pressed. A cell that waits for a child may end by itself, because the child got the signal first.
pub(super) fn was_pressed() -> bool {
    SIGNAL.load(Ordering::Acquire) != 0
}

/// What a process ends with that such a signal has ended, as a shell tells it.
pub(super) fn status() -> u8 {
    let signal = match SIGNAL.load(Ordering::Acquire) {
        0 => libc::SIGINT,
        signal => signal,
    };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

extern "C" fn pressed(signal: libc::c_int) {
    // SAFETY: everything called here is async-signal-safe (POSIX lists it), and `errno` is put back for the code that was
    // interrupted.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == PROCESS.load(Ordering::Acquire) {
            SIGNAL.store(signal, Ordering::Release);
            // A full pipe holds presses enough already.
            libc::write(PIPE.load(Ordering::Acquire), [0u8].as_ptr().cast(), 1);
        } else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}
