//! Errors of the compiler, in positions of the text that the user gave.

use pyo3::exceptions::PySyntaxError;
use pyo3::intern;
use pyo3::prelude::*;

use super::text;

pub(super) fn is_syntax(failure: &PyErr, py: Python<'_>) -> bool {
    failure.is_instance_of::<PySyntaxError>(py)
}

/// Whether CPython could read the whole cell and only minds a `return`.
pub(super) fn is_return_outside_function(failure: &PyErr, py: Python<'_>) -> bool {
    is_syntax(failure, py)
        && failure
            .value(py)
            .getattr(intern!(py, "msg"))
            .and_then(|message| message.extract::<String>())
            .is_ok_and(|message| message == "'return' outside function")
}

/// Completes a `SyntaxError`: its line of the text given, which CPython leaves out when the error is not the parser's, and its
/// columns as they were before `indentation` was taken off.
pub(super) fn in_given_text(
    failure: PyErr,
    py: Python<'_>,
    given: &str,
    indentation: &str,
) -> PyErr {
    if is_syntax(&failure, py) {
        // What cannot be completed is still the error.
        let _ = complete(failure.value(py), given, indentation);
    }
    failure
}

fn complete(error: &Bound<'_, PyAny>, given: &str, indentation: &str) -> PyResult<()> {
    let py = error.py();
    let Some(number) = error.getattr(intern!(py, "lineno"))?.extract()? else {
        return Ok(());
    };
    let line = text::line(given, number).unwrap_or_default();
    let shift = shift(line, indentation);
    if shift > 0 || error.getattr(intern!(py, "text"))?.is_none() {
        error.setattr(intern!(py, "text"), line)?;
    }
    move_column(error, intern!(py, "offset"), shift)?;
    if let Some(end) = error.getattr(intern!(py, "end_lineno"))?.extract()? {
        let line = text::line(given, end).unwrap_or_default();
        let end_offset = intern!(py, "end_offset");
        move_column(error, end_offset, self::shift(line, indentation))?;
    }
    Ok(())
}

/// How many columns this line lost.
fn shift(line: &str, indentation: &str) -> usize {
    if line.starts_with(indentation) {
        indentation.chars().count()
    } else {
        0
    }
}

fn move_column(
    error: &Bound<'_, PyAny>,
    attribute: &Bound<'_, pyo3::types::PyString>,
    shift: usize,
) -> PyResult<()> {
    if shift == 0 {
        return Ok(());
    }
    match error.getattr(attribute)?.extract::<Option<i64>>()? {
        // CPython's mark for "no end".
        Some(column) if column > 0 => error.setattr(attribute, column + shift as i64),
        _ => Ok(()),
    }
}
