//! The worker process: an engine on a thread of its own, asked by its host over a private socket.
//!
//! The start ([`run`]) is apart from the loop ([`serve`]), which the engine's thread runs: it takes an order, does it, reports, and
//! then makes the backup of the state that it has left. One other thread, the [`presser`], stops cells. The main thread only waits.
//!
//! A backup is a fork of the engine's thread, which goes on in the same loop when it is woken, so everything the loop
//! needs is reachable from here: the channel is replaced by the backup's own, the presser is started again, and locks are
//! free at the fork, since the presser holds none then (see there) and no thread of the program may be alive.
//!
//! The process ends by SIGKILL or `_exit`: exit handlers of C libraries would run while threads are in them.

mod backup;
mod confine;
mod descriptors;
mod outlet;
mod presser;
mod sink;
mod switchboard;
mod threads;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::backup::Offsets;
pub(super) use self::descriptors::take_socket;
use self::outlet::Outlet;
use self::presser::Presser;
use self::sink::DescriptorSink;
use self::switchboard::Switchboard;
use self::threads::Threads;
use super::messages::{self, Ended, Hello, Open, Order, Prepare, Report};
use super::sockets::{Channel, ChannelError};
use crate::engine::{self, Caller, Engine, EngineError, Language, Opening, Task};
use crate::outcome::Json;
use crate::runtime::SessionBuilder;

/// The longest order that is taken: a source or a value, of which the host takes none that is longer.
const ORDER_BYTES: usize = (1 << 30) + (1 << 20);

/// The status of a worker whose program closed the socket to the host.
pub(super) const DISCONNECTED: i32 = 113;

/// The status of a worker whose engine panicked in a cell.
pub(super) const PANICKED: i32 = 115;

/// Whether a cell runs, whose standard error is this process's.
static IN_CELL: AtomicBool = AtomicBool::new(false);

/// Runs as a worker of the host that gave `socket`, to the end of the process.
pub(super) fn run(socket: OwnedFd) -> io::Result<()> {
    // SAFETY: sets dispositions of this process. A handler that tells of an overflow of a stack would let a signal that was
    // sent pass once.
    unsafe {
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        // What the engine's own source says of it is no output of the cell's.
        if !IN_CELL.load(Ordering::Relaxed) {
            tell(about);
        }
    }));
    let socket = descriptors::out_of_reach(socket)?;
    let mut channel = Channel::new(socket, ORDER_BYTES);
    let (prepare, temporary) = match channel.wait_for::<Order>(None) {
        Ok(frame) => match frame.header {
            Order::Prepare { prepare, temporary } => (prepare, temporary),
            _ => return Err(io::Error::other("the first order prepares nothing")),
        },
        // The host has no use for this worker any more.
        Err(ChannelError::Closed) => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    if let Some(folder) = &temporary {
        settle_in(folder);
    }
    if let Some(confinement) = &prepare.confinement
        && let Err(text) = confine::confine(confinement, temporary.as_deref())
    {
        return fail(&channel, text);
    }
    let builder = builder(&prepare);
    let launch = match engine::launch(&builder) {
        Ok(launch) => launch,
        Err(error) => return fail(&channel, error.to_string()),
    };
    let thread = thread::Builder::new()
        .name(format!("warmcell-{}", launch.engine))
        .stack_size(launch.stack_bytes)
        .spawn(move || live(channel, launch, &builder))?;
    // A panic in there has told about itself on standard error.
    let _ = thread.join();
    Ok(())
}

/// Points programs to the temporary folder for what they would keep in the home folder, which a sandbox does not let them
/// read: git, for one, gives up where it may not read its configuration there.
fn settle_in(temporary: &Path) {
    let places = [
        ("TMPDIR", temporary.to_owned()),
        ("XDG_CACHE_HOME", temporary.join("cache")),
        ("XDG_CONFIG_HOME", temporary.join("config")),
        ("GIT_CONFIG_GLOBAL", PathBuf::from("/dev/null")),
    ];
    for (name, place) in places {
        // SAFETY: this process has one thread yet.
        unsafe { std::env::set_var(name, place) };
    }
}

fn builder(prepare: &Prepare) -> SessionBuilder {
    let mut builder = SessionBuilder::new(prepare.language);
    builder.javascript_engine = Some(prepare.javascript_engine);
    builder.python.clone_from(&prepare.python);
    builder.cwd.clone_from(&prepare.cwd);
    builder
}

fn fail(channel: &Channel, text: String) -> io::Result<()> {
    channel
        .send(&Report::Failed { text }, &[])
        .map_err(|error| io::Error::other(error.to_string()))
}

/// The engine's thread, from start to end.
fn live(channel: Channel, launch: engine::Launch, builder: &SessionBuilder) {
    let name = launch.engine;
    let started = catch_unwind(AssertUnwindSafe(launch.start));
    let (mut language, interrupter) = match started {
        Ok(Ok(started)) => started,
        Ok(Err(EngineError(text))) => {
            let _ = fail(&channel, text);
            return;
        }
        Err(_) => {
            let _ = fail(
                &channel,
                format!("the {name} engine panicked while it started"),
            );
            return;
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(|| language.rehearse()));
    let version = engine::facts(builder).map_or_else(|_| String::new(), |facts| facts.version);
    let worker = Presser::new(interrupter)
        .map_err(ChannelError::from)
        .and_then(|(presser, urgent)| {
            let worker = Worker {
                name,
                version,
                outlet: Arc::new(Outlet::new(channel.raw())),
                channel,
                language,
                presser,
                threads: Threads::default(),
                session: None,
            };
            worker.greet(&urgent)?;
            Ok(worker)
        });
    let Ok(mut worker) = worker else {
        leave(DISCONNECTED)
    };
    let status = match serve(&mut worker) {
        ChannelError::Closed => 0,
        _ => DISCONNECTED,
    };
    // Nothing of the worker is dropped: that would run code of the program's.
    leave(status)
}

pub(super) fn leave(status: i32) -> ! {
    // SAFETY: ends the process without running anything of the program's.
    unsafe { libc::_exit(status) }
}

/// What the engine's thread owns.
struct Worker {
    name: &'static str,
    version: String,
    /// Where orders come from.
    channel: Channel,
    outlet: Arc<Outlet>,
    language: Box<dyn Language>,
    presser: Presser,
    threads: Threads,
    session: Option<Session>,
}

struct Session {
    engine: Box<dyn Engine>,
    sink: Arc<DescriptorSink>,
    /// None where the host offers nothing.
    switchboard: Option<Arc<Switchboard>>,
    keeps_backup: bool,
}

/// Does what the host asks, until it cannot be heard any more.
fn serve(worker: &mut Worker) -> ChannelError {
    loop {
        let problem = match worker.channel.wait_for::<Order>(None) {
            Ok(frame) => worker.obey(frame.header, frame.blob),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = problem {
            return problem;
        }
    }
}

impl Worker {
    /// The first words, also those of a backup that has taken over.
    fn greet(&self, urgent: &OwnedFd) -> Result<(), ChannelError> {
        let hello = Hello {
            protocol: messages::PROTOCOL,
            build: messages::BUILD.to_owned(),
            languages: vec![self.name.to_owned()],
            version: self.version.clone(),
            process: std::process::id() as i32,
        };
        self.outlet
            .send_with(&Report::Hello(hello), &[urgent.as_fd()])
    }

    fn obey(&mut self, order: Order, blob: Vec<u8>) -> Result<(), ChannelError> {
        match order {
            Order::Open(open) => {
                let report = self.open(*open);
                self.outlet.send(&report, &[])?;
            }
            Order::Run {
                number,
                epoch,
                watched,
                time_ms,
            } => {
                let deadline = time_ms
                    .and_then(|time| Instant::now().checked_add(Duration::from_millis(time)));
                let Some(session) = &mut self.session else {
                    return self.refuse("no session is open");
                };
                session.sink.begin(watched);
                let (ended, value) =
                    run_cell(session, &self.presser, (number, epoch, deadline), &blob);
                let unprotected = self.unprotected();
                let ended = Ended {
                    unprotected,
                    ..ended
                };
                self.outlet
                    .send(&Report::Ended(Box::new(ended)), value.as_bytes())?;
            }
            Order::Reset { epoch } => {
                let Some(session) = &mut self.session else {
                    return self.refuse("no session is open");
                };
                let engine = &mut session.engine;
                let result = self.presser.during(epoch, || {
                    catch_unwind(AssertUnwindSafe(|| engine.reset(epoch)))
                });
                self.answer(flatten(result, self.name))?;
            }
            // The state is what it was, and so is its backup.
            Order::Inspect => {
                return self.list(&Report::Variables, |engine| engine.inspect());
            }
            Order::Members { path } => {
                return self.list(&Report::Members, |engine| engine.members(&path));
            }
            Order::Bind { name, epoch } => {
                let Some(session) = &mut self.session else {
                    return self.refuse("no session is open");
                };
                let value = String::from_utf8(blob)
                    .map_err(|error| error.to_string())
                    .and_then(|text| Json::new(text).map_err(|error| error.to_string()));
                let result = match value {
                    Ok(value) => {
                        let engine = &mut session.engine;
                        let result = self.presser.during(epoch, || {
                            catch_unwind(AssertUnwindSafe(|| engine.bind(&name, &value, epoch)))
                        });
                        flatten(result, self.name)
                    }
                    Err(error) => Err(error),
                };
                self.answer(result)?;
            }
            Order::Prepare { .. } | Order::Wake => return self.refuse("not now"),
        }
        self.make_backup()
    }

    /// Answers with a list of the engine's.
    fn list<T: Serialize>(
        &mut self,
        report: &Report,
        ask: impl FnOnce(&mut dyn Engine) -> Vec<T>,
    ) -> Result<(), ChannelError> {
        let Some(session) = &mut self.session else {
            return self.refuse("no session is open");
        };
        let engine = &mut *session.engine;
        match catch_unwind(AssertUnwindSafe(|| ask(engine))) {
            Ok(listed) => {
                let text = serde_json::to_vec(&listed).unwrap_or_default();
                self.outlet.send(report, &text)
            }
            Err(_) => self.answer(Err(panicked(self.name))),
        }
    }

    fn refuse(&self, text: &str) -> Result<(), ChannelError> {
        self.answer(Err(text.to_owned()))
    }

    fn answer(&self, result: Result<(), String>) -> Result<(), ChannelError> {
        let report = match result {
            Ok(()) => Report::Done,
            Err(text) => Report::Refused { text },
        };
        self.outlet.send(&report, &[])
    }

    fn open(&mut self, open: Open) -> Report {
        let sink = match DescriptorSink::new(self.outlet.clone()) {
            Ok(sink) => Arc::new(sink),
            Err(error) => {
                let text = format!("the session's streams cannot be made: {error}");
                return Report::Refused { text };
            }
        };
        let switchboard = (!open.offered.is_empty()).then(|| {
            let switchboard = Switchboard::new(open.offered.clone(), self.outlet.clone());
            Arc::new(switchboard)
        });
        if let Some(switchboard) = &switchboard {
            self.presser.connect(switchboard.clone());
        }
        let opening = Opening {
            limits: open.limits(),
            integers: open.integers,
            code_cache: open.code_cache,
            python: open.python,
            cwd: open.cwd,
            imports_from: open.imports_from,
            env: open.env,
            withheld: open.withheld.into_iter().collect(),
            owns_process: true,
            caller: switchboard
                .clone()
                .map(|switchboard| -> Arc<dyn Caller> { switchboard }),
            sink: sink.clone(),
        };
        let language = &mut self.language;
        match catch_unwind(AssertUnwindSafe(|| language.open(&opening))) {
            Ok(Ok(engine)) => {
                descriptors::limit_data(open.memory_mb);
                descriptors::limit_files(open.open_files, open.file_mb);
                self.session = Some(Session {
                    engine,
                    sink,
                    switchboard,
                    keeps_backup: open.backup,
                });
                Report::Done
            }
            Ok(Err(EngineError(text))) => Report::Refused { text },
            Err(_) => Report::Refused {
                text: panicked(self.name),
            },
        }
    }

    /// Why there can be no backup of the present state.
    fn unprotected(&mut self) -> Option<String> {
        if !self
            .session
            .as_ref()
            .is_some_and(|session| session.keeps_backup)
        {
            return Some("backups are turned off".to_owned());
        }
        self.language
            .may_fork()
            .and_then(|()| self.threads.may_be_left())
            .err()
    }

    /// Leaves a sleeping copy of this process, in which the call returns when it has taken over.
    fn make_backup(&mut self) -> Result<(), ChannelError> {
        if self.unprotected().is_some() {
            return Ok(());
        }
        let still = self.presser.hold_still();
        let offsets = Offsets::note();
        match backup::fork() {
            backup::Forked::Original(host_end) => {
                self.outlet.send_with(&Report::Backup, &[host_end.as_fd()])
            }
            backup::Forked::Failed(error) => {
                let text = format!("the process cannot be copied: {error}");
                self.outlet.send(&Report::NoBackup { text }, &[])
            }
            backup::Forked::Copy(own_end) => {
                drop(still);
                self.sleep_and_take_over(own_end, &offsets)
            }
        }
    }

    /// In the backup: waits for the end, or for its turn.
    fn sleep_and_take_over(
        &mut self,
        own_end: OwnedFd,
        offsets: &Offsets,
    ) -> Result<(), ChannelError> {
        let sink = self.session.as_ref().map(|session| session.sink.clone());
        let mut channel = Channel::new(own_end, ORDER_BYTES);
        let mut keep = vec![channel.raw()];
        keep.extend(sink.iter().flat_map(|sink| sink.descriptors()));
        let own = [self.channel.raw(), self.presser.raw()];
        backup::replace_what_is_the_programs(&keep, &own);
        let process = std::process::id() as i32;
        if channel.send(&messages::Asleep { process }, &[]).is_err() {
            leave(0);
        }
        match channel.wait_for::<Order>(None) {
            Ok(frame) if matches!(frame.header, Order::Wake) => {}
            _ => leave(0),
        }
        offsets.put_back();
        self.language.forked();
        // The old one is closed already: its number may be another descriptor's by now.
        std::mem::forget(std::mem::replace(&mut self.channel, channel));
        self.outlet.connect(self.channel.raw());
        let urgent = self.presser.start_again()?;
        if let Some(session) = &mut self.session {
            session.engine.took_over();
        }
        self.greet(&urgent)?;
        self.make_backup()
    }
}

fn run_cell(
    session: &mut Session,
    presser: &Presser,
    (number, epoch, deadline): (u64, u64, Option<Instant>),
    code: &[u8],
) -> (Ended, Value) {
    let code = String::from_utf8_lossy(code);
    let task = Task {
        code: &code,
        number,
        epoch,
        deadline,
    };
    if let Some(switchboard) = &session.switchboard {
        switchboard.begin();
    }
    let engine = &mut session.engine;
    let result = presser.during(epoch, || {
        IN_CELL.store(true, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| engine.run(&task)));
        IN_CELL.store(false, Ordering::Relaxed);
        result
    });
    if let Some(switchboard) = &session.switchboard {
        switchboard.end();
    }
    // An engine that broke off somewhere is not one to go on with, and a backup has what it held.
    let completion = result.unwrap_or_else(|_| leave(PANICKED));
    let (displays_left_out, why) = session.sink.left_out();
    let notice = [completion.notice, why]
        .into_iter()
        .flatten()
        .reduce(|one, other| format!("{one}; {other}"));
    let ended = Ended {
        epoch,
        has_value: completion.value.is_some(),
        failure: completion.failure,
        interrupted: completion.interrupted,
        notice,
        displays_left_out,
        unprotected: None,
    };
    (ended, Value(completion.value))
}

/// A value on its way into a blob, or nothing.
struct Value(Option<Json>);

impl Value {
    fn as_bytes(&self) -> &[u8] {
        self.0
            .as_ref()
            .map_or(&[], |value| value.as_str().as_bytes())
    }
}

fn flatten(result: thread::Result<Result<(), EngineError>>, name: &str) -> Result<(), String> {
    match result {
        Ok(result) => result.map_err(|EngineError(text)| text),
        Err(_) => Err(panicked(name)),
    }
}

fn panicked(name: &str) -> String {
    format!("the {name} engine panicked")
}
