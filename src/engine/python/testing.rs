//! The interpreter of the unit tests: one thread, which started it and so is Python's main thread, the only one in which
//! signal handlers run. Tests take turns on it. It lives until the process ends.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use pyo3::prelude::*;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` on Python's main thread, after the work of other tests.
pub(super) fn python<R: Send + 'static>(work: impl FnOnce(Python<'_>) -> R + Send + 'static) -> R {
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
