//! Every kind of value by its exact text or its exact refusal, both ways, and values made to do harm.
//!
//! Here is what the tests share: the thread that owns Python, and the two questions they ask.

mod accepted;
mod budget;
mod hostile;
mod incoming;
mod packages;
mod refused;

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Integers, Refusal, from_json, to_json, to_json_into};

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` on the thread that initialised Python, which is the only one that handles signals.
fn python<R: Send + 'static>(work: impl FnOnce(Python<'_>) -> R + Send + 'static) -> R {
    static MAIN_THREAD: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = MAIN_THREAD.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            Python::initialize();
            queue.into_iter().for_each(|job| job());
        });
        Mutex::new(jobs)
    });
    let (done, result) = mpsc::channel();
    let job: Job = Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| Python::attach(work)));
        drop(done.send(outcome));
    });
    match jobs.lock().map(|jobs| jobs.send(job)) {
        Ok(Ok(())) => {}
        other => panic!("the python thread is gone: {other:?}"),
    }
    match result.recv() {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(gone) => panic!("the python thread is gone: {gone}"),
    }
}

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
