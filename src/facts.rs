//! [`EngineFacts`]: what a session would run on, told without running anything. An engine fills it in; who reports it to
//! a person or a client (`doctor`, the host protocol's `initialize`) needs to know no engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::placement::Placement;
use crate::runtime::{Language, SessionBuilder};

/// What an engine is, and what it found on this machine.
///
/// Made by [`SessionBuilder::facts`](crate::SessionBuilder::facts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EngineFacts {
    /// The language it runs.
    pub language: Language,
    /// Its name, `python` for instance.
    pub engine: String,
    /// The version of the language's implementation, `3.11.7` for instance.
    pub version: String,
    /// The program that sessions see as their interpreter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<PathBuf>,
    /// The shared library that is loaded for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
    /// The virtual environment whose packages sessions import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<PathBuf>,
    /// The files and folders that it reads its interpreter and packages from.
    #[serde(skip)]
    pub reads: Vec<PathBuf>,
    /// Why it is this executable and environment, as half a sentence: `the active VIRTUAL_ENV`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The limits that are armed; none before the engine has started.
    #[serde(default)]
    pub limits: Vec<ArmedLimit>,
    /// What was skipped or is missing, each with what to do about it.
    #[serde(default)]
    pub notices: Vec<String>,
}

/// A limit, and what holds a cell to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ArmedLimit {
    /// The limit, as the wire names it: `timeoutMs`, `memoryMb`.
    pub limit: String,
    /// Whether it is in force.
    pub armed: bool,
    /// What enforces it, or why nothing does.
    pub how: String,
}

/// The deadline that limits set, in words.
pub(crate) fn timeout_text(limits: &Limits) -> String {
    match limits.timeout {
        Some(timeout) => format!("{} ms", timeout.as_millis()),
        None => "none unless a cell has one".to_owned(),
    }
}

/// The limits that are held outside the engine: `outputBytes`, `valueBytes`, and what only a worker can be held to.
pub(crate) fn limits_of_every_engine(builder: &SessionBuilder) -> [ArmedLimit; 3] {
    let limits = &builder.limits;
    let limit = |limit: &str, armed, how| ArmedLimit {
        limit: limit.to_owned(),
        armed,
        how,
    };
    [
        limit(
            "outputBytes",
            true,
            format!("{} bytes a stream, its head and tail", limits.output_bytes),
        ),
        limit(
            "valueBytes",
            true,
            format!("{} bytes of JSON", limits.value_bytes),
        ),
        match builder.placement {
            Placement::InProcess => limit(
                "cpuMs",
                false,
                "needs a process of its own, as `processes`, `openFiles` and `fileMb` do"
                    .to_owned(),
            ),
            Placement::Worker => limit(
                "cpuMs",
                true,
                "the supervisor counts it, its children's too, and their number".to_owned(),
            ),
        },
    ]
}
