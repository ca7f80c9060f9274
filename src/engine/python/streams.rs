//! `sys.stdout`, `sys.stderr` and `sys.stdin` of all sessions, and in whose name something is printed.
//!
//! One pair of objects serves the process, since programs keep them: a logging handler made in one cell must speak in the
//! cell that uses it. Each write asks the [`Route`] where it belongs:
//! - on the interpreter's thread: to the running cell, unless a task of an earlier cell's runs, which its context tells;
//! - on another thread: to the running cell, unless the thread was there when an earlier cell ended.
//!
//! The route is locked for a look, then the sink is called; a sink never comes back here. In a child that the program
//! forked, text goes straight to descriptor 1 or 2 and no lock is taken, since its holder may not exist there.

mod input;
mod text;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

pub(super) use self::input::InputRequested;
use self::input::NoInput;
use self::text::TextStream;
use super::audit;
use super::cpython::{self, ContextVariable};
use crate::outcome::Display;
use crate::output::{Origin, Sink, Stream};

static ROUTE: Mutex<Option<Route>> = Mutex::new(None);

/// Descriptors 1 and 2 are the session's.
static OWNS_DESCRIPTORS: AtomicBool = AtomicBool::new(false);

/// Carries the cell in whose name a task runs.
static CELL: OnceLock<ContextVariable> = OnceLock::new();

/// Where output belongs.
struct Route {
    interpreter_thread: i64,
    /// The session whose cell runs, or ran last.
    sink: Option<Arc<dyn Sink>>,
    /// The running cell, or 0.
    epoch: u64,
    /// The cell awaits: tasks of earlier cells may run on the interpreter's thread.
    awaits: bool,
    /// The threads that outlived the cell that started them, and the session they print for.
    threads: HashMap<i64, Arc<dyn Sink>>,
}

/// The objects that stand in `sys` while a cell runs.
#[derive(Debug)]
pub(super) struct Streams {
    names: [Py<PyString>; 3],
    objects: [Py<PyAny>; 3],
    sys: Py<PyDict>,
}

impl Streams {
    pub(super) fn new(py: Python<'_>) -> PyResult<Self> {
        let _ = CELL.set(ContextVariable::new(py, c"warmcell_cell")?);
        *route() = Some(Route {
            interpreter_thread: cpython::current_thread_id(py),
            sink: None,
            epoch: 0,
            awaits: false,
            threads: HashMap::new(),
        });
        let stdout = Bound::new(
            py,
            TextStream {
                stream: Stream::Stdout,
            },
        )?
        .into_any()
        .unbind();
        let stderr = Bound::new(
            py,
            TextStream {
                stream: Stream::Stderr,
            },
        )?
        .into_any()
        .unbind();
        let stdin = Bound::new(py, NoInput)?.into_any().unbind();
        let text_base = py.import("io")?.getattr("TextIOBase")?;
        text_base.call_method1("register", (py.get_type::<TextStream>(),))?;
        text_base.call_method1("register", (py.get_type::<NoInput>(),))?;
        let sys = py.import("sys")?.dict();
        for (name, object) in [
            ("__stdout__", &stdout),
            ("__stderr__", &stderr),
            ("__stdin__", &stdin),
        ] {
            sys.set_item(name, object)?;
        }
        let names = ["stdout", "stderr", "stdin"].map(|name| PyString::intern(py, name).unbind());
        let streams = Self {
            names,
            objects: [stdout, stderr, stdin],
            sys: sys.unbind(),
        };
        streams.put_in_place(py)?;
        Ok(streams)
    }

    /// Puts the objects into `sys`, whatever an earlier cell put there.
    pub(super) fn put_in_place(&self, py: Python<'_>) -> PyResult<()> {
        let sys = self.sys.bind(py);
        for (name, object) in self.names.iter().zip(&self.objects) {
            sys.set_item(name, object)?;
        }
        Ok(())
    }
}

/// The process is the session's alone, and its descriptors with it.
pub(super) fn own_descriptors() {
    OWNS_DESCRIPTORS.store(true, Ordering::Relaxed);
}

/// A cell of the session with this sink begins.
pub(super) fn begin(sink: &Arc<dyn Sink>, epoch: u64) {
    if let Some(route) = &mut *route() {
        if route
            .sink
            .as_ref()
            .is_none_or(|last| !Arc::ptr_eq(last, sink))
        {
            route.sink = Some(sink.clone());
        }
        (route.epoch, route.awaits) = (epoch, false);
    }
}

/// The running cell runs inside the loop from now on, under a context that names it.
pub(super) fn begin_awaiting(py: Python<'_>, sink: &Arc<dyn Sink>, epoch: u64) -> PyResult<()> {
    let mark = Bound::new(
        py,
        CellMark {
            epoch,
            sink: sink.clone(),
        },
    )?;
    if let Some(cell) = CELL.get() {
        cell.set(py, mark.as_any())?;
    }
    if let Some(route) = &mut *route() {
        route.awaits = true;
    }
    Ok(())
}

/// The cell has ended: threads that are alive now print for the background from now on.
pub(super) fn end(py: Python<'_>) {
    let ids = if cpython::is_only_thread(py) {
        Vec::new()
    } else {
        cpython::thread_ids(py)
    };
    let mut dropped = HashMap::new();
    if let Some(route) = &mut *route() {
        (route.epoch, route.awaits) = (0, false);
        if !(ids.is_empty() && route.threads.is_empty()) {
            let mut threads = HashMap::new();
            for id in ids.into_iter().filter(|id| *id != route.interpreter_thread) {
                if let Some(sink) = route.threads.remove(&id).or_else(|| route.sink.clone()) {
                    threads.insert(id, sink);
                }
            }
            dropped = std::mem::replace(&mut route.threads, threads);
        }
    }
    drop(dropped);
}

fn route() -> MutexGuard<'static, Option<Route>> {
    // Nothing panics under this lock.
    ROUTE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who prints on the calling thread.
fn speaker(py: Python<'_>) -> Option<(Arc<dyn Sink>, Origin)> {
    let thread = cpython::current_thread_id(py);
    let (sink, epoch, ask_context, owner) = {
        let route = route();
        let route = route.as_ref()?;
        let is_interpreter = thread == route.interpreter_thread;
        let owner = if is_interpreter {
            None
        } else {
            route.threads.get(&thread).cloned()
        };
        (
            route.sink.clone(),
            route.epoch,
            !is_interpreter || route.awaits,
            owner,
        )
    };
    if ask_context
        && let Some(value) = CELL.get().and_then(|cell| cell.get(py))
        && let Ok(mark) = value.cast::<CellMark>()
    {
        let mark = mark.get();
        let origin = if mark.epoch == epoch {
            Origin::Cell
        } else {
            Origin::Background
        };
        return Some((mark.sink.clone(), origin));
    }
    match owner {
        Some(sink) => Some((sink, Origin::Background)),
        None => sink.map(|sink| {
            (
                sink,
                if epoch == 0 {
                    Origin::Background
                } else {
                    Origin::Cell
                },
            )
        }),
    }
}

fn print(py: Python<'_>, stream: Stream, bytes: &[u8]) {
    if audit::is_forked_child() {
        print_in_child(stream, bytes);
    } else if let Some((sink, origin)) = speaker(py) {
        sink.write(stream, origin, bytes);
    }
}

/// Shows an entry. One of an earlier cell's thread or task comes with the outcome that is next, and says so.
pub(super) fn show(py: Python<'_>, mut entry: Display) {
    if audit::is_forked_child() {
        let text = entry.data.get("text/plain").and_then(|text| text.as_str());
        print_in_child(
            Stream::Stdout,
            format!("{}\n", text.unwrap_or_default()).as_bytes(),
        );
    } else if let Some((sink, origin)) = speaker(py) {
        if origin == Origin::Background {
            let metadata = entry.metadata.get_or_insert_default();
            metadata.insert("background".to_owned(), true.into());
        }
        sink.display(entry);
    }
}

/// Has what the running cell printed and showed go. Others than the cell itself have nothing there to clear.
pub(super) fn clear(py: Python<'_>, wait: bool) {
    if !audit::is_forked_child()
        && let Some((sink, Origin::Cell)) = speaker(py)
    {
        sink.clear(wait);
    }
}

/// Whether the calling thread runs in the name of the running cell.
pub(super) fn is_of_the_cell(py: Python<'_>) -> bool {
    matches!(speaker(py), Some((_, Origin::Cell)))
}

/// A number that stands for the session in whose name the calling thread runs.
pub(super) fn owner(py: Python<'_>) -> usize {
    speaker(py).map_or(0, |(sink, _)| Arc::as_ptr(&sink).cast::<()>().addr())
}

pub(super) fn print_in_child(stream: Stream, mut bytes: &[u8]) {
    let descriptor = if stream == Stream::Stdout {
        libc::STDOUT_FILENO
    } else {
        libc::STDERR_FILENO
    };
    while !bytes.is_empty() {
        // SAFETY: writes bytes that are there.
        let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {
            }
            Err(_) => return,
        }
    }
}

/// The cell in whose name a task runs.
#[pyclass(frozen)]
struct CellMark {
    epoch: u64,
    sink: Arc<dyn Sink>,
}

fn flush(py: Python<'_>, stream: Stream) {
    // A forked child writes straight through.
    if !audit::is_forked_child()
        && let Some((sink, Origin::Cell)) = speaker(py)
    {
        sink.flush(stream);
    }
}

/// The number of the descriptor that is a stream's, where the session has it to itself.
fn descriptor(py: Python<'_>, stream: Stream) -> PyResult<i32> {
    if !OWNS_DESCRIPTORS.load(Ordering::Relaxed) {
        return Err(unsupported(py, "fileno"));
    }
    Ok(match stream {
        Stream::Stdout => libc::STDOUT_FILENO,
        Stream::Stderr => libc::STDERR_FILENO,
    })
}

fn unsupported(py: Python<'_>, what: &str) -> PyErr {
    match py
        .import("io")
        .and_then(|io| io.getattr("UnsupportedOperation")?.call1((what,)))
    {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
