//! The seam between languages and places: what a placement asks of an engine, and nothing about either side.
//!
//! A [`Language`] is ready on the thread that made it and opens an [`Engine`] for each session there; an engine lives and
//! dies on that thread. Only the [`Interrupter`] is called from other threads, by the placement's watchdog.

#[cfg(feature = "_javascript")]
pub(crate) mod javascript;
#[cfg(feature = "python")]
pub(crate) mod python;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::capability::{CapabilityError, Offered};
use crate::facts::EngineFacts;
use crate::limits::Limits;
use crate::outcome::{Failure, Json};
use crate::output::{Sink, Transcript};
use crate::runtime::{self, RuntimeError, SessionBuilder};

/// A language, ready to open sessions on the thread it lives on.
pub(crate) trait Language {
    /// Makes the engine of a new session.
    fn open(&mut self, opening: &Opening) -> Result<Box<dyn Engine>, EngineError>;

    /// Opens a session, runs a cell in it and forgets both, so that the next first cell finds code and memory in place.
    fn rehearse(&mut self);

    /// Whether a fork of the thread alone would be a whole copy of what lives on it; if not, why, as half a sentence.
    fn may_fork(&mut self) -> Result<(), String>;

    /// This process is such a copy, and goes on in the place of the one it was copied from. Its sessions are told next.
    fn forked(&mut self);
}

/// The rehearsal of a language, with a cell that touches what everyday cells do. What comes of it is nobody's business.
pub(crate) fn rehearse(language: &mut dyn Language, code: &str) {
    let opening = Opening {
        limits: Limits::default(),
        integers: Integers::default(),
        code_cache: false,
        python: None,
        cwd: None,
        imports_from: None,
        env: BTreeMap::new(),
        withheld: BTreeSet::new(),
        owns_process: false,
        caller: None,
        sink: Arc::new(Transcript::new(&Limits::default())),
    };
    let Ok(mut engine) = language.open(&opening) else {
        return;
    };
    let task = Task {
        code,
        number: 1,
        epoch: REHEARSAL,
        deadline: None,
    };
    let _ = engine.run(&task);
    engine.close(REHEARSAL);
}

/// The epoch of a cell that is none.
const REHEARSAL: u64 = u64::MAX;

/// One session's side of a language.
pub(crate) trait Engine {
    /// Runs one cell to its end. Whatever the cell does is a [`Completion`].
    fn run(&mut self, task: &Task<'_>) -> Completion;

    /// Forgets everything the session made. Finalisers may run code of the program's, which `epoch` is there to stop.
    fn reset(&mut self, epoch: u64) -> Result<(), EngineError>;

    /// The names the program bound, without running any of its code.
    fn inspect(&mut self) -> Vec<Variable>;

    /// The names of what a path of names leads to, `os.path` for instance; of the session itself where the path is empty. Runs
    /// none of the program's code: what only code could tell is left out.
    fn members(&mut self, path: &[String]) -> Vec<String>;

    /// Puts a host's value into the session under a name.
    ///
    /// What stood there before may run code of the program's as it goes, which `epoch` is there to stop.
    fn bind(&mut self, name: &str, value: &Json, epoch: u64) -> Result<(), EngineError>;

    /// The process is a copy that goes on in the place of the one it was copied from.
    fn took_over(&mut self);

    /// Ends the session, as `reset` would, and makes nothing new.
    fn close(self: Box<Self>, epoch: u64);
}

/// What a session's cells call its host with. A placement hands it to the engine, which calls it from any of its threads.
pub(crate) trait Caller: Send + Sync {
    /// What can be called, sorted by name.
    fn offered(&self) -> &[Offered];

    /// Makes a call. The reply comes later, on any thread, and once.
    fn call(self: Arc<Self>, request: CallRequest, reply: CallReply);

    /// A cell has ended: calls that wait for an answer get one, that they were cancelled.
    fn cancel_all(&self);
}

/// A call of a host function.
#[derive(Debug)]
pub(crate) struct CallRequest {
    pub(crate) capability: String,
    pub(crate) action: String,
    /// One object, bound by the signature.
    pub(crate) arguments: Json,
}

/// Takes what a call has come to. It must not wait for anything.
pub(crate) type CallReply = Box<dyn FnOnce(Result<Json, CapabilityError>) + Send>;

/// Stops a running cell from another thread.
pub(crate) trait Interrupter: Send + Sync {
    /// Takes the next step towards the end of the cell of `epoch`, `elapsed` after the stop was asked for.
    ///
    /// Returns when to press again, should the cell still run then. Pressing for a cell that has ended does nothing.
    fn press(&self, epoch: u64, elapsed: Duration) -> Duration;
}

/// How a placement brings a language to life on a thread of its own.
pub(crate) struct Launch {
    /// The engine, as messages name it.
    pub(crate) engine: &'static str,
    /// The stack its thread needs.
    pub(crate) stack_bytes: usize,
    /// A process can have it but once: all sessions share one thread.
    pub(crate) once_per_process: bool,
    /// Runs on the thread, and makes what lives there.
    pub(crate) start: Start,
}

/// A language that has come to life, and what stops its cells.
pub(crate) type Started = (Box<dyn Language>, Arc<dyn Interrupter>);

/// Brings a language to life on the calling thread.
pub(crate) type Start = Box<dyn FnOnce() -> Result<Started, EngineError> + Send>;

/// How to bring the language of a new session to life.
pub(crate) fn launch(builder: &SessionBuilder) -> Result<Launch, RuntimeError> {
    match builder.language {
        #[cfg(feature = "python")]
        runtime::Language::Python => Ok(python::launch(builder)),
        #[cfg(not(feature = "python"))]
        runtime::Language::Python => Err(RuntimeError::NotBuilt {
            engine: "Python",
            feature: "python",
        }),
        #[cfg(feature = "_javascript")]
        runtime::Language::JavaScript => javascript::javascript(builder),
        #[cfg(feature = "_javascript")]
        runtime::Language::TypeScript => javascript::typescript(builder),
        #[cfg(not(feature = "_javascript"))]
        runtime::Language::JavaScript | runtime::Language::TypeScript => {
            Err(RuntimeError::NotBuilt {
                engine: "JavaScript",
                feature: "javascript",
            })
        }
    }
}

/// What a session's engine would run on; nothing is started.
pub(crate) fn facts(builder: &SessionBuilder) -> Result<EngineFacts, RuntimeError> {
    match builder.language {
        #[cfg(feature = "python")]
        runtime::Language::Python => python::facts(builder),
        #[cfg(not(feature = "python"))]
        runtime::Language::Python => Err(RuntimeError::NotBuilt {
            engine: "Python",
            feature: "python",
        }),
        #[cfg(feature = "_javascript")]
        runtime::Language::JavaScript | runtime::Language::TypeScript => javascript::facts(builder),
        #[cfg(not(feature = "_javascript"))]
        runtime::Language::JavaScript | runtime::Language::TypeScript => {
            Err(RuntimeError::NotBuilt {
                engine: "JavaScript",
                feature: "javascript",
            })
        }
    }
}

/// What a session's engine is made with.
#[cfg_attr(
    not(feature = "python"),
    expect(dead_code, reason = "some of it is for Python alone")
)]
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) limits: Limits,
    pub(crate) integers: Integers,
    /// Keep sources that come again compiled, where the engine can.
    pub(crate) code_cache: bool,
    pub(crate) python: Option<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    /// The folder that imports look into first.
    pub(crate) imports_from: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    /// The names of the host's variables that the session does not see.
    pub(crate) withheld: BTreeSet<String>,
    /// The process is the session's alone: an engine that cannot go on may end it.
    pub(crate) owns_process: bool,
    /// What its cells can call of the host; none where that is nothing.
    pub(crate) caller: Option<Arc<dyn Caller>>,
    /// Where the session's output goes, also between its cells.
    pub(crate) sink: Arc<dyn Sink>,
}

/// The status of a process that its engine ended: the cell was far over its memory budget, and nothing else could stop it.
pub(crate) const EXHAUSTED: i32 = 114;

/// One cell, as an engine gets it.
pub(crate) struct Task<'a> {
    /// The source, without a fence; never blank.
    pub(crate) code: &'a str,
    /// Which cell of its session it is, for its name in tracebacks.
    pub(crate) number: u64,
    /// Identifies this run to the interrupter; never used twice in a process.
    pub(crate) epoch: u64,
    /// When it will be stopped. An engine gives up sooner what a cell can do without.
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "JavaScript asks objects for nothing")
    )]
    pub(crate) deadline: Option<Instant>,
}

/// Largest form of something that a cell shows, in bytes; a larger one is left out. What an outcome has room for is less,
/// and for others to decide.
pub(crate) const FORM_BYTES: usize = 48 << 20;

/// How a cell ended, as its engine saw it.
#[derive(Default)]
pub(crate) struct Completion {
    /// The cell's value, when it produced one that could be handed over.
    pub(crate) value: Option<Json>,
    /// Why the cell is not ok.
    pub(crate) failure: Option<Failure>,
    /// The cell ended because the interrupter was pressed; the placement knows why that was, and `failure` may carry
    /// where the cell stood.
    pub(crate) interrupted: bool,
    /// What the reader must know besides.
    pub(crate) notice: Option<String>,
}

/// Which integers a value may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Integers {
    /// Everything from -2^63 to 2^64 - 1.
    #[default]
    Exact,
    /// Nothing beyond 2^53 - 1 in magnitude, for readers that parse JSON numbers as doubles.
    Safe,
}

/// A name that the program bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The class of its value.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The beginning of its value, computed without running the program's code.
    pub preview: String,
}

/// What an engine could not do; the text says what, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EngineError(pub(crate) String);
