//! The host's side of its supervisor process: starting it, and having it start workers.
//!
//! There is one for all sessions of the host. [`SUPERVISOR`] is locked while a worker is asked for, which takes as long as
//! sending one message, or as starting the supervisor when there is none or the last one has died. A session that finds
//! that it died has the next one end what its worker left.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::messages::{Errand, Notice};
use super::plan::Configuration;
use super::sandbox::Confinement;
use super::sockets::{self, Channel, ChannelError};
use super::temporary::Temporary;
use super::{ENVIRONMENT, ROLE};

/// How often what a dead supervisor left is given to another one to end.
const ATTEMPTS: usize = 5;

/// How long that may take.
const SWEEPING: Duration = Duration::from_secs(5);

/// Where the libraries of the program may be.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

static SUPERVISOR: Mutex<Option<Supervisor>> = Mutex::new(None);

struct Supervisor {
    process: Child,
    line: Channel,
}

/// The host's ends of a worker that is being started.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) control: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) line: OwnedFd,
    pub(super) tag: Tag,
    /// The supervisor's process.
    pub(super) supervisor: u32,
    /// The folder of its own, for one in a sandbox.
    pub(super) temporary: Option<Temporary>,
}

/// What tells a worker's processes from all others, for as long as it is used.
#[derive(Debug)]
pub(super) struct Tag(u64);

impl Tag {
    /// No two workers of the machine should have the same: it counts the host's workers, beside 38 bits of chance.
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        static HOST: OnceLock<u64> = OnceLock::new();
        let count = NEXT.fetch_add(1, Ordering::Relaxed) & 0xff_ffff;
        let chance = *HOST.get_or_init(|| RandomState::new().hash_one(std::process::id()));
        let tag = (1 << 62) | (chance >> 26 << 24) | count;
        Self(tag)
    }
}

/// Has a worker started.
pub(super) fn start_worker(configuration: &Configuration) -> io::Result<Ends> {
    let (control, control_there) = sockets::pair()?;
    let (line, line_there) = sockets::pair()?;
    let (stdout, stdout_there) = sockets::pipe()?;
    let (stderr, stderr_there) = sockets::pipe()?;
    let tag = Tag::new();
    let is_confined = |confinement: &Confinement| confinement.files.is_some();
    let confinement = configuration.prepare.confinement.as_ref();
    let temporary = confinement
        .is_some_and(is_confined)
        .then(|| Temporary::new(tag.0))
        .transpose()?;
    let errand = Errand::Start {
        program: configuration.program.clone(),
        cwd: configuration.folder.clone(),
        tag: tag.0,
        environment: configuration.environment.clone(),
        temporary: temporary.as_ref().map(Temporary::path),
    };
    let descriptors = [&control_there, &stdout_there, &stderr_there, &line_there].map(AsFd::as_fd);
    let supervisor = send(&configuration.program, &errand, &descriptors)?;
    Ok(Ends {
        supervisor,
        control,
        stdout,
        stderr,
        line,
        tag,
        temporary,
    })
}

/// The supervisor has died: has another one end what a worker of its has left, and waits until it has.
pub(super) fn sweep(program: &Path, tag: &Tag) -> io::Result<()> {
    let mut problem = None;
    // A supervisor that is just dying may still take what is sent to it.
    for _ in 0..ATTEMPTS {
        let (line, line_there) = sockets::pair()?;
        let errand = Errand::Sweep { tag: tag.0 };
        let swept = send(program, &errand, &[line_there.as_fd()]).and_then(|_| {
            drop(line_there);
            let mut line = Channel::new(line, 1 << 10);
            let answer = line.wait_for::<Notice>(Some(sockets::within(SWEEPING)));
            answer.map(drop).map_err(other)
        });
        match swept {
            Ok(()) => return Ok(()),
            Err(error) => problem = Some(error),
        }
    }
    problem.map_or(Ok(()), Err)
}

/// Lets a supervisor go on that a cell may have stopped.
pub(super) fn wake(supervisor: u32) {
    signal(supervisor, libc::SIGCONT);
}

/// Ends a supervisor that does not answer. The next worker is started by another one.
pub(super) fn dismiss(supervisor: u32) {
    signal(supervisor, libc::SIGKILL);
}

fn signal(supervisor: u32, signal: libc::c_int) {
    let running = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = &*running
        && running.process.id() == supervisor
    {
        // SAFETY: a child of this process that was not waited for: the number is still its own.
        unsafe { libc::kill(supervisor as libc::pid_t, signal) };
    }
}

/// Gives the process of the supervisor that has it now.
fn send(program: &Path, errand: &Errand, descriptors: &[BorrowedFd<'_>]) -> io::Result<u32> {
    let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = &mut *supervisor
        && !matches!(running.process.try_wait(), Ok(None))
    {
        *supervisor = None;
    }
    let running = match &mut *supervisor {
        Some(running) => running,
        None => supervisor.insert(Supervisor::start(program)?),
    };
    if let Err(error) = running.line.send_with(errand, descriptors) {
        *supervisor = None;
        return Err(other(error));
    }
    Ok(running.process.id())
}

impl Supervisor {
    fn start(program: &Path) -> io::Result<Self> {
        let (line, line_there) = sockets::pair()?;
        let process = Command::new(program)
            .args([ROLE, "supervise"])
            // It needs none of the host's variables, and shows them to nobody.
            .env_clear()
            .envs(env::var_os(LIBRARIES).map(|folders| (LIBRARIES, folders)))
            .env(ENVIRONMENT, "1")
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(line_there))
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            process,
            line: Channel::new(line, 0),
        })
    }
}

fn other(error: ChannelError) -> io::Error {
    match error {
        ChannelError::System(error) => error,
        error => io::Error::other(error.to_string()),
    }
}
