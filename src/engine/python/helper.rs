//! The engine's own Python code: `.py` files beside this one, loaded once.
//!
//! Each becomes a module that no program can import. All have a copy of the builtins that was made before any cell ran, so
//! that a cell which rebinds `repr` or `len` does not break the runtime.

use std::ffi::CString;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

use super::interrupt;

/// The builtins as they were when the first file was loaded.
static BUILTINS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// How the files of the engine's own code are named in tracebacks, where their frames are left out.
pub(super) const FILE_PREFIX: &str = "<warmcell ";

/// Runs `source` as a module.
pub(super) fn load<'py>(
    py: Python<'py>,
    name: &str,
    source: &str,
) -> PyResult<Bound<'py, PyModule>> {
    let module = PyModule::new(py, name)?;
    let builtins = BUILTINS.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import("builtins")?.dict().copy()?.unbind())
    })?;
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

/// A file that is loaded when it is first needed, which may be in the middle of a cell.
pub(super) struct Lazy {
    name: &'static str,
    source: &'static str,
    /// Gives the module what it needs of the engine.
    furnish: fn(&Bound<'_, PyModule>) -> PyResult<()>,
    module: PyOnceLock<Py<PyModule>>,
}

impl Lazy {
    pub(super) const fn new(
        name: &'static str,
        source: &'static str,
        furnish: fn(&Bound<'_, PyModule>) -> PyResult<()>,
    ) -> Self {
        Self {
            name,
            source,
            furnish,
            module: PyOnceLock::new(),
        }
    }

    pub(super) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyModule>> {
        let module = self.module.get_or_try_init(py, || {
            interrupt::undisturbed(|| {
                let module = load(py, self.name, self.source)?;
                (self.furnish)(&module)?;
                Ok::<_, PyErr>(module.unbind())
            })
        })?;
        Ok(module.bind(py))
    }
}
