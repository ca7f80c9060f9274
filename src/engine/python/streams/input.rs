//! The object that stands in `sys.stdin`, and the exception it raises: cells have no standard input.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::unsupported;

pyo3::create_exception!(
    builtins,
    InputRequested,
    pyo3::exceptions::PyBaseException,
    "A cell asked for standard input, which does not exist."
);

/// `sys.stdin`: asking for input ends the cell at once, also where the program catches every `Exception`.
#[pyclass(frozen, module = "warmcell", name = "NoInput")]
pub(super) struct NoInput;

#[pymethods]
impl NoInput {
    #[pyo3(signature = (*_arguments))]
    fn read(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<String> {
        Err(no_input())
    }

    #[pyo3(signature = (*_arguments))]
    fn read1(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<String> {
        Err(no_input())
    }

    #[pyo3(signature = (*_arguments))]
    fn readinto(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<String> {
        Err(no_input())
    }

    #[pyo3(signature = (*_arguments))]
    fn readline(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<String> {
        Err(no_input())
    }

    #[pyo3(signature = (*_arguments))]
    fn readlines(&self, _arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
        Err(no_input())
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> PyResult<String> {
        Err(no_input())
    }

    #[getter]
    fn buffer(this: Py<Self>) -> Py<Self> {
        this
    }

    #[getter]
    fn name(&self) -> &'static str {
        "<stdin>"
    }

    #[getter]
    fn mode(&self) -> &'static str {
        "r"
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        "utf-8"
    }

    #[getter]
    fn errors(&self) -> &'static str {
        "strict"
    }

    #[getter]
    fn newlines(&self) -> Option<&'static str> {
        None
    }

    #[getter]
    fn closed(&self) -> bool {
        false
    }

    fn close(&self) {}

    fn flush(&self) {}

    #[pyo3(signature = (**_options))]
    fn reconfigure(&self, _options: Option<&Bound<'_, PyDict>>) {}

    fn isatty(&self) -> bool {
        false
    }

    fn readable(&self) -> bool {
        true
    }

    fn writable(&self) -> bool {
        false
    }

    fn seekable(&self) -> bool {
        false
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        Err(unsupported(py, "fileno"))
    }

    fn __repr__(&self) -> &'static str {
        "<warmcell.NoInput name='<stdin>' mode='r' encoding='utf-8'>"
    }
}

fn no_input() -> PyErr {
    InputRequested::new_err("cells have no standard input")
}
