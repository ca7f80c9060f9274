//! How a value that is not JSON is shown: its `repr`, and the richer forms it has.
//!
//! All of it is code of the program's, and runs inside the cell's deadline.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use serde_json::Value;

use super::streams::InputRequested;
use super::values::{self, Refusal};
use super::{cpython, failure, helper, interrupt};
use crate::engine::Integers;
use crate::outcome::Display;

/// Longest plain text, in bytes; more is cut out of its middle.
const TEXT_BYTES: usize = 64 << 10;

/// Largest richer form, in bytes; a larger one is left out.
const FORM_BYTES: usize = 4 << 20;

/// What an object shows, and what must be said about it.
pub(super) struct Shown {
    pub(super) display: Display,
    pub(super) notice: Option<String>,
}

/// The functions of `display.py`.
#[derive(Debug)]
pub(super) struct Displayer {
    module: Py<PyModule>,
}

impl Displayer {
    pub(super) fn load(py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            module: helper::load(py, "display", include_str!("display.py"))?.unbind(),
        })
    }

    /// Shows a value in all its forms.
    ///
    /// # Errors
    ///
    /// The interrupt's own exception; whatever else goes wrong is part of what is shown.
    pub(super) fn show(&self, value: &Bound<'_, PyAny>) -> PyResult<Shown> {
        let py = value.py();
        let mut display = Display::text(plain(value)?);
        let Some(stopped) = interrupt::exception(py) else {
            return Ok(Shown {
                display,
                notice: None,
            });
        };
        let result = self
            .module
            .bind(py)
            .call_method1("bundle", (value, stopped));
        let (forms, mut problems) = match result.and_then(|result| result.extract()) {
            Ok(result) => result,
            Err(error) if interrupt::is_interrupt(py, &error) => return Err(error),
            Err(error) => (
                PyDict::new(py),
                vec![format!("its richer forms could not be asked for: {error}")],
            ),
        };
        for (mime, form) in forms.iter() {
            let mime: String = match mime.extract() {
                Ok(mime) => mime,
                Err(_) => continue,
            };
            match values::to_json(&form, FORM_BYTES, Integers::Exact) {
                Ok(text) => {
                    if let Ok(form) = serde_json::from_str::<Value>(&text) {
                        display.data.insert(mime, form);
                    }
                }
                Err(Refusal::Interrupted(error)) => return Err(error),
                Err(refusal) => {
                    problems.push(format!("its `{mime}` is left out: {}", refusal.message()))
                }
            }
        }
        let notice = (!problems.is_empty()).then(|| {
            format!(
                "{} is not shown in full: {}",
                cpython::type_name(value),
                problems.join("; ")
            )
        });
        Ok(Shown { display, notice })
    }
}

/// A value's `repr`.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.repr() {
        Ok(text) => Ok(failure::cut(
            text.to_string_lossy().into_owned(),
            TEXT_BYTES,
        )),
        Err(error)
            if interrupt::is_interrupt(value.py(), &error)
                || error.is_instance_of::<InputRequested>(value.py()) =>
        {
            Err(error)
        }
        Err(error) => {
            let raised = cpython::type_name(error.value(value.py()).as_any());
            Ok(format!(
                "<{} object, whose `__repr__` raised {raised}>",
                cpython::type_name(value)
            ))
        }
    }
}
