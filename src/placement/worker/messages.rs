//! What host, supervisor and workers say to each other: the headers of their [`frames`](super::frames).
//!
//! Host and worker are of one build (the first report says so, and anything else is refused), so nothing here is kept for
//! older readers. What a worker says is taken for what a hostile program may have written in its place: types are rebuilt
//! field by field, unknown fields are errors, and what becomes of a session is never read from a message.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::sandbox::Confinement;
use crate::capability::{CapabilityError, Offered};
use crate::engine::Integers;
use crate::limits::Limits;
use crate::outcome::Failure;
use crate::output::Stream;
use crate::runtime::{JavaScriptEngine, Language};

/// Counts the changes of what is said here.
pub(super) const PROTOCOL: u32 = 1;

/// The build that speaks.
pub(super) const BUILD: &str = env!("CARGO_PKG_VERSION");

/// What the entries that one cell shows may have together, in bytes: beyond it a worker sends none.
pub(super) const DISPLAY_BYTES: usize = 64 << 20;

/// What a host asks of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// Bring the language to life, with a temporary folder of its own.
    Prepare {
        prepare: Prepare,
        temporary: Option<PathBuf>,
    },
    /// Make the session.
    Open(Box<Open>),
    /// Run the cell whose source is the blob.
    Run {
        number: u64,
        epoch: u64,
        /// Somebody watches the output as it comes.
        watched: bool,
        /// How long it may run; for ever where that is absent.
        time_ms: Option<u64>,
    },
    /// Forget everything, running the finalisers of the program.
    Reset { epoch: u64 },
    /// List the names that are bound.
    Inspect,
    /// List the names of what a path of names leads to.
    Members { path: Vec<String> },
    /// Bind the value in the blob.
    Bind { name: String, epoch: u64 },
    /// To a backup: take over.
    Wake,
}

/// What brings a language to life; workers of one configuration are alike until they are opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prepare {
    pub(super) language: Language,
    pub(super) javascript_engine: JavaScriptEngine,
    pub(super) python: Option<PathBuf>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) confinement: Option<Confinement>,
}

/// What a session is made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Open {
    pub(super) memory_mb: u64,
    pub(super) open_files: Option<u64>,
    pub(super) file_mb: Option<u64>,
    pub(super) value_bytes: usize,
    pub(super) display_entries: usize,
    pub(super) integers: Integers,
    pub(super) code_cache: bool,
    pub(super) python: Option<PathBuf>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) imports_from: Option<PathBuf>,
    pub(super) env: BTreeMap<String, String>,
    /// The names of the host's variables that are not there.
    pub(super) withheld: Vec<String>,
    /// Whether the worker keeps a sleeping copy of itself.
    pub(super) backup: bool,
    /// The host functions that cells can call.
    pub(super) offered: Vec<Offered>,
}

impl Open {
    /// The limits that an engine keeps; the others are the host's to keep.
    pub(super) fn limits(&self) -> Limits {
        let mut limits = Limits::default().with_memory_mb(self.memory_mb);
        limits.value_bytes = self.value_bytes;
        limits.display_entries = self.display_entries;
        limits
    }
}

/// What a worker tells its host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Report {
    /// The language lives. Brings the socket for urgent orders.
    Hello(Hello),
    /// It does not, and why.
    Failed { text: String },
    /// What was asked for is done.
    Done,
    /// It is not, and why.
    Refused { text: String },
    /// The names that are bound, in the blob.
    Variables,
    /// The names of what was asked about, in the blob.
    Members,
    /// The cell has ended; its value is the blob.
    Ended(Box<Ended>),
    /// Output of earlier cells' threads and tasks, in the blob.
    Late { stream: OfStream },
    /// The program flushed a stream.
    Flushed { stream: OfStream },
    /// The cell shows what is in the blob.
    Display,
    /// The cell wants what it printed and showed gone.
    Clear { wait: bool },
    /// The cell calls a host function, with the arguments in the blob.
    Call {
        call: u64,
        capability: String,
        action: String,
    },
    /// A backup of the present state sleeps. Brings the socket that wakes it.
    Backup,
    /// There is none of it, though there should be, and why.
    NoBackup { text: String },
}

/// The first words of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) build: String,
    pub(super) languages: Vec<String>,
    /// The version of the language's implementation that was built in.
    pub(super) version: String,
    pub(super) process: i32,
}

/// How a cell ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ended {
    pub(super) epoch: u64,
    pub(super) has_value: bool,
    pub(super) failure: Option<Failure>,
    pub(super) interrupted: bool,
    pub(super) notice: Option<String>,
    /// How many displays were not sent.
    pub(super) displays_left_out: u64,
    /// Why there will be no backup of the state that the cell has left.
    pub(super) unprotected: Option<String>,
}

/// One of the two streams, on the wire.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OfStream {
    Stdout,
    Stderr,
}

impl From<Stream> for OfStream {
    fn from(stream: Stream) -> Self {
        match stream {
            Stream::Stdout => Self::Stdout,
            Stream::Stderr => Self::Stderr,
        }
    }
}

impl From<OfStream> for Stream {
    fn from(stream: OfStream) -> Self {
        match stream {
            OfStream::Stdout => Self::Stdout,
            OfStream::Stderr => Self::Stderr,
        }
    }
}

/// What a host asks of a worker while a cell runs, on a socket of its own.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Urgent {
    /// Stop the cell of `epoch`.
    Stop { epoch: u64 },
    /// A call was answered: with the value in the blob, or with what went wrong.
    Answer {
        call: u64,
        error: Option<CapabilityError>,
    },
}

/// The only word of a backup before it is woken.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asleep {
    pub(super) process: i32,
}

/// What a host asks of its supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Errand {
    /// Start a worker. Brings its control socket, its two pipes, and the line for [`Command`] and [`Notice`].
    Start {
        program: PathBuf,
        cwd: PathBuf,
        tag: u64,
        environment: Vec<(String, String)>,
        /// A folder to remove should the host end without doing so.
        temporary: Option<PathBuf>,
    },
    /// End whatever bears the tag: what a worker of a supervisor that died has left. Brings the line to say so on.
    Sweep { tag: u64 },
}

/// What a host asks about one worker. When its end of the line closes, everything of the worker's ends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Command {
    /// Kill the worker and all it started, except its backups.
    Kill { spare: Vec<i32> },
    /// Say what the worker and all it started use, without its backups.
    Use { spare: Vec<i32> },
    /// The backup is the worker from now on.
    Watch { process: i32 },
    /// Kill everything, and say when it is done.
    End,
}

/// What a worker and all it started use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Use {
    /// The worker itself is not counted.
    pub(super) processes: u64,
    /// The processor time of all, and of those of their children that have ended.
    pub(super) processor_ms: u64,
    /// What the largest of them holds in memory.
    pub(super) resident_mb: u64,
}

/// What a supervisor tells about one worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Notice {
    /// It runs.
    Started { process: i32 },
    /// It could not be started.
    Failed { text: String },
    /// It has died; `status` is as `waitpid` gives it.
    Died { process: i32, status: i32 },
    /// What they use.
    Use(Use),
    /// Everything of the worker's has ended, the backup excepted.
    Killed,
}
