//! The sleeping copy of a worker: how it is forked, and what it must not hold.
//!
//! - It is forked twice, so that it is nobody's child whom the program could wait for: the supervisor, as the reaper of
//!   orphans, adopts it.
//! - It is forked by libc and without CPython's after-fork handlers, so that the program's random numbers go on as they would have.
//! - It holds no end of the program's pipes and sockets: each is replaced by a dead end, so that whoever reads the other end
//!   sees its end when the program closes it, and a restored program finds it closed.
//! - It stands in the program's files where the copied process did, which it would go on sharing with that one otherwise.
//! - Its own signals are those of another session and group.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::super::sockets;
use super::leave;

/// What a fork has come to, in each of the processes.
pub(super) enum Forked {
    /// This is the process that was copied; the host's end of the copy's socket.
    Original(OwnedFd),
    /// This is the copy.
    Copy(OwnedFd),
    /// There is no copy, and why.
    Failed(io::Error),
}

/// Forks the calling thread. The copy's number is for it to tell.
pub(super) fn fork() -> Forked {
    let pair = sockets::pair().and_then(|(host_end, own_end)| {
        super::descriptors::out_of_reach(own_end).map(|own_end| (host_end, own_end))
    });
    let (host_end, own_end) = match pair {
        Ok(pair) => pair,
        Err(error) => return Forked::Failed(error),
    };
    // SAFETY: the caller has seen to it that no other thread holds a lock that the copy needs; the process in between
    // does nothing but fork and end.
    let between = unsafe { libc::fork() };
    match between {
        0 => {
            // SAFETY: as above.
            match unsafe { libc::fork() } {
                0 => {
                    drop(host_end);
                    // SAFETY: a session of its own, away from the signals of the program's group.
                    unsafe { libc::setsid() };
                    Forked::Copy(own_end)
                }
                // SAFETY: the process in between ends; a fork that failed is told by the status.
                copy => leave(i32::from(copy < 0)),
            }
        }
        between if between < 0 => Forked::Failed(io::Error::last_os_error()),
        between => {
            let mut status = 0;
            // SAFETY: waits for the process in between, which ends at once.
            while unsafe { libc::waitpid(between, &raw mut status, 0) } < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            if status == 0 {
                Forked::Original(host_end)
            } else {
                Forked::Failed(io::Error::from_raw_os_error(libc::EAGAIN))
            }
        }
    }
}

/// Where the program stands in its files: a copy shares that with the process it was copied from, and puts it back.
pub(super) struct Offsets(Vec<(RawFd, libc::off_t)>);

impl Offsets {
    pub(super) fn note() -> Self {
        let seekable = |descriptor: RawFd| {
            // SAFETY: asks where the descriptor stands.
            let offset = unsafe { libc::lseek(descriptor, 0, libc::SEEK_CUR) };
            (offset >= 0).then_some((descriptor, offset))
        };
        Self(
            open_descriptors()
                .into_iter()
                .filter_map(seekable)
                .collect(),
        )
    }

    pub(super) fn put_back(&self) {
        for (descriptor, offset) in &self.0 {
            // SAFETY: moves the descriptor to where it stood. What is not there any more stays so.
            unsafe { libc::lseek(*descriptor, *offset, libc::SEEK_SET) };
        }
    }
}

/// Those of this process that a program may use, and the one they are listed with.
fn open_descriptors() -> Vec<RawFd> {
    fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > libc::STDERR_FILENO)
        .collect()
}

/// Replaces every pipe and socket by a dead end, except those of the runtime in `keep`, and closes `own`.
pub(super) fn replace_what_is_the_programs(keep: &[RawFd], own: &[RawFd]) {
    let dead = sockets::pair().map(|(dead, _)| dead);
    for descriptor in open_descriptors() {
        if keep.contains(&descriptor) {
            continue;
        }
        if own.contains(&descriptor) {
            // SAFETY: a descriptor of the process that was copied, which nothing in this one uses.
            unsafe { libc::close(descriptor) };
            continue;
        }
        let Ok(dead) = &dead else { leave(1) };
        if descriptor == dead.as_raw_fd() || !is_pipe_or_socket(descriptor) {
            continue;
        }
        // SAFETY: the program's descriptor becomes another file; it keeps its number and its flag.
        unsafe {
            let flags = libc::fcntl(descriptor, libc::F_GETFD);
            let close_on_exec = if flags & libc::FD_CLOEXEC != 0 {
                libc::O_CLOEXEC
            } else {
                0
            };
            libc::dup3(dead.as_raw_fd(), descriptor, close_on_exec);
        }
    }
}

fn is_pipe_or_socket(descriptor: RawFd) -> bool {
    fs::read_link(format!("/proc/self/fd/{descriptor}")).is_ok_and(|target| {
        let target = target.as_os_str().as_encoded_bytes();
        target.starts_with(b"pipe:") || target.starts_with(b"socket:")
    })
}
