//! Signals that ask a server to end: they are the end of its input.
//!
//! So a server ends in one way alone, whoever ends it: cells are stopped, sessions closed, and what they started goes with them.
//! The handler writes a byte into a pipe, and nothing else; whoever reads the [`Input`] waits for that pipe, too. A second
//! signal has its default effect. A child that a cell forked inherits the handler, and there it gives way to the default.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// SIGINT is for those who watch their server in a terminal.
const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

static PROCESS: AtomicI32 = AtomicI32::new(0);
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// The protocol's input, which ends at a signal, too.
pub(super) struct Input {
    file: File,
    signal: PipeReader,
}

impl Input {
    /// From here on the signals are ours. To be called once in a process.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let (signal, pipe) = io::pipe()?;
        PIPE.store(pipe.into_raw_fd(), Ordering::Release);
        // SAFETY: `getpid` has no preconditions.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
        for number in SIGNALS {
            listen(number, asked, libc::SA_RESTART | libc::SA_RESETHAND)?;
        }
        Ok(Self { file, signal })
    }

    /// Waits until there is something to read. Says whether that is a signal.
    fn wait(&self) -> io::Result<bool> {
        let of = |descriptor: &dyn AsRawFd| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut waited = [of(&self.file), of(&self.signal)];
        // SAFETY: the array is valid for its length, and both descriptors are open as long as `self` is.
        while unsafe { libc::poll(waited.as_mut_ptr(), 2, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(waited[1].revents != 0)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.wait()? {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

/// Has a handler called at a signal, which calls only what a signal handler may call.
pub(super) fn listen(
    number: libc::c_int,
    handler: extern "C" fn(libc::c_int),
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid one: the default action, an empty mask, no flags.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `before` is valid for the write; no action is given.
    if unsafe { libc::sigaction(number, std::ptr::null(), &raw mut before) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // Whoever started us with the signal ignored (`nohup`, a background job) wants it to stay so.
    if before.sa_sigaction != libc::SIG_DFL {
        return Ok(());
    }
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = flags;
    // SAFETY: `action` is complete, and the handler calls only what a signal handler may call.
    if unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn asked(signal: libc::c_int) {
    // SAFETY: everything called here is async-signal-safe (POSIX lists it), and `errno` is put back for the code that was
    // interrupted.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == PROCESS.load(Ordering::Acquire) {
            libc::write(PIPE.load(Ordering::Acquire), [0u8].as_ptr().cast(), 1);
        } else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}
