//! The form of a suite file. A key that is not known is an error, so that no expectation is passed over.

use std::collections::BTreeMap;

use serde::Deserialize;
use warmcell::{FailureKind, Integers, Language, SessionState};

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    pub(super) language: Option<Language>,
    /// The packages that its sessions have.
    pub(super) venv: Option<Venv>,
    #[serde(rename = "case")]
    pub(super) cases: Vec<Case>,
}

/// A virtual environment of the tests'.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Venv {
    /// What shows things: matplotlib, pandas, polars, IPython and others.
    Display,
}

/// A few cells, and the sessions they run in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(rename = "about")]
    _about: Option<String>,
    pub(super) language: Option<Language>,
    pub(super) placement: Option<Vec<String>>,
    pub(super) engines: Option<Vec<String>>,
    #[serde(default)]
    pub(super) limits: BTreeMap<String, u64>,
    #[serde(default)]
    pub(super) open: Opening,
    #[serde(default)]
    pub(super) isolate: bool,
    #[serde(rename = "cell")]
    pub(super) cells: Vec<CellCase>,
}

/// What a case's sessions are opened with, besides limits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    pub(super) cwd: Option<String>,
    pub(super) python: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) integers: Option<Integers>,
}

/// A cell, and what its outcome must be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellCase {
    code: Option<String>,
    code_repeat: Option<Repeated>,
    #[serde(default = "main_session")]
    pub(super) session: String,
    pub(super) language: Option<Language>,
    #[serde(default)]
    pub(super) reset: bool,
    pub(super) timeout_ms: Option<u64>,
    #[serde(default = "once")]
    pub(super) repeat: usize,

    /// Whatever the outcome, it must come.
    #[serde(default)]
    pub(super) any: bool,
    pub(super) ok: Option<bool>,
    pub(super) value: Option<String>,
    #[serde(default)]
    pub(super) no_value: bool,
    pub(super) stdout: Option<String>,
    pub(super) stdout_contains: Option<String>,
    pub(super) stdout_ends: Option<String>,
    pub(super) stderr: Option<String>,
    pub(super) stderr_contains: Option<String>,
    pub(super) stderr_ends: Option<String>,
    pub(super) background_stdout: Option<String>,
    pub(super) error_kind: Option<FailureKind>,
    pub(super) error_name: Option<String>,
    pub(super) error_message: Option<String>,
    pub(super) error_line: Option<u32>,
    pub(super) error_contains: Option<String>,
    #[serde(default)]
    pub(super) traceback_contains: Vec<String>,
    #[serde(default)]
    pub(super) traceback_lacks: Vec<String>,
    pub(super) state: Option<SessionState>,
    #[serde(default)]
    pub(super) display_contains: BTreeMap<String, String>,
    pub(super) display: Option<Vec<Shown>>,
    pub(super) notice_contains: Option<String>,
    #[serde(default)]
    pub(super) no_notice: bool,
    pub(super) truncated: Option<bool>,
    pub(super) displays_left_out: Option<u64>,
    pub(super) max_ms: Option<u64>,
    pub(super) max_result_bytes: Option<usize>,
}

/// An entry of what a cell shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    /// All contents by MIME type, each exact.
    pub(super) data: Option<BTreeMap<String, toml::Value>>,
    /// All MIME types.
    pub(super) mimes: Option<Vec<String>>,
    #[serde(default)]
    pub(super) contains: BTreeMap<String, String>,
    pub(super) metadata: Option<String>,
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) updates: bool,
    pub(super) picture: Option<Picture>,
    #[serde(default = "once")]
    pub(super) times: usize,
}

/// What its PNG is, when it is decoded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Column, row, red, green and blue.
    #[serde(default)]
    pub(super) pixels: Vec<[u32; 5]>,
}

/// Source that would be too long to write out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    #[serde(default)]
    head: String,
    text: String,
    times: usize,
    #[serde(default)]
    tail: String,
}

fn main_session() -> String {
    "main".to_owned()
}

fn once() -> usize {
    1
}

impl CellCase {
    /// The source of the cell.
    pub(super) fn source(&self) -> String {
        match (&self.code, &self.code_repeat) {
            (Some(code), None) => code.strip_prefix('\n').unwrap_or(code).to_owned(),
            (
                None,
                Some(Repeated {
                    head,
                    text,
                    times,
                    tail,
                }),
            ) => {
                format!("{head}{}{tail}", text.repeat(*times))
            }
            _ => panic!("a cell has either `code` or `code_repeat`: {self:?}"),
        }
    }

    /// Whether the cell is to succeed: one that expects nothing of its failure must.
    pub(super) fn is_to_succeed(&self) -> bool {
        let expects_failure = self.error_kind.is_some()
            || self.error_name.is_some()
            || self.error_message.is_some()
            || self.error_line.is_some()
            || self.error_contains.is_some();
        self.ok.unwrap_or(!expects_failure)
    }
}
