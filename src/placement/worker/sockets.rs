//! Descriptors: pairs of sockets, pipes, waiting for them, and [`Channel`], which sends and receives frames and the
//! descriptors that come with them. Everything here is close-on-exec, and no call raises SIGPIPE.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frames::{self, Frame, FrameError, Inbox};

/// How many descriptors one message brings at most.
const MOST_DESCRIPTORS: usize = 4;

/// How many may wait to be taken: more were never asked for.
const MOST_WAITING: usize = 16;

/// The room for the descriptors of a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Two sockets that are connected to each other.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: fills in the array.
    let result = unsafe {
        libc::socketpair(
            libc::AF_UNIX,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            0,
            ends.as_mut_ptr(),
        )
    };
    checked(result)?;
    Ok(owned(ends))
}

/// A pipe whose reading end, the first one, never blocks.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: fills in the array.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let (read, write) = owned(ends);
    // SAFETY: sets a flag of a descriptor that is open.
    checked(unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok((read, write))
}

fn owned([one, other]: [RawFd; 2]) -> (OwnedFd, OwnedFd) {
    // SAFETY: the kernel has just opened both for the caller.
    unsafe { (OwnedFd::from_raw_fd(one), OwnedFd::from_raw_fd(other)) }
}

pub(super) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A descriptor that can be read once the process has ended; none on kernels that lack it.
pub(super) fn process_end(process: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: opens a descriptor, which is ours alone, and is closed by an exec.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, process, 0);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor as RawFd))
    }
}

/// Waits until one of the descriptors can be read or has hung up, until `until` at most. Says which.
pub(super) fn wait<const N: usize>(
    descriptors: [Option<RawFd>; N],
    until: Option<Instant>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|descriptor| libc::pollfd {
        // A negative one is passed over.
        fd: descriptor.unwrap_or(-1),
        events: libc::POLLIN,
        revents: 0,
    });
    poll(&mut polled, until)?;
    Ok(polled.map(|polled| polled.revents != 0))
}

/// As `poll(2)`, until an instant; an interrupted call is as one in which nothing happened.
pub(super) fn poll(polled: &mut [libc::pollfd], until: Option<Instant>) -> io::Result<()> {
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and the time live for the call.
    let result = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            polled.len() as libc::nfds_t,
            timeout,
            std::ptr::null(),
        )
    };
    match checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Err(_) => {
            for polled in polled {
                polled.revents = 0;
            }
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// How many bytes wait in a pipe.
pub(super) fn waiting_bytes(pipe: BorrowedFd<'_>) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: writes the number.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    usize::try_from(bytes).unwrap_or(0)
}

/// What was sent and the other end has not read; in the kernel's own measure, which is 0 for nothing.
pub(super) fn unread_bytes(socket: RawFd) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: writes the number.
    unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut bytes) };
    usize::try_from(bytes).unwrap_or(0)
}

/// Reads what is there; 0 is the end, and `WouldBlock` says that nothing is there.
pub(super) fn read(descriptor: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is as long as is said.
    let read = unsafe {
        libc::read(
            descriptor.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Why a channel gives nothing more.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    /// The other side has closed it.
    #[error("the connection was closed")]
    Closed,
    /// What came is no frame.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// More descriptors came than any message brings.
    #[error("descriptors that nobody asked for")]
    Descriptors,
    /// It did not come, or could not be sent, in time.
    #[error("the connection did not move in time")]
    TooLate,
    /// The system refused.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A socket on which frames come and go.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
    inbox: Inbox,
    descriptors: VecDeque<OwnedFd>,
}

impl Channel {
    /// Takes frames of at most `cap` bytes.
    pub(super) fn new(socket: OwnedFd, cap: usize) -> Self {
        Self {
            socket,
            inbox: Inbox::new(cap),
            descriptors: VecDeque::new(),
        }
    }

    pub(super) fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// How long a frame may be.
    pub(super) fn cap(&self) -> usize {
        self.inbox.cap
    }

    /// Takes frames of at most `cap` bytes from here on.
    pub(super) fn set_cap(&mut self, cap: usize) {
        self.inbox.cap = cap;
    }

    /// The next frame of those that have come.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Frame<T>>, ChannelError> {
        Ok(self.inbox.next()?)
    }

    /// A descriptor that came with a frame.
    pub(super) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    /// Takes in what has come, without waiting. Says whether anything had.
    pub(super) fn take_in(&mut self) -> Result<bool, ChannelError> {
        match self.receive(libc::MSG_DONTWAIT) {
            Err(ChannelError::System(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(false)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(true),
        }
    }

    /// Waits for the next frame, until `until` at most.
    pub(super) fn wait_for<T: DeserializeOwned>(
        &mut self,
        until: Option<Instant>,
    ) -> Result<Frame<T>, ChannelError> {
        loop {
            if let Some(frame) = self.next()? {
                return Ok(frame);
            }
            match until {
                None => match self.receive(0) {
                    // The program may have made the socket one that does not wait.
                    Err(ChannelError::System(error))
                        if error.kind() == io::ErrorKind::WouldBlock =>
                    {
                        wait([Some(self.raw())], None)?;
                    }
                    received => received?,
                },
                Some(until) => {
                    if !wait([Some(self.raw())], Some(until))?[0] && Instant::now() >= until {
                        return Err(ChannelError::TooLate);
                    }
                    self.take_in()?;
                }
            }
        }
    }

    fn receive(&mut self, flags: c_int) -> Result<(), ChannelError> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 1 << 16];
        let mut control = Control([0; 64]);
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: all zeros is a message header without anything.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len();
        let received = loop {
            // SAFETY: the message points to buffers that live for the call.
            let received = unsafe {
                libc::recvmsg(
                    self.socket.as_raw_fd(),
                    &raw mut message,
                    flags | libc::MSG_CMSG_CLOEXEC,
                )
            };
            match usize::try_from(received) {
                Ok(received) => break received,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    match error.kind() {
                        io::ErrorKind::Interrupted => {}
                        io::ErrorKind::ConnectionReset => return Err(ChannelError::Closed),
                        _ => return Err(error.into()),
                    }
                }
            }
        };
        self.take_descriptors(&message)?;
        if received == 0 {
            return Err(ChannelError::Closed);
        }
        // SAFETY: the kernel has filled in so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), received) };
        self.inbox.push(bytes);
        Ok(())
    }

    fn take_descriptors(&mut self, message: &libc::msghdr) -> Result<(), ChannelError> {
        // SAFETY: walks the headers that the kernel has written into the buffer, which is alive.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(message);
            while !header.is_null() {
                if (*header).cmsg_level == libc::SOL_SOCKET
                    && (*header).cmsg_type == libc::SCM_RIGHTS
                {
                    let bytes = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
                    let data = libc::CMSG_DATA(header).cast::<RawFd>();
                    for index in 0..bytes / size_of::<RawFd>() {
                        let descriptor = data.add(index).read_unaligned();
                        self.descriptors.push_back(OwnedFd::from_raw_fd(descriptor));
                    }
                }
                header = libc::CMSG_NXTHDR(message, header);
            }
        }
        if self.descriptors.len() > MOST_WAITING || message.msg_flags & libc::MSG_CTRUNC != 0 {
            return Err(ChannelError::Descriptors);
        }
        Ok(())
    }

    /// Sends a frame, waiting until the other side has room for it.
    pub(super) fn send(&self, header: &impl Serialize, blob: &[u8]) -> Result<(), ChannelError> {
        send(self.raw(), header, blob, &[], None)
    }

    /// Sends a frame with descriptors.
    pub(super) fn send_with(
        &self,
        header: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        send(self.raw(), header, &[], descriptors, None)
    }

    /// Sends a frame to somebody who may never read it.
    pub(super) fn send_until(
        &self,
        header: &impl Serialize,
        blob: &[u8],
        until: Instant,
    ) -> Result<(), ChannelError> {
        send(self.raw(), header, blob, &[], Some(until))
    }
}

/// Sends a frame on a socket that somebody else owns.
pub(super) fn send(
    socket: RawFd,
    header: &impl Serialize,
    blob: &[u8],
    descriptors: &[BorrowedFd<'_>],
    until: Option<Instant>,
) -> Result<(), ChannelError> {
    let frame = frames::encode(header, blob)?;
    let flags = if until.is_some() {
        libc::MSG_DONTWAIT
    } else {
        0
    };
    let mut rest = &frame[..];
    let mut descriptors = descriptors;
    while !rest.is_empty() {
        match send_part(socket, rest, descriptors, flags) {
            Ok(sent) => {
                rest = &rest[sent..];
                descriptors = &[];
            }
            Err(error) => match (error.kind(), until) {
                (io::ErrorKind::Interrupted, _) => {}
                // Also without a limit: the program may have made the socket one that does not wait.
                (io::ErrorKind::WouldBlock, until) => {
                    let mut polled = [libc::pollfd {
                        fd: socket,
                        events: libc::POLLOUT,
                        revents: 0,
                    }];
                    poll(&mut polled, until)?;
                    if until.is_some_and(|until| Instant::now() >= until) {
                        return Err(ChannelError::TooLate);
                    }
                }
                (io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset, _) => {
                    return Err(ChannelError::Closed);
                }
                _ => return Err(error.into()),
            },
        }
    }
    Ok(())
}

fn send_part(
    socket: RawFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: c_int,
) -> io::Result<usize> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeros is a message header without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    let count = descriptors.len().min(MOST_DESCRIPTORS);
    if count > 0 {
        let size = count * size_of::<RawFd>();
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: the buffer has room for the header and four descriptors; the header is inside it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size as u32) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size as u32) as usize;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            for (index, descriptor) in descriptors.iter().take(count).enumerate() {
                data.add(index).write_unaligned(descriptor.as_raw_fd());
            }
        }
    }
    // SAFETY: the message points to buffers that live for the call.
    let sent = unsafe { libc::sendmsg(socket, &raw const message, flags | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Wakes a thread that waits in [`wait`].
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: opens a descriptor, which is ours alone.
        unsafe {
            let descriptor = checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
            Ok(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    pub(super) fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: writes eight bytes. A counter that is full rings all the same.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Silences it.
    pub(super) fn hear(&self) {
        let mut count = [0; 8];
        // SAFETY: reads eight bytes, or nothing.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// So long from now.
pub(super) fn within(duration: Duration) -> Instant {
    Instant::now() + duration
}
