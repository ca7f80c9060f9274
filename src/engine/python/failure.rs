//! From a Python exception to a [`Failure`]: kind, name, message, the user's frames, and what to do.
//!
//! All of it runs inside the cell's deadline, since an exception's `__str__` is code of the program's. Whatever goes wrong
//! on the way, the class's name is left.

use std::collections::BTreeSet;

use pyo3::exceptions::{
    PyBaseException, PyKeyError, PyMemoryError, PyModuleNotFoundError, PyRuntimeError,
    PySyntaxError, PySystemExit, PyTypeError,
};
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString};

use super::streams::InputRequested;
use super::{cpython, helper, memory};
use crate::outcome::{Failure, FailureKind};

/// Longest message, in bytes. A longer one is cut in the middle.
const MESSAGE_BYTES: usize = 16 << 10;

/// Longest traceback, in bytes.
const TRACEBACK_BYTES: usize = 64 << 10;

/// Where an exception came from, for its report.
pub(super) struct Origin<'a> {
    /// The name that the cell's code was compiled with.
    pub(super) file_name: &'a str,
    /// How the reader knows the cell: `<cell 3>`.
    pub(super) shown_name: &'a str,
    /// The end of the names of this session's cells.
    pub(super) suffix: &'a str,
    /// The compiler raised it: nothing ran.
    pub(super) from_compiler: bool,
    /// The cell was stopped, which counts more than what it made of it.
    pub(super) was_stopped: bool,
    /// What its own task ended with then.
    pub(super) stopped_with: Option<PyErr>,
}

/// What says how to mend an environment.
pub(super) struct Environment<'a> {
    pub(super) executable: &'a str,
    pub(super) notice: Option<&'a str>,
    pub(super) memory_mb: u64,
    pub(super) withheld: &'a BTreeSet<String>,
}

/// The functions of `report.py`.
#[derive(Debug)]
pub(super) struct Reporter {
    module: Py<PyModule>,
}

impl Reporter {
    /// Loads them, and formats one exception, which takes 12 ms the first time and should not do so after a deadline.
    pub(super) fn load(py: Python<'_>) -> PyResult<Self> {
        let reporter = Self {
            module: helper::load(py, "report", include_str!("report.py"))?.unbind(),
        };
        let origin = Origin {
            file_name: "",
            shown_name: "",
            suffix: "",
            from_compiler: false,
            was_stopped: false,
            stopped_with: None,
        };
        let environment = Environment {
            executable: "",
            notice: None,
            memory_mb: 0,
            withheld: &BTreeSet::new(),
        };
        if let Err(error) = py.import("sys")?.getattr("warmcell_warms_up") {
            reporter.failure(py, &error, &origin, &environment);
        }
        Ok(reporter)
    }

    pub(super) fn failure(
        &self,
        py: Python<'_>,
        error: &PyErr,
        origin: &Origin<'_>,
        environment: &Environment<'_>,
    ) -> Failure {
        let value = error.value(py).as_any();
        attach_traceback(py, error);
        let mut failure = Failure::new(kind(py, error, origin), message(value))
            .with_name(cpython::type_name(value));
        if origin.from_compiler && error.is_instance_of::<PySyntaxError>(py) {
            // Without the place, which stands in fields of its own.
            failure.message = value
                .getattr("msg")
                .map_or(failure.message, |text| message(&text));
        }
        if let Ok((traceback, line, column)) = self.report(py, value, origin) {
            failure.traceback = Some(cut(traceback, TRACEBACK_BYTES));
            (failure.line, failure.column) = (line, column);
        }
        if failure.kind == FailureKind::Memory && failure.message.is_empty() {
            failure.message = "the interpreter's memory budget is used up".to_owned();
        }
        if failure.kind == FailureKind::Syntax && failure.message.is_empty() {
            // CPython's parser says so by a bare `MemoryError` when it is out of its own stack.
            failure.message = "the source is nested too deeply for CPython's parser".to_owned();
        }
        if failure.kind == FailureKind::Exit {
            failure.message = exit_status(py, error).unwrap_or(failure.message);
        }
        failure.hint = hint(py, error, failure.kind, environment)
            .or_else(|| self.withheld(py, error, environment))
            .or_else(|| of_a_loop(py, error, &failure.message))
            .or_else(|| of_a_notebook(&failure, error.value(py)));
        failure
    }

    /// How to get at a variable that the program looked for and the host has.
    fn withheld(
        &self,
        py: Python<'_>,
        error: &PyErr,
        environment: &Environment<'_>,
    ) -> Option<String> {
        if environment.withheld.is_empty() || !error.is_instance_of::<PyKeyError>(py) {
            return None;
        }
        let module = self.module.bind(py);
        let name = module.call_method1("missing_variable", (error.value(py),));
        let name: String = name.ok()?.extract().ok()?;
        environment.withheld.contains(&name).then(|| {
            format!(
                "the host has `{name}`, and cells in a worker do not see it: pass it by its name (`envPass`, `--env-pass {name}`), or give it a value"
            )
        })
    }

    fn report(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        origin: &Origin<'_>,
    ) -> PyResult<(String, Option<u32>, Option<u32>)> {
        let module = self.module.bind(py);
        let value = match &origin.stopped_with {
            Some(own) => module.call_method1("last_place", (value, own.value(py)))?,
            None if origin.was_stopped => module.call_method1("last_place", (value,))?,
            None => value.clone(),
        };
        let (text, line, column): (Bound<'_, PyString>, Option<i64>, Option<i64>) =
            if origin.from_compiler {
                module.call_method1("syntax_report", (value, origin.shown_name))?
            } else {
                let arguments = (
                    value,
                    origin.file_name,
                    origin.shown_name,
                    origin.suffix,
                    origin.was_stopped,
                );
                module.call_method1("report", arguments)?
            }
            .extract()?;
        let number = |number: Option<i64>| {
            number
                .and_then(|number| u32::try_from(number).ok())
                .filter(|n| *n > 0)
        };
        Ok((
            text.to_string_lossy().into_owned(),
            number(line),
            number(column),
        ))
    }
}

/// Before 3.12 an exception that C code fetched does not know its traceback.
fn attach_traceback(py: Python<'_>, error: &PyErr) {
    if let Some(traceback) = error.traceback(py) {
        // SAFETY: the lock is held; both are what the call asks for.
        unsafe {
            pyo3::ffi::PyException_SetTraceback(error.value(py).as_ptr(), traceback.as_ptr())
        };
    }
}

fn kind(py: Python<'_>, error: &PyErr, origin: &Origin<'_>) -> FailureKind {
    if origin.from_compiler && !(error.is_instance_of::<PyMemoryError>(py) && memory::has_refused())
    {
        FailureKind::Syntax
    } else if error.is_instance_of::<PySystemExit>(py) {
        FailureKind::Exit
    } else if error.is_instance_of::<InputRequested>(py) {
        FailureKind::Stdin
    } else if error.is_instance_of::<PyMemoryError>(py) {
        FailureKind::Memory
    } else {
        FailureKind::Exception
    }
}

/// Cells with an `await` run in the session's loop, those without one outside of it. A host function is called, or its `aio` is
/// awaited.
fn of_a_loop(py: Python<'_>, error: &PyErr, message: &str) -> Option<String> {
    let hint = if error.is_instance_of::<PyTypeError>(py) {
        message.ends_with("can't be used in 'await' expression").then_some(
            "host functions give their result without an `await`, and something to await when called as `.aio(...)`",
        )
    } else if !error.is_instance_of::<PyRuntimeError>(py) {
        None
    } else if message == "no running event loop"
        || message.starts_with("There is no current event loop")
    {
        Some(
            "a cell with an `await` in it runs in the session's event loop, where tasks live on into later cells: add `await asyncio.sleep(0)`",
        )
    } else if message == "asyncio.run() cannot be called from a running event loop" {
        Some(
            "this cell has an `await` and runs in the session's event loop already: `await` the coroutine itself",
        )
    } else {
        None
    };
    hint.map(str::to_owned)
}

/// What notebooks add to Python.
fn of_a_notebook(failure: &Failure, value: &Bound<'_, PyAny>) -> Option<String> {
    if failure.kind != FailureKind::Syntax {
        return None;
    }
    let line: String = value.getattr("text").ok()?.extract().ok()?;
    let hint = match line.trim_start().as_bytes().first()? {
        b'!' => "cells are plain Python: run commands by `subprocess.run`",
        b'%' => {
            "cells are plain Python, without magics: run commands by `subprocess.run`, `[sys.executable, '-m', 'pip', 'install', ...]` for instance"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn message(value: &Bound<'_, PyAny>) -> String {
    match value.str() {
        Ok(text) => cut(text.to_string_lossy().into_owned(), MESSAGE_BYTES),
        Err(_) => "<the exception's message cannot be shown: its `__str__` failed>".to_owned(),
    }
}

/// `sys.exit()` and `sys.exit(None)` are 0; `True` is 1, as for the python command.
fn exit_status(py: Python<'_>, error: &PyErr) -> Option<String> {
    let code = error.value(py).getattr("code").ok()?;
    if code.is_none() {
        return Some("0".to_owned());
    }
    match code.extract::<i64>() {
        Ok(status) => Some(status.to_string()),
        Err(_) => Some(message(&code)),
    }
}

fn hint(
    py: Python<'_>,
    error: &PyErr,
    kind: FailureKind,
    environment: &Environment<'_>,
) -> Option<String> {
    match kind {
        FailureKind::Stdin => Some(
            "hand the data in: bind it to a name before the cell, or write it into the code"
                .to_owned(),
        ),
        FailureKind::Memory => Some(format!(
            "delete large names with `del`, or work in smaller pieces; the interpreter may grow by {} MiB",
            environment.memory_mb
        )),
        FailureKind::Exception if error.is_instance_of::<PyModuleNotFoundError>(py) => {
            let mut install = format!("cells run on `{}`", environment.executable);
            if is_of_ipython(error.value(py)) {
                install = format!(
                    "`display`, `update_display` and `clear_output` are there without an import; {install}"
                );
            }
            Some(match environment.notice {
                Some(notice) => format!("{install}; {notice}"),
                None => format!("{install}; install what is missing with its `-m pip install`"),
            })
        }
        _ => None,
    }
}

/// Whether a module that was not found is of IPython.
fn is_of_ipython(error: &Bound<'_, PyBaseException>) -> bool {
    let name = error
        .getattr("name")
        .and_then(|name| name.extract::<String>());
    name.is_ok_and(|name| name.split('.').next() == Some("IPython"))
}

/// Cuts the middle out of a text that is too long, between characters.
pub(super) fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let half = most.saturating_sub(64) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!(
        "{}\n[{} bytes left out]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
