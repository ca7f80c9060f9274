//! Figures of matplotlib: those that a cell leaves open are shown and closed when it ends. `plots.py` beside this file does
//! it; here is what costs a cell nothing where no program has imported matplotlib.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyModule;

use super::helper::Lazy;
use super::{display, interrupt, streams};

static MODULE: Lazy = Lazy::new("plots", include_str!("plots.py"), furnish);

/// There can be figures.
static ARE_POSSIBLE: AtomicBool = AtomicBool::new(false);

fn furnish(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.setattr("displays", display::module(module.py())?)?;
    module.add_function(pyo3::wrap_pyfunction!(owner, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(expect_figures, module)?)
}

pub(super) fn module<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyModule>> {
    MODULE.get(py)
}

/// Shows the figures that the session has open, and closes them. One that cannot be drawn is noted, and those that are more
/// than the `most` entries of an outcome are not drawn. An interrupt ends it.
pub(super) fn show_open(py: Python<'_>, most: usize) {
    if !ARE_POSSIBLE.load(Ordering::Relaxed) {
        return;
    }
    let shown = module(py).and_then(|module| module.call_method1("show_open", (most,)));
    if let Err(error) = shown
        && !interrupt::is_interrupt(py, &error)
    {
        error.write_unraisable(py, None);
    }
}

/// Closes the figures that the session has open without a look at them, and runs no code of the program's. Says how many
/// there were, if any.
pub(super) fn drop_open(py: Python<'_>) -> Option<String> {
    if !ARE_POSSIBLE.load(Ordering::Relaxed) {
        return None;
    }
    let dropped = module(py).and_then(|module| module.call_method0("drop_open")?.extract());
    match dropped.unwrap_or(0_usize) {
        0 => None,
        1 => Some("1 open figure was closed without being drawn".to_owned()),
        many => Some(format!(
            "{many} open figures were closed without being drawn"
        )),
    }
}

/// Gives matplotlib's settings their first values.
pub(super) fn put_back(py: Python<'_>) {
    if ARE_POSSIBLE.load(Ordering::Relaxed)
        && let Err(error) = module(py).and_then(|module| module.call_method0("put_back"))
    {
        error.write_unraisable(py, None);
    }
}

/// In whose name the calling thread runs.
#[pyfunction]
fn owner(py: Python<'_>) -> usize {
    streams::owner(py)
}

#[pyfunction]
fn expect_figures() {
    ARE_POSSIBLE.store(true, Ordering::Relaxed);
}
