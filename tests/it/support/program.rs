//! [`Program`]: the `warmcell` command as another program sees it: arguments, streams, status.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::PATIENCE;

/// Where programs of the tests keep what they keep for the user.
pub(crate) const STATE_HOME: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/state");

/// The command with these arguments, ready to run. It finds no environment and no colour but those a test gives it.
pub(crate) fn warmcell<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmcell"));
    command
        .args(arguments)
        .env_remove("VIRTUAL_ENV")
        .env_remove("NO_COLOR")
        .env("XDG_STATE_HOME", STATE_HOME);
    command
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exited {
    /// Its status; -1 when a signal ended it.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running command. Dropping it ends its whole process group.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    printed: String,
    /// What `/proc` calls the pipes of standard input and output.
    pub(crate) pipes: [String; 2],
}

impl Program {
    /// Starts the command with pipes on all three streams.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("the command starts");
        let stdout = child.stdout.take().expect("a pipe");
        let stdin = child.stdin.as_ref().expect("a pipe");
        let pipes = [name_of(stdin), name_of(&stdout)];
        let mut stderr = child.stderr.take().expect("a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while stdout
                .read_until(b'\n', &mut line)
                .expect("a readable pipe")
                > 0
            {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if sender.send(text).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).expect("a readable pipe");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            child,
            lines,
            stderr: Some(stderr),
            printed: String::new(),
            pipes,
        }
    }

    /// Runs the command to its end, with `input` on its standard input.
    pub(crate) fn run(command: Command, input: &str) -> Exited {
        let mut program = Self::start(command);
        // A command that reads nothing may be gone already.
        let _ = program.stdin().write_all(input.as_bytes());
        program.finish()
    }

    /// The process's number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input.
    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("not closed yet")
    }

    /// Waits for the next line it prints.
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line");
        self.printed.push_str(&line);
        line
    }

    /// Closes its input and waits for its end.
    pub(crate) fn finish(mut self) -> Exited {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        let mut stdout = std::mem::take(&mut self.printed);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => stdout.push_str(&line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the command did not end: {stdout}"),
            }
        }
        let status = self.wait(deadline);
        let stderr = self.stderr.take().expect("not taken yet");
        Exited {
            status,
            stdout,
            stderr: stderr.join().expect("the reader"),
        }
    }

    /// Waits for its end alone, and tells its status.
    pub(crate) fn wait(&mut self, deadline: Instant) -> i32 {
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-status.signal().unwrap_or(1));
            }
            assert!(Instant::now() < deadline, "the command did not end");
            // Nothing tells of a child's end without taking SIGCHLD, which belongs to the whole test binary.
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end, but not for long.
    pub(crate) fn wait_briefly(&mut self) -> Option<i32> {
        thread::sleep(Duration::from_millis(20));
        let status = self.child.try_wait().expect("a child")?;
        Some(status.code().unwrap_or(-1))
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so the number is still its own.
        assert_eq!(unsafe { libc::kill(self.id() as i32, signal) }, 0);
    }
}

/// What `/proc` calls a descriptor's file; both ends of a pipe have one name.
fn name_of(file: &impl AsRawFd) -> String {
    let link = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    link.expect("an open descriptor").display().to_string()
}

impl Drop for Program {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // SAFETY: the group was made for this child, which has not been waited for.
            unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
            let _ = self.child.wait();
        }
    }
}
