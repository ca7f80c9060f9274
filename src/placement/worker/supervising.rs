//! The supervisor process: it starts workers, alone reaps and signals them, and sees to it that none outlives the host.
//!
//! It has one thread and no engine, and is the reaper of every process whose parent has died, backups among them. Which
//! worker a process belongs to is told by a tag that children inherit through `fork`, `exec` and `setsid` alike: the hard
//! limit for the time of realtime threads, set to a number far beyond any such time. Parents, groups and environments all
//! fail where a program makes a daemon; a limit costs one system call to read.
//!
//! For each worker there is a line to the host. When the line closes, or the host's socket does, or the host ends, whatever
//! bears the tag is killed.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::messages::{Command as Order, Errand, Notice, Use};
use super::sockets::{self, Channel, ChannelError, checked, within};
use super::{ENVIRONMENT, ROLE};

/// The longest frame on the host's socket and on the lines.
const FRAME_BYTES: usize = 1 << 20;

/// How long processes may take to vanish after SIGKILL; a fork bomb is killed in rounds meanwhile.
const VANISHING: Duration = Duration::from_secs(2);

/// How long a host may take to read what it is told.
const TELLING: Duration = Duration::from_secs(2);

/// Runs as the supervisor of the process that gave `socket`, until that process is gone.
pub(super) fn supervise(socket: OwnedFd) -> io::Result<()> {
    // SAFETY: each call changes a property of this process alone; it has one thread and no children.
    let (signals, host) = unsafe {
        // Signals that a terminal sends to its foreground are not for us.
        libc::setsid();
        checked(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::sigprocmask(
            libc::SIG_BLOCK,
            &raw const set,
            std::ptr::null_mut(),
        ))?;
        let signals = checked(libc::signalfd(
            -1,
            &raw const set,
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))?;
        (
            OwnedFd::from_raw_fd(signals),
            sockets::process_end(libc::getppid()),
        )
    };
    let mut supervisor = Supervisor {
        host: Channel::new(socket, FRAME_BYTES),
        workers: HashMap::new(),
        reaped: VecDeque::new(),
    };
    supervisor.serve(&signals, host.as_ref());
    for worker in supervisor.workers.into_values() {
        worker.end();
    }
    Ok(())
}

/// How many ends of processes are remembered that were nobody's.
const REMEMBERED: usize = 256;

struct Supervisor {
    host: Channel,
    workers: HashMap<u64, Worker>,
    /// Ends of processes that were nobody's yet: a backup may die before its host asks to watch it.
    reaped: VecDeque<(i32, c_int)>,
}

struct Worker {
    tag: u64,
    line: Channel,
    process: i32,
    temporary: Option<PathBuf>,
}

impl Worker {
    /// Ends what its host has left of it.
    fn end(self) {
        end(self.tag, &[]);
        if let Some(folder) = &self.temporary {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Supervisor {
    fn serve(&mut self, signals: &OwnedFd, host: Option<&OwnedFd>) {
        loop {
            let tags: Vec<u64> = self.workers.keys().copied().collect();
            let fixed = [
                self.host.raw(),
                signals.as_raw_fd(),
                host.map_or(-1, AsRawFd::as_raw_fd),
            ];
            let lines = tags.iter().map(|tag| self.workers[tag].line.raw());
            let mut polled: Vec<libc::pollfd> = fixed
                .into_iter()
                .chain(lines)
                .map(|fd| libc::pollfd {
                    fd,
                    events: libc::POLLIN,
                    revents: 0,
                })
                .collect();
            if sockets::poll(&mut polled, None).is_err() {
                return;
            }
            let is_ready = |index: usize| polled[index].revents != 0;
            if is_ready(1) {
                self.reap(signals);
            }
            for (index, tag) in tags.iter().enumerate() {
                if is_ready(fixed.len() + index)
                    && self.attend(*tag).is_err()
                    && let Some(worker) = self.workers.remove(tag)
                {
                    worker.end();
                }
            }
            if is_ready(2) || is_ready(0) && self.errands().is_err() {
                return;
            }
        }
    }

    /// Takes in all deaths, and tells those of workers.
    fn reap(&mut self, signals: &OwnedFd) {
        let mut buffer = [0; 1024];
        while sockets::read(std::os::fd::AsFd::as_fd(signals), &mut buffer)
            .is_ok_and(|read| read > 0)
        {}
        let mut status = 0;
        loop {
            // SAFETY: writes the status of a child of this process, which has no other thread that could wait for it.
            let process = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if process <= 0 {
                return;
            }
            if let Some(worker) = self
                .workers
                .values_mut()
                .find(|worker| worker.process == process)
            {
                worker.process = 0;
                tell(worker, &Notice::Died { process, status });
                continue;
            }
            if self.reaped.len() == REMEMBERED {
                self.reaped.pop_front();
            }
            self.reaped.push_back((process, status));
        }
    }

    fn errands(&mut self) -> Result<(), ChannelError> {
        self.host.take_in()?;
        while let Some(frame) = self.host.next::<Errand>()? {
            match frame.header {
                Errand::Start {
                    program,
                    cwd,
                    tag,
                    environment,
                    temporary,
                } => {
                    let mut take = || self.host.take_descriptor().ok_or(ChannelError::Descriptors);
                    let (control, stdout, stderr, line) = (take()?, take()?, take()?, take()?);
                    let mut worker = Worker {
                        tag,
                        line: Channel::new(line, FRAME_BYTES),
                        process: 0,
                        temporary,
                    };
                    match start(&program, &cwd, tag, environment, [control, stdout, stderr]) {
                        Ok(child) => {
                            worker.process = child.id() as i32;
                            let process = worker.process;
                            tell(&mut worker, &Notice::Started { process });
                            self.workers.insert(tag, worker);
                        }
                        Err(error) => {
                            let text =
                                format!("`{}` cannot be started: {error}", program.display());
                            tell(&mut worker, &Notice::Failed { text });
                        }
                    }
                }
                Errand::Sweep { tag } => {
                    let line = self
                        .host
                        .take_descriptor()
                        .ok_or(ChannelError::Descriptors)?;
                    end(tag, &[]);
                    let line = Channel::new(line, 0);
                    let _ = line.send_until(&Notice::Killed, &[], within(TELLING));
                }
            }
        }
        Ok(())
    }

    /// Does what the host asks about a worker.
    fn attend(&mut self, tag: u64) -> Result<(), ChannelError> {
        let Some(worker) = self.workers.get_mut(&tag) else {
            return Ok(());
        };
        worker.line.take_in()?;
        while let Some(frame) = worker.line.next::<Order>()? {
            match frame.header {
                Order::Kill { spare } => {
                    end(tag, &spare);
                    report_death(worker);
                    tell(worker, &Notice::Killed);
                }
                Order::Use { spare } => {
                    let used = Notice::Use(usage(tag, worker.process, &spare));
                    tell(worker, &used);
                }
                Order::Watch { process } => {
                    worker.process = process;
                    report_death(worker);
                    if worker.process != 0 && !lives(process) {
                        worker.process = 0;
                        let end = self.reaped.iter().rev().find(|end| end.0 == process);
                        let status = end.map_or(0, |end| end.1);
                        tell(worker, &Notice::Died { process, status });
                    }
                }
                Order::End => {
                    end(tag, &[]);
                    report_death(worker);
                    tell(worker, &Notice::Killed);
                    self.workers.remove(&tag);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Tells of the worker's death, if it is dead, before anything that follows from it.
fn report_death(worker: &mut Worker) {
    let process = worker.process;
    if process == 0 {
        return;
    }
    let mut status = 0;
    // SAFETY: asks for the end of one process, and does nothing where that is no child of this one.
    if unsafe { libc::waitpid(process, &raw mut status, libc::WNOHANG) } == process {
        worker.process = 0;
        tell(worker, &Notice::Died { process, status });
    }
}

fn tell(worker: &mut Worker, notice: &Notice) {
    // A host that does not listen is gone, which its socket tells.
    let _ = worker.line.send_until(notice, &[], within(TELLING));
}

/// Starts a worker: descriptor 0 is its control socket, which it moves away first thing.
fn start(
    program: &Path,
    cwd: &Path,
    tag: u64,
    environment: Vec<(String, String)>,
    [control, stdout, stderr]: [OwnedFd; 3],
) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args([ROLE, "run"])
        .current_dir(cwd)
        .env_clear()
        .envs(environment)
        .env(ENVIRONMENT, "1")
        .stdin(Stdio::from(control))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    let supervisor = std::process::id();
    // SAFETY: the closure makes system calls alone, takes no memory and no lock.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            // What a supervisor waits for in its own way comes to cells, and to what they start, as ever.
            let none = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
            checked(libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const none,
                std::ptr::null_mut(),
            ))?;
            // This process has one thread, so that the signal means its death.
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            if libc::getppid() as u32 != supervisor {
                libc::_exit(1);
            }
            let limit = libc::rlimit {
                rlim_cur: tag,
                rlim_max: tag,
            };
            checked(libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit))?;
            let mut core = MaybeUninit::<libc::rlimit>::zeroed().assume_init();
            checked(libc::getrlimit(libc::RLIMIT_CORE, &raw mut core))?;
            // Writing a core of a large heap would keep the backup waiting.
            core.rlim_cur = 0;
            checked(libc::setrlimit(libc::RLIMIT_CORE, &raw const core))?;
            Ok(())
        });
    }
    command.spawn()
}

/// Kills everything that bears the tag, and waits until it is gone.
fn end(tag: u64, spare: &[i32]) {
    let until = within(VANISHING);
    let mut pause = Duration::from_micros(100);
    while kill_round(tag, spare) && Instant::now() < until {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills what is alive. Says whether anything was.
fn kill_round(tag: u64, spare: &[i32]) -> bool {
    let mut was_alive = false;
    for process in processes() {
        if !spare.contains(&process) && tag_of(process) == Some(tag) && lives(process) {
            was_alive = true;
            // SAFETY: the process bears a tag that only what this host started has.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
    was_alive
}

/// What everything that bears the tag uses, but for the worker's backups.
fn usage(tag: u64, worker: i32, spare: &[i32]) -> Use {
    let mut used = Use::default();
    let others = |process: &i32| !spare.contains(process) && tag_of(*process) == Some(tag);
    for process in processes().filter(others) {
        let Some((processor_ms, resident_mb)) = usage_of(process) else {
            continue;
        };
        used.processes += u64::from(process != worker);
        used.processor_ms += processor_ms;
        used.resident_mb = used.resident_mb.max(resident_mb);
    }
    used
}

/// The milliseconds of processor time of a process and of its children that have ended, and what it holds in MiB.
fn usage_of(process: i32) -> Option<(u64, u64)> {
    let fields: Vec<u64> = stat_of(process)?
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let ticks: u64 = fields.get(11..15)?.iter().sum();
    // `/proc` counts in hundredths of a second on every Linux there is, and in pages of 4 KiB on most.
    Some((ticks * 10, fields.get(21)? << 12 >> 20))
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn tag_of(process: i32) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: reads a limit of a process into the struct.
    unsafe {
        let read: c_int = libc::prlimit(
            process,
            libc::RLIMIT_RTTIME,
            std::ptr::null(),
            limit.as_mut_ptr(),
        );
        (read == 0).then(|| limit.assume_init().rlim_max)
    }
}

/// Whether a process is there and is not a corpse that somebody has yet to reap.
fn lives(process: i32) -> bool {
    stat_of(process).is_some_and(|stat| !stat.starts_with(['Z', 'X']))
}

/// What the kernel tells of a process, from the letter of its state on.
pub(super) fn stat_of(process: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // A program's name may have anything in it, a parenthesis too.
    stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}
