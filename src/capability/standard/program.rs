//! [`Program`]: a program that runs to its end or its timeout, and leaves nothing of its process group behind.
//!
//! It has a session of its own and with it a process group: no terminal of the host's to ask at, and one signal ends all of
//! it. The group is killed before its leader is reaped: as long as that one's number is taken, so is the group's, and no
//! stranger is hit. Output is read until the end, whatever of it is kept: a full pipe would stop the program.
//!
//! tokio's own processes would not do: they reap by themselves, and one that is dropped has them catch SIGCHLD in the host.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::pin::pin;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use cap_std::fs::Dir;
use serde::Serialize;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{sleep, timeout};

use crate::outcome::Cut;
use crate::output::Ledger;

/// How long the pipes are read after the program's end: what still holds them has left its group.
const GRACE: Duration = Duration::from_secs(1);

/// How long a program that was killed is waited for; one that the kernel does not let go is left to a thread.
const REAP: Duration = Duration::from_secs(5);

/// What is started, and what it is held to.
pub(super) struct Program {
    pub(super) name: OsString,
    pub(super) arguments: Vec<OsString>,
    /// All that it sees of an environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Where it begins.
    pub(super) folder: Dir,
    /// Empty when there is none.
    pub(super) input: Option<Vec<u8>>,
    pub(super) timeout: Duration,
    /// Bytes of each stream that are kept.
    pub(super) budget: usize,
    /// Landlock's rules for all of it, if there are any.
    pub(super) rules: Option<OwnedFd>,
}

/// What a program came to.
pub(super) struct Finished {
    /// As a shell tells it: 128 and the signal's number for one that was killed. None where nobody knows.
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
    pub(super) timed_out: bool,
}

/// One stream's text, and what is missing of it.
pub(super) struct Kept {
    pub(super) text: String,
    pub(super) cut: Option<Left>,
}

/// What was left out of a stream.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Left {
    bytes: u64,
    lines: u64,
    bytes_left_out: u64,
    lines_left_out: u64,
}

impl From<Cut> for Left {
    fn from(cut: Cut) -> Self {
        Self {
            bytes: cut.bytes,
            lines: cut.lines,
            bytes_left_out: cut.bytes_left_out,
            lines_left_out: cut.lines_left_out,
        }
    }
}

impl Program {
    /// Runs it. When the future is dropped, all of it is killed.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(super) async fn run(self) -> io::Result<Finished> {
        let mut group = Group::of(self.start()?);
        let end = group.end()?;
        let (stdin, stdout, stderr) = group.pipes()?;
        let mut kept = (Ledger::new(self.budget), Ledger::new(self.budget));
        let timed_out = {
            let mut transfer = pin!(async {
                let feed = async {
                    if let (Some(mut stdin), Some(input)) = (stdin, &self.input) {
                        // A program that does not read its input is as good as one that does.
                        let _ = stdin.write_all(input).await;
                    }
                };
                tokio::join!(feed, drain(stdout, &mut kept.0), drain(stderr, &mut kept.1));
            });
            let mut over = pin!(sleep(self.timeout));
            let mut is_transferred = false;
            let timed_out = loop {
                tokio::select! {
                    () = &mut transfer, if !is_transferred => is_transferred = true,
                    _ = end.readable() => break false,
                    () = &mut over => break true,
                }
            };
            group.kill();
            if !is_transferred {
                let _ = timeout(GRACE, &mut transfer).await;
            }
            timed_out
        };
        let _ = timeout(REAP, end.readable()).await;
        let status = group.reap();
        let signal = status.and_then(|status| status.signal());
        let exit_code = status.and_then(|status| status.code());
        Ok(Finished {
            exit_code: exit_code.or(signal.map(|signal| 128 + signal)),
            signal,
            stdout: kept.0.into(),
            stderr: kept.1.into(),
            timed_out,
        })
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.name);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(match self.input {
                Some(_) => Stdio::piped(),
                None => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let folder = self.folder.as_raw_fd();
        let rules = self.rules.as_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: the closure allocates nothing and takes no lock: it makes system calls. Both descriptors are open until
        // the program has been started, since `self` owns them.
        unsafe { command.pre_exec(move || prepare(folder, rules)) };
        command.spawn()
    }
}

/// In the child, before it becomes the program.
fn prepare(folder: RawFd, rules: Option<RawFd>) -> io::Result<()> {
    // SAFETY: system calls alone, on numbers.
    unsafe {
        if libc::fchdir(folder) != 0 || libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        // It ends with the host. The thread that starts it is one of the runtime for host functions, which is never given up.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // What others opened in the host without a thought of children; kernels before 5.11 lack it.
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
        if let Some(rules) = rules
            && (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) != 0)
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

async fn drain(stream: Option<Receiver>, ledger: &mut Ledger) {
    let Some(mut stream) = stream else {
        return;
    };
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = stream.read(&mut buffer).await
        && count > 0
    {
        ledger.push(&buffer[..count]);
    }
}

impl From<Ledger> for Kept {
    fn from(mut ledger: Ledger) -> Self {
        let (text, cut) = ledger.take();
        Self {
            text,
            cut: cut.map(Left::from),
        }
    }
}

/// A program with its process group; killed and reaped when dropped.
struct Group {
    /// Until it has been reaped: after that its number may be another's.
    leader: Option<Child>,
}

type Pipes = (Option<Sender>, Option<Receiver>, Option<Receiver>);

impl Group {
    fn of(leader: Child) -> Self {
        Self {
            leader: Some(leader),
        }
    }

    fn number(&self) -> Option<libc::pid_t> {
        let leader = self.leader.as_ref()?;
        libc::pid_t::try_from(leader.id()).ok()
    }

    /// This side of its standard streams.
    fn pipes(&mut self) -> io::Result<Pipes> {
        let Some(leader) = &mut self.leader else {
            return Ok((None, None, None));
        };
        let stdin = leader.stdin.take().map(OwnedFd::from);
        let stdout = leader.stdout.take().map(OwnedFd::from);
        let stderr = leader.stderr.take().map(OwnedFd::from);
        Ok((
            stdin.map(Sender::from_owned_fd).transpose()?,
            stdout.map(Receiver::from_owned_fd).transpose()?,
            stderr.map(Receiver::from_owned_fd).transpose()?,
        ))
    }

    /// What can be read once the leader has ended, without reaping it.
    fn end(&self) -> io::Result<AsyncFd<OwnedFd>> {
        // SAFETY: opens a descriptor, which is ours alone, and is closed by an exec.
        let descriptor = unsafe {
            let number = self.number().unwrap_or(-1);
            let descriptor = libc::syscall(libc::SYS_pidfd_open, number, 0);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor as RawFd)
        };
        // SAFETY: the descriptor is owned, so that it stays open and the same as long as it is waited for.
        let end = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
        end.map_err(io::Error::from)
    }

    fn kill(&self) {
        if let Some(number) = self.number() {
            // SAFETY: a signal to a group whose leader's number is still taken, since nobody has reaped it.
            unsafe { libc::kill(-number, libc::SIGKILL) };
        }
    }

    /// How the leader ended. None where it has not, or somebody else has reaped it: a host that ignores SIGCHLD does, and
    /// a program in it that waits for anybody.
    fn reap(&mut self) -> Option<ExitStatus> {
        let status = self.leader.as_mut()?.try_wait();
        if !matches!(status, Ok(None)) {
            self.leader = None;
        }
        status.ok().flatten()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.reap();
        if let Some(mut leader) = self.leader.take() {
            // It takes a moment to die, for which nobody here can wait.
            let reaper = std::thread::Builder::new().name("warmcell-reaper".to_owned());
            let _ = reaper.spawn(move || leader.wait());
        }
    }
}
