//! The process's standard descriptors, kept apart from the code that cells run.
//!
//! A cell in process can write to descriptor 1 behind every language's back (C code, child processes, `os.write`). Where
//! our output is a protocol it moves away first, to a copy that no child inherits.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

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

fn private_copy(descriptor: RawFd) -> io::Result<File> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
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
