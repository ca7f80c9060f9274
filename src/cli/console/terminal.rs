//! The terminal itself: how large it is, and what it answers when it is asked.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

/// How long an answer may take. Terminals that answer nothing are few, and are asked once.
const PATIENCE: Duration = Duration::from_secs(1);

/// What ends the answers: nearly every terminal says what it is when it is asked like this.
const ATTRIBUTES: &str = "\x1b[c";

/// How large a terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// The pixels of a cell, across and down, when the terminal tells.
    pub(super) cell: Option<(usize, usize)>,
}

impl Size {
    const USUAL: Self = Self {
        columns: 80,
        rows: 24,
        cell: None,
    };

    /// The size of the terminal that a descriptor is.
    pub(super) fn of(terminal: RawFd) -> Self {
        // SAFETY: an all-zero `winsize` is a valid one.
        let mut size: libc::winsize = unsafe { std::mem::zeroed() };
        // SAFETY: `size` is valid for the write.
        let told = unsafe { libc::ioctl(terminal, libc::TIOCGWINSZ, &raw mut size) } == 0;
        if !told || size.ws_col == 0 || size.ws_row == 0 {
            return Self::USUAL;
        }
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        let (across, down) = (usize::from(size.ws_xpixel), usize::from(size.ws_ypixel));
        Self {
            columns,
            rows,
            cell: (across >= columns && down >= rows).then(|| (across / columns, down / rows)),
        }
    }
}

/// What the terminal of this process answers to a question, together with its attributes. None where there is no terminal, and
/// where a person has typed ahead: what they typed would be taken for the answer, and be lost.
pub(super) fn ask(question: &str) -> Option<Answers> {
    let terminal = File::options()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .ok()?;
    let _raw = Raw::enter(&terminal).ok()?;
    if is_readable(&terminal, Duration::ZERO) {
        return None;
    }
    // A terminal that shows the question as text has it on a line that is cleared at once.
    let asked = format!("{question}{ATTRIBUTES}\r\x1b[K");
    (&terminal).write_all(asked.as_bytes()).ok()?;
    let deadline = Instant::now() + PATIENCE;
    let mut answers = Answers::default();
    while !answers.is_whole() {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut bytes = [0; 256];
        if !is_readable(&terminal, left) {
            break;
        }
        match (&terminal).read(&mut bytes) {
            Ok(read @ 1..) => answers.0.extend(&bytes[..read]),
            _ => break,
        }
    }
    Some(answers)
}

/// What a terminal answered.
#[derive(Debug, Default)]
pub(super) struct Answers(Vec<u8>);

impl Answers {
    /// The parts of an answer that begins with one text and ends with another.
    pub(super) fn between(&self, begin: &str, end: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0);
        let (_, rest) = text.split_once(begin)?;
        let (part, _) = rest.split_once(end)?;
        Some(part.to_owned())
    }

    /// Whether the terminal lists this among its attributes.
    pub(super) fn has_attribute(&self, attribute: &str) -> bool {
        let listed = self.between("\x1b[?", "c");
        listed.is_some_and(|listed| listed.split(';').skip(1).any(|one| one == attribute))
    }

    /// The attributes come last.
    fn is_whole(&self) -> bool {
        self.between("\x1b[?", "c").is_some()
    }

    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self(text.into())
    }
}

/// A terminal that hands over each byte as it comes and shows none of them, until this is dropped.
struct Raw<'a> {
    terminal: BorrowedFd<'a>,
    before: libc::termios,
}

impl<'a> Raw<'a> {
    fn enter(terminal: &'a File) -> io::Result<Self> {
        // SAFETY: an all-zero `termios` is a valid one.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: `before` is valid for the write.
        if unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut before) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut raw = before;
        // Ctrl-C stays a signal.
        raw.c_lflag &= !(libc::ICANON | libc::ECHO);
        raw.c_cc[libc::VMIN] = 0;
        raw.c_cc[libc::VTIME] = 0;
        // SAFETY: `raw` is complete.
        if unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const raw) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            terminal: terminal.as_fd(),
            before,
        })
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        // SAFETY: `before` is what the terminal had.
        unsafe {
            libc::tcsetattr(
                self.terminal.as_raw_fd(),
                libc::TCSANOW,
                &raw const self.before,
            );
        }
    }
}

fn is_readable(file: &File, patience: Duration) -> bool {
    let mut poll = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one descriptor is given, valid for the write.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) > 0 }
}
