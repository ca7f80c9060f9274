//! Every kind of value by its exact text or its exact refusal, both ways, and values made to do harm.
//!
//! Here is what the tests share: the two questions they ask.

mod accepted;
mod budget;
mod hostile;
mod incoming;
mod refused;

use std::ffi::CString;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Integers, Refusal, from_json, to_json, to_json_into};
use crate::engine::python::testing::python;

/// Runs `code` in a fresh namespace and hands its `x` to `work`.
fn with_x<R: Send + 'static>(
    code: &str,
    work: impl FnOnce(&Bound<'_, PyAny>) -> R + Send + 'static,
) -> R {
    let code = CString::new(code).unwrap_or_else(|error| panic!("{error}"));
    python(move |py| {
        let namespace = PyDict::new(py);
        let x = namespace
            .set_item("__name__", "__main__")
            .and_then(|()| py.run(&code, Some(&namespace), None))
            .and_then(|()| namespace.as_any().get_item("x"))
            .unwrap_or_else(|error| panic!("{code:?}: {error}"));
        let result = work(&x);
        assert!(PyErr::take(py).is_none(), "an exception was left behind");
        result
    })
}

fn convert(code: &str) -> Result<String, Refusal> {
    with_x(code, |x| to_json(x, usize::MAX, Integers::Exact))
}

#[track_caller]
fn accepts(code: &str, json: &str) {
    match convert(code) {
        Ok(text) => assert_eq!(text, json, "{code}"),
        Err(refusal) => panic!("{code}: {}", refusal.message()),
    }
}

/// Compares the message and checks that the hint holds `hint`; an empty one means that there is none.
#[track_caller]
fn refuses(code: &str, message: &str, hint: &str) {
    match convert(code) {
        Ok(text) => panic!("{code} became {text}"),
        Err(refusal) => {
            assert_eq!(refusal.message(), message, "{code}");
            let found = refusal.hint().unwrap_or_default();
            assert!(found.contains(hint), "{code}: {found}");
            assert_eq!(found.is_empty(), hint.is_empty(), "{code}: {found}");
        }
    }
}
