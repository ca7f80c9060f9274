//! Packages that show things: their displays are led here when a program imports them, by `packages.py` beside this file.
//!
//! A finder stands first on `sys.meta_path`, where it is asked about each module that is not there yet. It costs a cell
//! nothing that imports nothing, and an import the comparison of a name.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyModule};

use super::helper::Lazy;
use super::{display, plots};

/// The packages that have modules of which `packages.py` knows.
const KNOWN: [&str; 4] = ["matplotlib", "IPython", "plotly", "PIL"];

static MODULE: Lazy = Lazy::new("packages", include_str!("packages.py"), furnish);

fn furnish(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.setattr("displays", display::module(py)?)?;
    module.setattr("plots", plots::module(py)?)
}

/// Has imports pass by.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let finders = py.import("sys")?.getattr("meta_path")?;
    finders.cast::<PyList>()?.insert(0, Bound::new(py, Finder)?)
}

#[pyclass(frozen, module = "warmcell", name = "Finder")]
struct Finder;

#[pymethods]
impl Finder {
    #[pyo3(signature = (name, path=None, target=None))]
    fn find_spec<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        path: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let package = name.split('.').next().unwrap_or_default();
        if !KNOWN.contains(&package) {
            return Ok(None);
        }
        let found = MODULE
            .get(slf.py())?
            .call_method1("find", (slf, name, path, target))?;
        Ok((!found.is_none()).then_some(found))
    }
}
