//! The process's standard descriptors, kept apart from the code that cells run.
//!
//! A cell in process can write to descriptor 1 behind every language's back (C code, child processes, `os.write`). Where
//! our output is a protocol it moves away first, to a copy that no child inherits.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// Moves standard input to a private descriptor and leaves an empty one in its place.
pub(super) fn take_stdin() -> io::Result<File> {
    let private = private_copy(libc::STDIN_FILENO)?;
    let nothing = File::open("/dev/null")?;
    replace(nothing.as_raw_fd(), libc::STDIN_FILENO)?;
    Ok(private)
}

/// Moves standard output to a private descriptor; what is written to 1 from here on goes to standard error.
pub(super) fn take_stdout() -> io::Result<File> {
    let private = private_copy(libc::STDOUT_FILENO)?;
    replace(libc::STDERR_FILENO, libc::STDOUT_FILENO)?;
    Ok(private)
}

/// The private copies, which a child that a cell forked must not hold: whoever reads the protocol would not see it end
/// before that child does.
static PRIVATE: [AtomicI32; 2] = [const { AtomicI32::new(-1) }; 2];

/// Runs in a forked child, where only what may be called in a signal handler may be.
extern "C" fn close_in_child() {
    for private in &PRIVATE {
        let descriptor = private.swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            // SAFETY: closes a descriptor of the child's own table; the child has no object of ours that uses it.
            unsafe { libc::close(descriptor) };
        }
    }
}

fn private_copy(descriptor: RawFd) -> io::Result<File> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    PRIVATE[usize::from(descriptor == libc::STDOUT_FILENO)].store(copy, Ordering::Relaxed);
    static REGISTERED: Once = Once::new();
    // SAFETY: the handler lives as long as the process, and calls only what a forked child may call.
    REGISTERED.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(close_in_child));
    });
    // SAFETY: `copy` was just made, is open, and nobody else knows it.
    Ok(unsafe { File::from_raw_fd(copy) })
}

fn replace(source: RawFd, target: RawFd) -> io::Result<()> {
    // SAFETY: both are numbers of standard descriptors or of a file the caller holds open; no object of ours owns `target`.
    if unsafe { libc::dup2(source, target) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
