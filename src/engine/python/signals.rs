//! The host's signal dispositions, which are the same after a cell as before it.
//!
//! CPython's functions that change them are replaced by ones that note, once a cell, what was there, and then do what they
//! are asked. After the cell everything is put back. A cell that changes nothing pays nothing (reading all dispositions
//! would cost it 16 µs).
//!
//! [`BEFORE`] is locked for as long as it takes to read or write the dispositions, by the interpreter's thread alone.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::interrupt;

static TOUCHED: AtomicBool = AtomicBool::new(false);

static BEFORE: Mutex<Option<Snapshot>> = Mutex::new(None);

/// Imports `signal` without leaving CPython's handler for SIGINT behind, installs the private signal's handler, and guards
/// the functions that change dispositions.
pub(super) fn install(py: Python<'_>, handler: &Bound<'_, PyAny>) -> PyResult<()> {
    let snapshot = Snapshot::take();
    // Importing `_signal` installs a handler where SIGINT has its default (PyO3#2576 and others).
    let signal = py.import("signal")?;
    // Python should not believe that its own handler is there: `asyncio.run` would then install another.
    signal.call_method1("signal", (libc::SIGINT, signal.getattr("SIG_DFL")?))?;
    signal.call_method1("signal", (interrupt::signal(), handler))?;
    snapshot.restore(&[interrupt::signal()]);
    guard(&py.import("_signal")?, &["signal", "siginterrupt", "pthread_sigmask", "alarm", "setitimer"])?;
    guard(&py.import("faulthandler")?, &["enable", "register"])
}

fn guard(module: &Bound<'_, PyModule>, functions: &[&str]) -> PyResult<()> {
    for name in functions {
        let original = module.getattr(*name)?.unbind();
        let guarded = Bound::new(module.py(), Guarded { name: (*name).to_owned(), original })?;
        module.setattr(*name, guarded)?;
    }
    // `signal` holds names of `_signal`, not the module.
    if module.name()? == "_signal" {
        let signal = module.py().import("signal")?;
        for name in ["siginterrupt", "alarm", "setitimer"] {
            signal.setattr(name, module.getattr(name)?)?;
        }
    }
    Ok(())
}

/// A function of CPython's that changes dispositions, the signal mask or a timer.
#[pyclass(frozen, module = "signal")]
struct Guarded {
    name: String,
    original: Py<PyAny>,
}

#[pymethods]
impl Guarded {
    #[pyo3(signature = (*arguments, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        note();
        self.original.bind(py).call(arguments, keywords)
    }

    fn __repr__(&self) -> String {
        format!("<function {}>", self.name)
    }
}

fn note() {
    if TOUCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Snapshot::take());
}

/// Puts back what the cell that has just ended changed.
pub(super) fn put_back() {
    if !TOUCHED.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(snapshot) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        snapshot.restore(&[]);
        stop_timers();
    }
}

/// A timer of the cell's must not fire into the host, whose disposition may be to die of it.
fn stop_timers() {
    // SAFETY: a zero timer is plain data; the calls only disarm.
    unsafe {
        let off = MaybeUninit::<libc::itimerval>::zeroed().assume_init();
        for timer in [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
            libc::setitimer(timer, &raw const off, std::ptr::null_mut());
        }
    }
}

/// All dispositions, and the mask of the thread that took them.
struct Snapshot {
    dispositions: Vec<(c_int, libc::sigaction)>,
    mask: libc::sigset_t,
}

impl Snapshot {
    fn take() -> Self {
        let dispositions = (1..=libc::SIGRTMAX())
            .filter_map(|signal| {
                let mut disposition = MaybeUninit::<libc::sigaction>::zeroed();
                // SAFETY: reads into the struct; glibc refuses the signals it keeps for itself.
                let read = unsafe { libc::sigaction(signal, std::ptr::null(), disposition.as_mut_ptr()) } == 0;
                // SAFETY: all zeros is a disposition, and a successful call has filled it in.
                read.then(|| (signal, unsafe { disposition.assume_init() }))
            })
            .collect();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: reads into the struct; all zeros is a set.
        let mask = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        };
        Self { dispositions, mask }
    }

    fn restore(&self, except: &[c_int]) {
        for (signal, disposition) in &self.dispositions {
            if !except.contains(signal) {
                // SAFETY: writes a disposition that was read; the kernel refuses SIGKILL and SIGSTOP, which never change.
                unsafe { libc::sigaction(*signal, disposition, std::ptr::null_mut()) };
            }
        }
        // SAFETY: writes a mask that was read on this thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut()) };
    }
}
