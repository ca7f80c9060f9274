//! The descriptors and limits of a worker process.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::super::sockets::checked;

/// Moves a descriptor to a number that a program which closes or opens small ones does not meet.
pub(super) fn out_of_reach(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    private_copy(descriptor.as_raw_fd())
}

/// A copy of a descriptor, close-on-exec, with a high number.
pub(super) fn private_copy(descriptor: RawFd) -> io::Result<OwnedFd> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: fills in the struct; all zeros is a limit.
    let limit = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        limit.assume_init().rlim_cur
    };
    let least = limit.clamp(64, 1 << 16) - 32;
    // SAFETY: opens a descriptor, which is ours alone.
    unsafe {
        let copy = checked(libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, least as i32))?;
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// Takes the socket out of descriptor 0, where there is nothing to read from here on.
pub(in super::super) fn take_socket() -> io::Result<OwnedFd> {
    // SAFETY: all zeros is a status, which the call fills in.
    let status = unsafe {
        let mut status = MaybeUninit::<libc::stat>::zeroed().assume_init();
        checked(libc::fstat(libc::STDIN_FILENO, &raw mut status))?;
        status
    };
    if status.st_mode & libc::S_IFMT != libc::S_IFSOCK {
        return Err(io::Error::other("standard input is no socket of a host"));
    }
    let socket = private_copy(libc::STDIN_FILENO)?;
    let nothing = fs::File::open("/dev/null")?;
    // SAFETY: nothing of ours owns descriptor 0 any more.
    checked(unsafe { libc::dup2(nothing.as_raw_fd(), libc::STDIN_FILENO) })?;
    Ok(socket)
}

/// Writes as much as the descriptor takes. Returns what it did not.
pub(super) fn write_all(descriptor: RawFd, mut bytes: &[u8]) -> &[u8] {
    while !bytes.is_empty() {
        // SAFETY: writes bytes that are there.
        let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => {}
                // A program may have made the pipe non-blocking, for all that hold it.
                io::ErrorKind::WouldBlock => wait_for_room(descriptor),
                _ => break,
            },
        }
    }
    bytes
}

fn wait_for_room(descriptor: RawFd) {
    let mut polled = libc::pollfd {
        fd: descriptor,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: the struct lives for the call.
    unsafe { libc::poll(&raw mut polled, 1, 100) };
}

/// What data may grow by beyond a session's budget: the interpreter's own reserve, threads' stacks, the runtime's buffers.
const DATA_RESERVE_MB: u64 = 128;

/// Lets the process's data grow by `memory_mb`, and a reserve, beyond what it has now: what C libraries allocate fails then,
/// and the program sees a `MemoryError`.
pub(super) fn limit_data(memory_mb: u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let data_kb: Option<u64> = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:"))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .and_then(|value| value.parse().ok());
    let Some(data_kb) = data_kb else { return };
    let most = (data_kb << 10).saturating_add((memory_mb + DATA_RESERVE_MB) << 20);
    set_limit(libc::RLIMIT_DATA, most, IsFinal::No);
}

/// Holds this process and its children to a number of open files and a size of files, for good. What writes too large a file is
/// told so, not killed.
pub(super) fn limit_files(open: Option<u64>, mebibytes: Option<u64>) {
    if let Some(open) = open {
        set_limit(libc::RLIMIT_NOFILE, open, IsFinal::Yes);
    }
    if let Some(mebibytes) = mebibytes {
        // SAFETY: sets a disposition of this process.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        set_limit(libc::RLIMIT_FSIZE, mebibytes << 20, IsFinal::Yes);
    }
}

/// Whether a program may raise the limit again.
#[derive(PartialEq, Eq)]
enum IsFinal {
    Yes,
    No,
}

/// Sets a limit; where the hard one is lower already, it stays.
fn set_limit(resource: libc::__rlimit_resource_t, value: u64, is_final: IsFinal) {
    // SAFETY: all zeros is a limit; reads and sets one of this process.
    unsafe {
        let mut limit = MaybeUninit::<libc::rlimit>::zeroed().assume_init();
        libc::getrlimit(resource, &raw mut limit);
        limit.rlim_cur = value.min(limit.rlim_max);
        if is_final == IsFinal::Yes {
            limit.rlim_max = limit.rlim_cur;
        }
        libc::setrlimit(resource, &raw const limit);
    }
}
