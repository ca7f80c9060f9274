//! Host functions in Python: the names that a session gets ([`Offer`]), and the [`Line`] on which their calls go out.
//!
//! A call releases the interpreter while it waits, and looks up often enough to be interrupted. An awaited one leaves its
//! answer in the [`Mailbox`], whose descriptor wakes the loop: no other thread ever takes the interpreter's lock for it, which a
//! cell may hold for long. The mailbox is locked to put an answer there or to take all, and never while anything else is.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::{audit, cpython, helper, values};
use crate::capability::{Binding, CapabilityError, CapabilityErrorKind, signature_of};
use crate::engine::{CallRequest, Caller, EngineError, Integers, Opening};
use crate::outcome::Json;

/// How often a thread that waits for an answer looks for signals.
const LOOK_UP: Duration = Duration::from_millis(5);

/// What a session's namespace has from its host.
pub(super) struct Offer {
    names: Py<PyDict>,
    line: Py<Line>,
}

impl Offer {
    /// None where the host offers nothing.
    pub(super) fn new(py: Python<'_>, opening: &Opening) -> PyResult<Option<Self>> {
        let Some(caller) = &opening.caller else {
            return Ok(None);
        };
        let code = helper::load(py, "capabilities", include_str!("capabilities.py"))?;
        let line = Line {
            caller: caller.clone(),
            mailbox: Arc::new(Mailbox::new()?),
            error: code.getattr("CapabilityError")?.unbind(),
            interpreter_thread: cpython::current_thread_id(py),
            value_bytes: opening.limits.value_bytes,
            integers: opening.integers,
            next: AtomicU64::new(1),
            was_used: AtomicBool::new(false),
            waited_for: Mutex::default(),
            desk: Mutex::new(None),
        };
        let line = Bound::new(py, line)?;
        let offered = PyList::empty(py);
        for capability in caller.offered() {
            let actions: Vec<(&str, &str)> = capability
                .actions
                .iter()
                .map(|action| (&*action.name, &*action.description))
                .collect();
            offered.append((&capability.name, &capability.description, actions))?;
        }
        let names = code.call_method1("offer", (&line, offered))?;
        Ok(Some(Self {
            names: names.cast_into::<PyDict>()?.unbind(),
            line: line.unbind(),
        }))
    }

    /// Puts the names into a namespace.
    pub(super) fn install(&self, globals: &Bound<'_, PyDict>) -> PyResult<()> {
        globals.update(self.names.bind(globals.py()).as_mapping())
    }

    /// Whether a name of the namespace still is what the host gave.
    pub(super) fn is_ours(&self, name: &str, value: &Bound<'_, PyAny>) -> bool {
        let ours = self.names.bind(value.py()).get_item(name);
        matches!(ours, Ok(Some(ours)) if ours.is(value))
    }

    /// The cell has ended: so have its calls. Says which function it was waiting for when it was stopped.
    pub(super) fn end_calls(&self, py: Python<'_>) -> Option<String> {
        let line = self.line.get();
        if line.was_used.swap(false, Ordering::Relaxed) {
            py.detach(|| line.caller.cancel_all());
        }
        let mut waited_for = line
            .waited_for
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waited_for.take()
    }

    /// The names again, for a process that is a copy: what the loop waits for is its own from now on.
    pub(super) fn took_over(&self) -> Result<(), EngineError> {
        self.line
            .get()
            .mailbox
            .renew()
            .map_err(|error| EngineError(error.to_string()))
    }
}

/// Where a session's calls go out.
#[pyclass(frozen, module = "warmcell", name = "Line")]
struct Line {
    caller: Arc<dyn Caller>,
    mailbox: Arc<Mailbox>,
    error: Py<PyAny>,
    interpreter_thread: i64,
    value_bytes: usize,
    integers: Integers,
    next: AtomicU64,
    /// Since the last cell ended.
    was_used: AtomicBool,
    /// The call in which the cell was interrupted.
    waited_for: Mutex<Option<String>>,
    desk: Mutex<Option<Py<PyAny>>>,
}

#[pymethods]
impl Line {
    /// Calls a host function and waits for what it answers.
    fn call(
        &self,
        py: Python<'_>,
        capability: &str,
        action: &str,
        arguments: &Bound<'_, PyTuple>,
        named: &Bound<'_, PyDict>,
    ) -> PyResult<Py<PyAny>> {
        let request = self.request(capability, action, arguments, named)?;
        let (sender, receiver) = bounded(1);
        self.caller.clone().call(
            request,
            Box::new(move |answer| {
                let _ = sender.send(answer);
            }),
        );
        loop {
            match py.detach(|| receiver.recv_timeout(LOOK_UP)) {
                Ok(answer) => return self.value(py, capability, action, answer),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                    *self
                        .waited_for
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) =
                        Some(format!("{capability}.{action}"));
                })?,
                Err(RecvTimeoutError::Disconnected) => {
                    return self.value(py, capability, action, Err(CapabilityError::cancelled()));
                }
            }
        }
    }

    /// Starts a call. Its answer is in the mailbox later, under the number that is given.
    fn start(
        &self,
        capability: &str,
        action: &str,
        arguments: &Bound<'_, PyTuple>,
        named: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        let request = self.request(capability, action, arguments, named)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mailbox = self.mailbox.clone();
        let (capability, action) = (capability.to_owned(), action.to_owned());
        self.caller.clone().call(
            request,
            Box::new(move |answer| {
                mailbox.put(Letter {
                    number,
                    capability,
                    action,
                    answer,
                });
            }),
        );
        Ok(number)
    }

    /// The answers that have come: number, capability, action, and what was answered.
    fn take(&self) -> Vec<(u64, String, String, Answered)> {
        let letters = self.mailbox.take();
        letters
            .into_iter()
            .map(|letter| {
                let answered = Answered(Mutex::new(Some(letter.answer)));
                (letter.number, letter.capability, letter.action, answered)
            })
            .collect()
    }

    /// What was answered, as a value or an exception.
    fn read(
        &self,
        py: Python<'_>,
        capability: &str,
        action: &str,
        answered: &Answered,
    ) -> PyResult<Py<PyAny>> {
        let answer = answered
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let answer = answer.unwrap_or_else(|| Err(CapabilityError::cancelled()));
        self.value(py, capability, action, answer)
    }

    #[getter]
    fn descriptor(&self) -> i32 {
        self.mailbox.raw()
    }

    #[getter]
    fn desk(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = desk.as_ref().map(|desk| desk.clone_ref(py));
        desk.ok_or_else(|| PyAttributeError::new_err("desk"))
    }

    #[setter]
    fn set_desk(&self, desk: Py<PyAny>) {
        let mut place = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(desk);
    }
}

impl Line {
    /// What a call asks, bound by the signature. Nothing has been sent when this fails.
    fn request(
        &self,
        capability: &str,
        action: &str,
        arguments: &Bound<'_, PyTuple>,
        named: &Bound<'_, PyDict>,
    ) -> PyResult<CallRequest> {
        if audit::is_forked_child() {
            return Err(PyRuntimeError::new_err(
                "a forked process cannot call host functions: call them in the cell itself",
            ));
        }
        let refused =
            |problem: &str| PyTypeError::new_err(format!("{capability}.{action}() {problem}"));
        let signature = signature_of(self.caller.offered(), capability, action)
            .ok_or_else(|| refused("is not offered any more"))?;
        let text = |value: &Bound<'_, PyAny>| {
            values::to_json(value, self.value_bytes, self.integers).map_err(|refusal| match refusal
            {
                values::Refusal::Interrupted(error) => error,
                refusal => PyValueError::new_err(format!(
                    "{capability}.{action}() cannot send its arguments: {}",
                    refusal.message()
                )),
            })
        };
        let positional = text(arguments.as_any())?;
        let named = text(named.as_any())?;
        let binding = Binding {
            positional: &positional,
            named: &named,
            last_may_name: false,
        };
        let arguments = signature
            .bind(&binding)
            .map_err(|problem| refused(&problem))?;
        self.was_used.store(true, Ordering::Relaxed);
        Ok(CallRequest {
            capability: capability.to_owned(),
            action: action.to_owned(),
            arguments,
        })
    }

    fn value(
        &self,
        py: Python<'_>,
        capability: &str,
        action: &str,
        answer: Result<Json, CapabilityError>,
    ) -> PyResult<Py<PyAny>> {
        let error = match answer {
            Ok(value) => {
                // The stack of the interpreter's thread is made for deep nesting, that of another is not.
                let is_deep = cpython::current_thread_id(py) == self.interpreter_thread;
                return values::from_json_within(py, &value, is_deep)
                    .map(Bound::unbind)
                    .map_err(|error| {
                        let text = format!(
                            "{capability}.{action}() answered what cannot be taken over: {}",
                            error.value(py)
                        );
                        self.raise(
                            py,
                            capability,
                            action,
                            CapabilityError::new(CapabilityErrorKind::Tool, text),
                        )
                    });
            }
            Err(error) => error,
        };
        Err(self.raise(py, capability, action, error))
    }

    fn raise(
        &self,
        py: Python<'_>,
        capability: &str,
        action: &str,
        error: CapabilityError,
    ) -> PyErr {
        let CapabilityError {
            kind,
            message,
            retryable,
            data,
        } = error;
        let data = data.and_then(|data| values::from_json_within(py, &data, false).ok());
        let arguments = (message, capability, action, kind.as_str(), retryable, data);
        match self.error.bind(py).call1(arguments) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

/// What a host function answered, until somebody reads it.
#[pyclass(frozen)]
struct Answered(Mutex<Option<Result<Json, CapabilityError>>>);

/// The answers to awaited calls that nobody has taken yet.
struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    bell: OwnedFd,
}

struct Letter {
    number: u64,
    capability: String,
    action: String,
    answer: Result<Json, CapabilityError>,
}

impl Mailbox {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            letters: Mutex::default(),
            bell: bell()?,
        })
    }

    fn raw(&self) -> i32 {
        self.bell.as_raw_fd()
    }

    fn put(&self, letter: Letter) {
        self.letters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(letter);
        let one = 1_u64.to_ne_bytes();
        // SAFETY: writes eight bytes that are there. A counter that is full wakes as well.
        unsafe { libc::write(self.raw(), one.as_ptr().cast(), one.len()) };
    }

    fn take(&self) -> Vec<Letter> {
        let mut count = [0_u8; 8];
        // SAFETY: reads eight bytes into the buffer, or nothing.
        unsafe { libc::read(self.raw(), count.as_mut_ptr().cast(), count.len()) };
        std::mem::take(&mut *self.letters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A copy of a process shares the descriptor's counter with the one it was copied from: it gets one of its own, under the
    /// same number.
    fn renew(&self) -> std::io::Result<()> {
        let fresh = bell()?;
        // SAFETY: the descriptor is the mailbox's own; it keeps its number.
        let renewed = unsafe { libc::dup3(fresh.as_raw_fd(), self.raw(), libc::O_CLOEXEC) };
        if renewed < 0 {
            return Err(std::io::Error::last_os_error());
        }
        self.letters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        Ok(())
    }
}

fn bell() -> std::io::Result<OwnedFd> {
    // SAFETY: makes a descriptor, which is owned from here on.
    unsafe {
        let descriptor = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}
