//! The engine's own Python code: `.py` files beside this one, loaded once.
//!
//! Each becomes a module that no program can import, with a copy of the builtins of its own, so that a cell which rebinds
//! `repr` or `len` does not break the runtime.

use std::ffi::CString;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

/// How the files of the engine's own code are named in tracebacks, where their frames are left out.
pub(super) const FILE_PREFIX: &str = "<warmcell ";

/// Runs `source` as a module.
pub(super) fn load<'py>(
    py: Python<'py>,
    name: &str,
    source: &str,
) -> PyResult<Bound<'py, PyModule>> {
    let module = PyModule::new(py, name)?;
    let builtins: Bound<'py, PyDict> = py.import("builtins")?.dict().copy()?;
    module.dict().set_item("__builtins__", builtins)?;
    let source = CString::new(source)?;
    let file_name = CString::new(format!("{FILE_PREFIX}{name}>"))?;
    // SAFETY: the lock is held, and both texts are C strings that live across the call.
    let code = unsafe {
        let code = ffi::Py_CompileString(source.as_ptr(), file_name.as_ptr(), ffi::Py_file_input);
        Bound::from_owned_ptr_or_err(py, code)
    }?;
    super::cpython::evaluate(&code, module.dict().as_any())?;
    Ok(module)
}
