//! Cells that await: one event loop for the life of a session, driven by `tasks.py` beside this file.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule};

use super::{helper, interrupt};

/// What the interrupt calls, on the interpreter's thread.
static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();

struct Interrupts {
    whose: Py<PyAny>,
    cancel_instead: Py<PyAny>,
    give_up_instead: Py<PyAny>,
}

/// The functions of `tasks.py`. It is loaded by the first cell that awaits: importing asyncio takes longer than everything else a first cell does.
#[derive(Debug)]
pub(super) struct Tasks {
    module: Py<PyModule>,
}

impl Tasks {
    pub(super) fn load(py: Python<'_>) -> PyResult<Self> {
        let module = helper::load(py, "tasks", include_str!("tasks.py"))?;
        let _ = INTERRUPTS.set(Interrupts {
            whose: module.getattr("whose")?.unbind(),
            cancel_instead: module.getattr("cancel_instead")?.unbind(),
            give_up_instead: module.getattr("give_up_instead")?.unbind(),
        });
        Ok(Self {
            module: module.unbind(),
        })
    }

    pub(super) fn new_loop(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.module.bind(py).call_method0("new_loop")?.unbind())
    }

    pub(super) fn make_current(&self, py: Python<'_>, event_loop: &Py<PyAny>) -> PyResult<()> {
        self.module
            .bind(py)
            .call_method1("make_current", (event_loop,))
            .map(drop)
    }

    /// Runs the parts of a cell in order, inside the loop.
    pub(super) fn run<'py>(
        &self,
        py: Python<'py>,
        event_loop: &Py<PyAny>,
        parts: &Bound<'py, PyList>,
        globals: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.module
            .bind(py)
            .call_method1("run", (event_loop, parts, globals))
    }

    /// Ends the coroutine of the cell's own task, should it not have ended. Returns the exception with which the cell's code
    /// ended, which may know the place where that waited.
    ///
    /// Called natively, so that the trace function which holds the coroutine hits the program's code and nothing else.
    pub(super) fn end_own(&self, py: Python<'_>) -> Option<PyErr> {
        let driving = self.module.bind(py).getattr("driving").ok()?;
        let (_, task): (Bound<'_, PyAny>, Bound<'_, PyAny>) = driving.extract().ok()?;
        let is_done = task
            .call_method0("done")
            .and_then(|done| done.is_truthy())
            .unwrap_or(true);
        if is_done {
            return task.call_method0("result").err();
        }
        let coroutine = task.call_method0("get_coro").ok()?;
        let stop = interrupt::stopped(py);
        interrupt::holding(py, || {
            let ended = coroutine.call_method1("throw", (stop.value(py),)).err();
            // What it raises on its way out is of no use to anyone.
            let _ = coroutine.call_method0("close");
            ended
        })
    }

    /// Puts the loop in order after an interrupt.
    pub(super) fn repair(&self, py: Python<'_>, event_loop: &Py<PyAny>) -> PyResult<()> {
        self.module
            .bind(py)
            .call_method1("repair", (event_loop,))
            .map(drop)
    }

    /// Gives the loop of a copied process a selector of its own.
    pub(super) fn take_over(&self, py: Python<'_>, event_loop: &Py<PyAny>) -> PyResult<()> {
        self.module
            .bind(py)
            .call_method1("take_over", (event_loop,))
            .map(drop)
    }

    /// Ends the loop and its tasks.
    pub(super) fn end(&self, py: Python<'_>, event_loop: &Py<PyAny>) -> PyResult<()> {
        self.module
            .bind(py)
            .call_method1("end", (event_loop,))
            .map(drop)
    }
}

/// Whose code an interrupt meets on the interpreter's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The cell's own: raising stops it.
    Own,
    /// A task of an earlier cell.
    OtherTask,
    /// The event loop.
    Loop,
}

/// Whose code runs.
pub(super) fn whose(py: Python<'_>) -> Runs {
    ask(py, |interrupts| &interrupts.whose)
}

/// Cancels the cell's own task where raising would hit the loop or a task of another cell.
pub(super) fn cancel_instead(py: Python<'_>) -> Runs {
    ask(py, |interrupts| &interrupts.cancel_instead)
}

/// Has the loop stop where raising would hit it or a task of another cell.
pub(super) fn give_up_instead(py: Python<'_>) -> Runs {
    ask(py, |interrupts| &interrupts.give_up_instead)
}

fn ask(py: Python<'_>, function: fn(&Interrupts) -> &Py<PyAny>) -> Runs {
    let answer = INTERRUPTS
        .get()
        .and_then(|interrupts| function(interrupts).bind(py).call0().ok());
    match answer
        .and_then(|answer| answer.extract::<String>().ok())
        .as_deref()
    {
        Some("other") => Runs::OtherTask,
        Some("loop") => Runs::Loop,
        _ => Runs::Own,
    }
}
