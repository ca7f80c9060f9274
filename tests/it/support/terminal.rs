//! A terminal for commands that look for one, and [`Talk`], which types into it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use super::PATIENCE;

/// What begins a sequence that is not text.
const ESCAPE: u8 = 0x1b;

/// What a program may ask a terminal, and what that answers.
pub(crate) type Answers = &'static [(&'static str, &'static str)];

/// Where the cursor stands, which every terminal tells.
const CURSOR: Answers = &[("\x1b[6n", "\x1b[1;1R")];

/// A terminal: its far side, and the side that a command is given.
pub(crate) fn terminal() -> (File, OwnedFd) {
    let (mut far, mut near) = (0, 0);
    let none: *mut libc::c_char = std::ptr::null_mut();
    // SAFETY: both descriptors are written on success, which is asserted; name, settings and size may be null.
    let made =
        unsafe { libc::openpty(&raw mut far, &raw mut near, none, none.cast(), none.cast()) };
    assert_eq!(made, 0);
    // SAFETY: both were just made and belong to nobody else.
    unsafe { (File::from_raw_fd(far), OwnedFd::from_raw_fd(near)) }
}

/// A command at a terminal of its own, and a person who types.
pub(crate) struct Talk {
    child: Child,
    keyboard: File,
    screen: Receiver<u8>,
    commands: Receiver<String>,
    seen: Vec<u8>,
}

impl Talk {
    /// Starts the command as the session leader of a fresh terminal, so that Ctrl-C reaches it as a signal.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_at(command, &[])
    }

    /// Starts it at a terminal that answers these questions as well.
    pub(crate) fn start_at(mut command: Command, answers: Answers) -> Self {
        let (far, near) = terminal();
        let copy = || near.try_clone().expect("a copy");
        command
            .env("TERM", "xterm")
            .stdin(copy())
            .stdout(copy())
            .stderr(copy());
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the command starts");
        drop((command, near));
        let keyboard = far.try_clone().expect("a copy");
        let (screen, commands) = show(far, answers);
        Self {
            child,
            screen,
            commands,
            keyboard,
            seen: Vec::new(),
        }
    }

    /// The next sequence that is no text, as it was sent, which contains this.
    #[track_caller]
    pub(crate) fn command(&mut self, part: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.commands.recv_timeout(left) {
                Ok(command) if command.contains(part) => return command,
                Ok(_) => {}
                Err(_) => panic!("no sequence with {part:?} comes: {:?}", self.seen()),
            }
        }
    }

    /// What was shown so far.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Types.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Types a line behind a prompt, and waits until it is taken.
    #[track_caller]
    pub(crate) fn enter(&mut self, prompt: &str, line: &str) {
        self.until(prompt);
        self.press(&format!("{line}\r"));
        self.until(&format!("{line}\r\n"));
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen.ends_with(text.as_bytes()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(byte) => self.seen.push(byte),
                Err(_) => panic!("{text:?} does not come: {:?}", self.seen()),
            }
        }
    }

    /// Waits for the end of the command, and tells its status.
    pub(crate) fn finish(mut self) -> i32 {
        while self.screen.recv_timeout(PATIENCE).is_ok() {}
        let status = self.child.wait().expect("a child");
        status.code().unwrap_or(-1)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads what a terminal shows, and answers what it is asked. What moves the cursor, sets colours or draws is told apart.
fn show(mut far: File, answers: Answers) -> (Receiver<u8>, Receiver<String>) {
    let (sender, screen) = mpsc::channel();
    let (commander, commands) = mpsc::channel();
    thread::spawn(move || {
        let mut sequence = Vec::new();
        let mut bytes = [0; 4096];
        // The end of a terminal is an error once its other side is closed.
        while let Ok(read @ 1..) = far.read(&mut bytes) {
            for byte in &bytes[..read] {
                if sequence.is_empty() && *byte != ESCAPE {
                    if sender.send(*byte).is_err() {
                        return;
                    }
                    continue;
                }
                sequence.push(*byte);
                if is_whole(&sequence) {
                    let text = String::from_utf8_lossy(&sequence).into_owned();
                    let mut known = CURSOR.iter().chain(answers);
                    if let Some((_, answer)) = known.find(|(question, _)| *question == text) {
                        let _ = far.write_all(answer.as_bytes());
                    }
                    let _ = commander.send(text);
                    sequence.clear();
                }
            }
        }
    });
    (screen, commands)
}

/// Whether an escape sequence has ended: behind one byte, behind a letter when it began with a bracket, and behind a bell or the
/// string terminator when it holds a string.
fn is_whole(sequence: &[u8]) -> bool {
    match sequence {
        [_, b']' | b'P' | b'_', ..] => sequence.ends_with(b"\x07") || sequence.ends_with(b"\x1b\\"),
        [_, b'[', .., last] => sequence.len() > 2 && (0x40..0x7f).contains(last),
        [_, b'['] | [_] | [] => false,
        _ => true,
    }
}
