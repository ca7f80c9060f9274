//! The worker placement: each session's engine in a process of its own, so that nothing a cell does can hurt the host.
//!
//! ```text
//!  host ── tender (a thread a session) ──── control, urgent, stdout, stderr ──── worker ─ ─ backup, asleep
//!    └──── supervisor's line ────────────── supervisor ── starts, reaps, kills ─────┘
//! ```
//!
//! Host side: [`tender`] serves one session's queue and climbs the ladder that ends a cell; [`process`] is a worker as it sees it;
//! [`supervisor`] has workers started. Child side: [`child`] is the worker process, [`supervising`] the supervisor's. What they say
//! to each other is in [`messages`], how it is cut into [`frames`], and what carries it in [`sockets`].
//!
//! Threads: a tender owns everything of its session; hosts reach it by a mailbox and a bell alone. Locks: see [`supervisor`].

mod backups;
mod child;
mod death;
mod environment;
mod executable;
mod frames;
#[doc(hidden)]
pub mod internals;
mod messages;
mod plan;
mod process;
mod sandbox;
mod sockets;
mod spares;
mod supervising;
mod supervisor;
mod temporary;
mod tender;
mod watch;

use std::env;
use std::fs;
use std::io::Write;
use std::sync::Arc;

use crossbeam_channel::Sender;

use self::plan::Plan;
pub use self::sandbox::{Isolation, Sandbox};
use self::sockets::Bell;
use self::tender::{Job, Tender};
use super::{Placed, Reply};
use crate::engine::{self, Opening, Variable};
use crate::outcome::Json;
use crate::output::Transcript;
use crate::runtime::{RuntimeError, SessionBuilder};
use crate::session::Ticket;

/// The first argument of a process that is a worker or a supervisor.
const ROLE: &str = "worker";

/// Set for both, so that no other program's argument is taken for ours.
const ENVIRONMENT: &str = "WARMCELL_WORKER";

/// Lets this program be the worker of its own sessions: call it first thing in a plain `fn main()`.
///
/// In a process that was started as a worker it does not return. In any other it notes that the program can be its own
/// worker, and returns at once. Where it is called too late, when threads run already (below `#[tokio::main]`, for instance),
/// it changes nothing: sessions then need another worker executable, and say so.
///
/// # Examples
///
/// ```no_run
/// // In `main`, before the runtime, threads and everything else:
/// warmcell::worker::init();
/// ```
pub fn init() {
    let mut arguments = env::args_os().skip(1);
    let is_meant = env::var_os(ENVIRONMENT).is_some()
        && arguments.next().is_some_and(|argument| argument == ROLE);
    let has_threads = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1);
    match (is_meant, has_threads) {
        (true, false) => {
            let role = arguments.next().unwrap_or_default();
            child::leave(i32::from(main(&role.to_string_lossy())))
        }
        (true, true) => {
            tell(
                "`warmcell::worker::init()` was called when threads were running already\nhint: call it first thing in a plain `fn main()`",
            );
            child::leave(1)
        }
        (false, false) => executable::note_own(),
        (false, true) => {}
    }
}

/// The life of a worker or supervisor process: `role` is the second argument. Returns the status to end with.
#[doc(hidden)]
pub fn main(role: &str) -> u8 {
    let socket = match child::take_socket() {
        Ok(socket) if env::var_os(ENVIRONMENT).is_some() => socket,
        _ => {
            tell("`warmcell worker` is started by sessions, and does nothing for anybody else");
            return 2;
        }
    };
    // SAFETY: this process has one thread yet.
    unsafe { env::remove_var(ENVIRONMENT) };
    let result = match role {
        "supervise" => supervising::supervise(socket),
        _ => child::run(socket),
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            tell(&error.to_string());
            1
        }
    }
}

fn tell(text: &str) {
    // Nobody is left to tell when this fails.
    let _ = writeln!(std::io::stderr(), "warmcell worker: {text}");
}

/// Makes a session whose worker is started when it is first needed. One that had something before it lost it, as its first
/// outcome says.
pub(super) fn place(
    builder: &SessionBuilder,
    opening: &Opening,
    transcript: Arc<Transcript>,
    lost: Option<String>,
) -> Result<Box<dyn Placed>, RuntimeError> {
    Isolation::of_this_kernel().check(builder)?;
    let facts = engine::facts(builder)?;
    let plan = Plan::new(
        builder,
        opening,
        executable::find(builder.worker_executable.as_deref())?,
        facts,
    );
    let bell = Bell::new().map(Arc::new).map_err(|error| {
        RuntimeError::Unavailable(format!("no descriptor for the session: {error}"))
    })?;
    let mailbox = Tender::start(plan, transcript, bell.clone(), lost)?;
    Ok(Box::new(Seat { mailbox, bell }))
}

/// One session, as its host reaches it.
struct Seat {
    mailbox: Sender<Job>,
    bell: Arc<Bell>,
}

impl Seat {
    fn send(&self, job: Job) {
        // A tender that is gone has dropped the receiver, and the job's answer with it: whoever waits is told `Closed`.
        let _ = self.mailbox.send(job);
        self.bell.ring();
    }
}

impl Placed for Seat {
    fn run(&self, ticket: Arc<Ticket>) {
        self.send(Job::Run(ticket));
    }

    fn stop(&self, _ticket: &Arc<Ticket>) {
        self.bell.ring();
    }

    fn reset(&self, reply: Reply<()>) {
        self.send(Job::Reset(reply));
    }

    fn inspect(&self, reply: Reply<Vec<Variable>>) {
        self.send(Job::Inspect(reply));
    }

    fn members(&self, path: Vec<String>, reply: Reply<Vec<String>>) {
        self.send(Job::Members { path, reply });
    }

    fn bind(&self, name: String, value: Json, reply: Reply<()>) {
        self.send(Job::Bind { name, value, reply });
    }

    fn undo(&self, reply: Reply<u64>) {
        self.send(Job::Undo(reply));
    }

    fn close(&self, reply: Option<Reply<()>>) {
        self.send(Job::Close(reply));
    }
}
