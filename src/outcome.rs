//! What came of a cell: [`Outcome`] and its parts, and their wire form (camelCase JSON; absent fields are left out).
//!
//! Only data lives here. Who fills it in: an engine says how the cell ended, the output ledgers say what it printed, and
//! the placement says what became of the session.

mod json;
mod note;

use serde::{Deserialize, Serialize};

pub use json::{InvalidJson, Json};
pub(crate) use note::{Note, Original, Shown};

/// The result of one cell, whatever the cell did.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session};
///
/// let session = Session::builder(Language::Python).open_blocking()?;
/// let outcome = session.run("print('hello'); 6 * 7".into())?.wait();
/// assert!(outcome.ok);
/// assert_eq!(outcome.value.unwrap().parse::<i64>()?, 42);
/// assert_eq!(outcome.stdout, "hello\n");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Outcome {
    /// Whether the cell ran to its end and its value could be handed over.
    pub ok: bool,
    /// The cell's value as JSON text. Absent when the cell produced none; `null` only when it produced null.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "json::present"
    )]
    pub value: Option<Json>,
    /// What the cell printed to standard output, exact within the output budget, as a terminal shows it: what a carriage
    /// return made it write over is gone, so that a progress bar is its last state.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What the cell printed to standard error, likewise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// What threads, tasks and timers of earlier cells printed since the last outcome.
    #[serde(default, skip_serializing_if = "Background::is_empty")]
    pub background: Background,
    /// Which streams were cut, and by how much.
    #[serde(default, skip_serializing_if = "Truncated::is_empty")]
    pub truncated: Truncated,
    /// What the cell showed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<Display>,
    /// Where large texts of this outcome lie as files besides, when the host gave a place.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    pub files: Files,
    /// Why the cell is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What became of the session's bindings.
    pub state: SessionState,
    /// What the reader must know besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Which cell of its session this was: 1 for the first one a user ran. Blank cells do not count.
    pub execution_count: u64,
    /// Wall time of the cell in milliseconds, with microsecond digits.
    pub duration_ms: f64,
}

/// Text that earlier cells printed late: never mixed into another cell's text, never lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Background {
    /// Late standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Late standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl Background {
    /// Whether nothing was printed late.
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }
}

/// Which streams were over their budget; a stream that is whole is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Truncated {
    /// The cell's standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Cut>,
    /// The cell's standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Cut>,
    /// Late standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_stdout: Option<Cut>,
    /// Late standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_stderr: Option<Cut>,
    /// How many display entries were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub displays_left_out: u64,
}

impl Truncated {
    /// Whether nothing was cut.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How much of a stream was cut out of its middle. Lines are counted by their newline characters, and what was written over
/// after a carriage return counts as if it had never been printed: the counts are those of the text, and of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cut {
    /// Bytes printed in all.
    pub bytes: u64,
    /// Lines printed in all.
    pub lines: u64,
    /// Bytes that are not in the text.
    pub bytes_left_out: u64,
    /// Lines that are not in the text.
    pub lines_left_out: u64,
    /// Where the whole text was spilled, when the host gave a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Texts of an outcome that are large, though within their budgets: a model, or a client, may be shown less of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Files {
    /// The cell's value, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The cell's standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// The cell's standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Files {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One thing a cell showed: the same content in one or more MIME types.
///
/// A form that is over its budget is not there as it was shown: an image is scaled (`shown` is `scaled`), plain text has its
/// head and its tail (`cut`), anything else is left out (`none`). `metadata` says so under the form's type, in `shown` and in
/// `original`, which has the exact size in `bytes`, an image's `width` and `height`, and the `file` in which it lies whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Display {
    /// The MIME bundle: `text/plain`, `text/html`, `image/png` as base64, `application/json` and so on.
    pub data: serde_json::Map<String, serde_json::Value>,
    /// What a renderer may want to know about `data`, by MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// Where the image, or else the largest form, was written as it was shown, when the host gave a place. An entry of small
    /// texts has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The name by which the program updates this entry.
    #[serde(default, rename = "displayId", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether this is new content for an entry of an earlier cell with the same `id`. An update within a cell changes the
    /// entry in its place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub updates: bool,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Display {
    /// A bundle of plain text alone.
    pub fn text(text: impl Into<String>) -> Self {
        let mut data = serde_json::Map::new();
        data.insert(
            "text/plain".to_owned(),
            serde_json::Value::String(text.into()),
        );
        Self {
            data,
            metadata: None,
            file: None,
            id: None,
            updates: false,
        }
    }
}

/// Why a cell is not `ok`. It comes from the exception itself, never from what was printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure it is, the same words in every language.
    pub kind: FailureKind,
    /// The class of the exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The exception's message, or ours.
    pub message: String,
    /// The user's frames alone, with their source lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// Line of the deepest frame in this cell, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in that line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Longest message of a failure, in bytes. Engines cut those of programs sooner and in their middle; this is for their own, in
/// which names of a program's may stand.
const MESSAGE_BYTES: usize = 32 << 10;

impl Failure {
    /// A failure of `kind` that says `message` and nothing more.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            name: None,
            message: beginning(message.into(), MESSAGE_BYTES),
            traceback: None,
            line: None,
            column: None,
            hint: None,
        }
    }

    /// What the problem of a placement is to a cell: a line that says what to do becomes the hint.
    pub(crate) fn unavailable(problem: &str) -> Self {
        let (message, hint) = match problem.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint.to_owned())),
            None => (problem, None),
        };
        Self {
            hint,
            ..Self::new(FailureKind::Unavailable, message)
        }
    }

    /// The same failure, of an exception of that class.
    #[cfg(any(feature = "python", feature = "_javascript"))]
    pub(crate) fn with_name(mut self, name: impl Into<String>) -> Self {
        /// In bytes: a program may call its exceptions anything.
        const NAME_BYTES: usize = 1 << 10;
        self.name = Some(beginning(name.into(), NAME_BYTES));
        self
    }

    /// The same failure, which also says what to do.
    #[cfg(feature = "_javascript")]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// As much of a text as fits, between characters.
fn beginning(mut text: String, most: usize) -> String {
    const MARK: &str = "...";
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - MARK.len()));
        text.push_str(MARK);
    }
    text
}

/// The kinds of failure, the same in every language and placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The cell was blank.
    Empty,
    /// It did not compile; nothing ran.
    Syntax,
    /// The program raised.
    Exception,
    /// The program asked to exit; the status is in the message.
    Exit,
    /// The program asked for input, which cells do not have.
    Stdin,
    /// The deadline passed.
    Timeout,
    /// The host cancelled the cell.
    Cancelled,
    /// The memory budget was used up.
    Memory,
    /// The value is over its budget.
    OutputLimit,
    /// The returned value is not lossless JSON.
    InvalidOutput,
    /// The worker process died.
    WorkerExit,
    /// There is no interpreter to run the cell.
    Unavailable,
    /// A fault of warmcell, or an engine's panic.
    Internal,
}

impl FailureKind {
    /// The kind as it stands on the wire, `output-limit` for instance.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Syntax => "syntax",
            Self::Exception => "exception",
            Self::Exit => "exit",
            Self::Stdin => "stdin",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Memory => "memory",
            Self::OutputLimit => "output-limit",
            Self::InvalidOutput => "invalid-output",
            Self::WorkerExit => "worker-exit",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

/// What became of the session's bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SessionState {
    /// Every binding made before and by this cell is there.
    Kept,
    /// Earlier bindings are there; this cell's effects on the session are undone.
    Restored,
    /// Earlier bindings are gone.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::beginning;

    #[test]
    fn a_text_over_its_budget_is_cut_between_characters() {
        assert_eq!(beginning("abcdef".to_owned(), 6), "abcdef");
        assert_eq!(beginning("abcdefg".to_owned(), 6), "abc...");
        assert_eq!(beginning("äöüß".to_owned(), 6), "ä...");
    }
}
