//! What of the process a cell may change through CPython's functions, and the host gets back after it: signal
//! dispositions, the thread's signal mask, timers, the locale.
//!
//! The functions that change them are replaced by ones that note, once a cell, what was there, and then do what they are
//! asked. A cell that calls none of them pays nothing (reading all dispositions would cost each cell 16 µs).
//!
//! Signals that a cell handles are sent on to its thread: [`relay`].
//!
//! [`NOTED`] is locked for as long as it takes to read or write these things, by the interpreter's thread alone.

mod relay;

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::interrupt;

static TOUCHED: AtomicBool = AtomicBool::new(false);

static NOTED: Mutex<Option<Noted>> = Mutex::new(None);

/// What a cell found, and CPython's own idea of the handlers it replaced.
struct Noted {
    snapshot: Snapshot,
    handlers: Vec<(c_int, Py<PyAny>)>,
    /// CPython's own `signal.signal`.
    set_handler: Option<Py<PyAny>>,
}

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
    guard(
        &py.import("_signal")?,
        &[
            "signal",
            "siginterrupt",
            "pthread_sigmask",
            "alarm",
            "setitimer",
        ],
    )?;
    guard(&py.import("posix")?, &["kill"])?;
    guard(&py.import("faulthandler")?, &["enable", "register"])?;
    guard(&py.import("_locale")?, &["setlocale"])
}

fn guard(module: &Bound<'_, PyModule>, functions: &[&str]) -> PyResult<()> {
    for name in functions {
        let original = module.getattr(*name)?.unbind();
        let guarded = Bound::new(
            module.py(),
            Guarded {
                name: (*name).to_owned(),
                original,
            },
        )?;
        module.setattr(*name, guarded)?;
    }
    // `signal` holds names of `_signal`, and `os` of `posix`, not the modules.
    let (holder, held): (_, &[&str]) = match module.name()?.to_str()? {
        "_signal" => ("signal", &["siginterrupt", "alarm", "setitimer"]),
        "posix" => ("os", functions),
        _ => return Ok(()),
    };
    let holder = module.py().import(holder)?;
    for name in held {
        holder.setattr(*name, module.getattr(*name)?)?;
    }
    Ok(())
}

/// A function of CPython's that changes dispositions, the signal mask or a timer, or sends a signal.
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
        if self.name == "kill" {
            return match raised(py, arguments)? {
                Some(nothing) => Ok(nothing),
                None => self.original.bind(py).call(arguments, keywords),
            };
        }
        note();
        let result = self.original.bind(py).call(arguments, keywords)?;
        if self.name == "signal"
            && let Some(signal) = number_of(arguments, 0)
        {
            note_handler(signal, &result, &self.original);
            relay::put_before(signal);
        }
        Ok(result)
    }

    fn __repr__(&self) -> String {
        format!("<function {}>", self.name)
    }
}

/// A program that sends itself a signal which it handles: it expects its handler to have run when `os.kill` returns, as it has
/// in a process of one thread.
fn raised<'py>(
    py: Python<'py>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(process), Some(signal)) = (number_of(arguments, 0), number_of(arguments, 1)) else {
        return Ok(None);
    };
    let is_own = u32::try_from(process) == Ok(std::process::id());
    if !(is_own && interrupt::runs_here() && relay::handles(signal)) {
        return Ok(None);
    }
    // SAFETY: sends this thread a signal whose handler is ours.
    unsafe { libc::raise(signal) };
    py.check_signals()?;
    Ok(Some(py.None().into_bound(py)))
}

fn number_of(arguments: &Bound<'_, PyTuple>, index: usize) -> Option<c_int> {
    arguments.get_item(index).ok()?.extract().ok()
}

fn note() {
    if TOUCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    let noted = Noted {
        snapshot: Snapshot::take(),
        handlers: Vec::new(),
        set_handler: None,
    };
    *NOTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(noted);
}

/// `signal.signal` has returned the handler it replaced.
fn note_handler(signal: c_int, replaced: &Bound<'_, PyAny>, set_handler: &Py<PyAny>) {
    if let Some(noted) = &mut *NOTED.lock().unwrap_or_else(PoisonError::into_inner)
        && !replaced.is_none()
        && noted.handlers.iter().all(|(known, _)| *known != signal)
    {
        noted.handlers.push((signal, replaced.clone().unbind()));
        noted.set_handler = Some(set_handler.clone_ref(replaced.py()));
    }
}

/// Puts back what the cell that has just ended changed.
pub(super) fn put_back(py: Python<'_>) {
    if !TOUCHED.swap(false, Ordering::Relaxed) {
        return;
    }
    let noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Noted {
        snapshot,
        handlers,
        set_handler,
    }) = noted
    {
        // First what CPython believes, so that it does not go on thinking that the cell's handler is there.
        for (signal, handler) in handlers {
            relay::drop_pending(signal);
            if let Some(set_handler) = &set_handler
                && let Err(error) = set_handler.call1(py, (signal, handler))
            {
                error.write_unraisable(py, None);
            }
        }
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

/// All dispositions, the mask of the thread that took them, and the locale.
struct Snapshot {
    dispositions: Vec<(c_int, libc::sigaction)>,
    mask: libc::sigset_t,
    locale: Option<CString>,
}

impl Snapshot {
    fn take() -> Self {
        let dispositions = (1..=libc::SIGRTMAX())
            .filter_map(|signal| Some((signal, disposition(signal)?)))
            .collect();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: reads into the struct; all zeros is a set.
        let mask = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        };
        // SAFETY: asks for the name, which is valid until the next call and copied at once.
        let locale = unsafe {
            let name = libc::setlocale(libc::LC_ALL, std::ptr::null());
            (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
        };
        Self {
            dispositions,
            mask,
            locale,
        }
    }

    /// Writes what differs: an equal disposition written again is not quite the same, since the C library adds a flag.
    fn restore(&self, except: &[c_int]) {
        for (signal, before) in &self.dispositions {
            if except.contains(signal) || disposition(*signal).is_some_and(|now| same(before, &now))
            {
                continue;
            }
            // SAFETY: writes a disposition that was read; the kernel refuses SIGKILL and SIGSTOP, which never change.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        // SAFETY: writes a mask that was read on this thread.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.mask,
                std::ptr::null_mut(),
            )
        };
        if let Some(locale) = &self.locale {
            // SAFETY: sets a locale by the name that the C library gave it.
            unsafe { libc::setlocale(libc::LC_ALL, locale.as_ptr()) };
        }
    }
}

/// None for the signals that the C library keeps for itself.
fn disposition(signal: c_int) -> Option<libc::sigaction> {
    let mut disposition = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads into the struct.
    let read = unsafe { libc::sigaction(signal, std::ptr::null(), disposition.as_mut_ptr()) } == 0;
    // SAFETY: all zeros is a disposition, and a successful call has filled it in.
    read.then(|| unsafe { disposition.assume_init() })
}

fn same(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    one.sa_sigaction == other.sa_sigaction && one.sa_flags == other.sa_flags
}
