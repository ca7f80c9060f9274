//! [`PythonSession`]: one session's `__main__`, and the course of a cell in it.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyList, PyModule, PyString};

use super::capabilities::Offer;
use super::compile::{Compiled, Ending, Returned, take_flagged};
use super::failure::Origin;
use super::interpreter::Interpreter;
use super::memory::Budget;
use super::surroundings::Surroundings;
use super::values::{self, Refusal};
use super::{
    audit, children, cpython, display, forked, guard, inspect, interrupt, members, memory, plots,
    streams,
};
use crate::engine::{Completion, Engine, EngineError, Opening, Task, Variable};
use crate::outcome::{Display, Failure, FailureKind, Json};

/// Longest source that is kept compiled.
const CACHED_BYTES: usize = 4096;

/// How many sources are kept compiled.
const CACHED_CELLS: usize = 256;

/// How many cells without functions keep their lines, for tracebacks that are formatted late.
const REMEMBERED_CELLS: usize = 64;

/// One session of the interpreter.
pub(super) struct PythonSession {
    interpreter: Rc<Interpreter>,
    opening: Opening,
    /// What tells the names of this session's cells from those of others: empty for the first one.
    suffix: String,
    module: Py<PyModule>,
    globals: Py<PyDict>,
    event_loop: Option<Py<PyAny>>,
    surroundings: Surroundings,
    budget: Budget,
    cache: Option<HashMap<String, Rc<Cached>>>,
    /// The cells whose lines may be forgotten one day, the oldest first.
    remembered: VecDeque<Py<PyString>>,
    /// The cells whose lines must stay, since functions of theirs may live.
    kept: Vec<Py<PyString>>,
    /// What the namespace has from the host.
    offer: Option<Offer>,
    /// What the first outcome must say.
    notice: Option<String>,
}

/// A compiled cell, and the name it was compiled with.
struct Cached {
    compiled: Compiled,
    file_name: String,
}

/// How a cell got where it is, when it did not end well.
enum Stumble {
    /// The compiler refused it.
    Compiling(PyErr),
    /// It raised.
    Running(PyErr),
}

impl PythonSession {
    pub(super) fn new(
        py: Python<'_>,
        interpreter: Rc<Interpreter>,
        number: u64,
        opening: &Opening,
    ) -> PyResult<Self> {
        if opening.owns_process {
            streams::own_descriptors();
        }
        let (module, globals) = interpreter.fresh_main(py)?;
        let offer = Offer::new(py, opening)?;
        if let Some(offer) = &offer {
            offer.install(globals.bind(py))?;
        }
        if let Some(folder) = &opening.imports_from {
            interpreter.import_from(py, folder)?;
        }
        Ok(Self {
            offer,
            budget: Budget::new(interpreter.baseline_memory, opening.limits.memory_mb),
            surroundings: Surroundings::new(opening),
            opening: opening.clone(),
            suffix: if number == 1 {
                ">".to_owned()
            } else {
                format!(" of session {number}>")
            },
            module,
            globals,
            event_loop: None,
            cache: opening.code_cache.then(HashMap::new),
            remembered: VecDeque::new(),
            kept: Vec::new(),
            notice: interpreter.located.notice.clone(),
            interpreter,
        })
    }

    /// Runs a cell between the host's surroundings and the host's surroundings.
    fn cell(&mut self, py: Python<'_>, task: &Task<'_>) -> Completion {
        if let Err(error) = self.enter(py, task.epoch) {
            let completion = Completion {
                failure: Some(Failure::new(
                    FailureKind::Unavailable,
                    error.value(py).to_string(),
                )),
                ..Completion::default()
            };
            self.leave(py);
            return completion;
        }
        let held = self.budget.arm();
        interrupt::begin(task.epoch, task.deadline);
        let mut completion = self.perform(py, task);
        if !interrupt::was_heard(task.epoch) && !audit::is_forked_child() {
            // That they are drawn is part of the cell.
            plots::show_open(py, self.opening.limits.display_entries);
        }
        if interrupt::was_heard(task.epoch) {
            let _ = self.end_own_task(py);
            interrupt::collect_what_resisted(py);
        }
        completion.interrupted = interrupt::end(py, task.epoch);
        let waited_for = self.offer.as_ref().and_then(|offer| offer.end_calls(py));
        self.budget.settle(held);
        if audit::is_forked_child() {
            forked::end(&completion);
        }
        if completion.interrupted {
            if let (Some(function), Some(failure)) = (waited_for, &mut completion.failure) {
                failure.hint = Some(format!("the cell was waiting for `{function}`"));
            }
            completion.value = None;
            if let Some(failure) = &mut completion.failure {
                failure.traceback = failure
                    .traceback
                    .take()
                    .map(|text| without_last_line(&text))
                    .filter(|text| !text.is_empty());
            }
            children::kill_those_of_the_cell();
            children::forget();
            self.interpreter.drop_half_imported(py);
            self.repair_loop(py);
        }
        let undrawn = match completion.interrupted {
            true => plots::drop_open(py),
            false => None,
        };
        self.leave(py);
        completion.notice = [self.notice.take(), display::take_notices(), undrawn]
            .into_iter()
            .flatten()
            .reduce(|one, other| format!("{one}; {other}"));
        completion
    }

    fn enter(&mut self, py: Python<'_>, epoch: u64) -> PyResult<()> {
        streams::begin(&self.opening.sink, epoch);
        let interpreter = self.interpreter.clone();
        interpreter.streams.put_in_place(py)?;
        interpreter.make_main(py, &self.module)?;
        if let Some(event_loop) = &self.event_loop {
            interpreter.tasks(py)?.make_current(py, event_loop)?;
        }
        self.surroundings.enter(py, &interpreter)
    }

    fn leave(&mut self, py: Python<'_>) {
        if audit::take_spawned() {
            children::note_those_that_stay();
        }
        if audit::take_traced() {
            // They are the thread's, and would see the cells of other sessions.
            cpython::clear_trace(py);
            cpython::clear_profile(py);
            audit::take_traced();
        }
        guard::put_back(py);
        if let Err(error) = self.surroundings.leave(py, &self.interpreter.clone()) {
            error.write_unraisable(py, None);
        }
        streams::end(py);
    }

    /// Compiles, runs and converts: all that the deadline is for.
    fn perform(&mut self, py: Python<'_>, task: &Task<'_>) -> Completion {
        let cached = self
            .cache
            .as_ref()
            .and_then(|cache| cache.get(task.code).cloned());
        let (cell, stumble) = match cached {
            Some(cell) => {
                let result = self.execute(py, task, &cell.compiled);
                (Some(cell), result)
            }
            None => self.compile_and_execute(py, task),
        };
        match stumble {
            Ok(completion) => completion,
            Err(stumble) => {
                // What is said about an exception of the budget's must not fail for the same reason.
                memory::disarm();
                let file_name = match &cell {
                    Some(cell) => cell.file_name.clone(),
                    None => self.file_name(task.number),
                };
                if let Some(cell) = &cell {
                    self.recall_lines(py, task.code, cell);
                }
                let was_stopped = interrupt::was_heard(task.epoch);
                let stopped_with = was_stopped.then(|| self.end_own_task(py)).flatten();
                let (error, from_compiler) = match &stumble {
                    Stumble::Compiling(error) => (error, true),
                    Stumble::Running(error) => (error, false),
                };
                let shown_name = format!("<cell {}>", task.number);
                let suffix = if self.suffix == ">" { "" } else { &self.suffix };
                let origin = Origin {
                    file_name: &file_name,
                    shown_name: &shown_name,
                    suffix,
                    from_compiler,
                    was_stopped,
                    stopped_with,
                };
                let environment = self.interpreter.environment(&self.opening);
                let reporter = &self.interpreter.reporter;
                let mut failure = interrupt::reporting(py, task.epoch, || {
                    reporter.failure(py, error, &origin, &environment)
                });
                let indentation = cell.as_ref().map_or(0, |cell| cell.compiled.indentation);
                failure.column = failure.column.map(|column| column + indentation as u32);
                Completion {
                    failure: Some(failure),
                    ..Completion::default()
                }
            }
        }
    }

    fn file_name(&self, number: u64) -> String {
        let mut digits = itoa::Buffer::new();
        ["<cell ", digits.format(number), &self.suffix].concat()
    }

    fn compile_and_execute(
        &mut self,
        py: Python<'_>,
        task: &Task<'_>,
    ) -> (Option<Rc<Cached>>, Result<Completion, Stumble>) {
        let file_name = self.file_name(task.number);
        let python_name = PyString::new(py, &file_name);
        let compiled = match self
            .interpreter
            .compiler
            .compile(py, task.code, &python_name)
        {
            Ok(compiled) => compiled,
            Err(error) => return (None, Err(Stumble::Compiling(error))),
        };
        let cell = Rc::new(Cached {
            compiled,
            file_name,
        });
        let compiled = &cell.compiled;
        let remembered = match compiled.names_nothing {
            true => Ok(()),
            false => self.remember_lines(py, task.code, compiled, &python_name),
        };
        let result = match remembered {
            Ok(()) => self.execute(py, task, compiled),
            Err(error) => Err(Stumble::Running(error)),
        };
        if let Some(cache) = &mut self.cache
            && !compiled.has_functions
            && compiled.ending != Ending::Flagged
            && task.code.len() <= CACHED_BYTES
        {
            if cache.len() >= CACHED_CELLS {
                cache.clear();
            }
            cache.insert(task.code.to_owned(), cell.clone());
        }
        (Some(cell), result)
    }

    /// Lets tracebacks find the cell's lines.
    fn remember_lines(
        &mut self,
        py: Python<'_>,
        code: &str,
        compiled: &Compiled,
        file_name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let source = compiled.source.as_deref().unwrap_or(code);
        let remembered = self.interpreter.remember_lines(py, file_name, source);
        let file_name = file_name.clone().unbind();
        if compiled.has_functions {
            self.kept.push(file_name);
            return remembered;
        }
        self.remembered.push_back(file_name);
        if self.remembered.len() > REMEMBERED_CELLS
            && let Some(oldest) = self.remembered.pop_front()
        {
            self.interpreter.forget_lines(py, &oldest);
        }
        remembered
    }

    /// Brings back the lines of a cell that failed, where they were not wanted before or are forgotten.
    fn recall_lines(&mut self, py: Python<'_>, code: &str, cell: &Cached) {
        let file_name = PyString::new(py, &cell.file_name);
        if !self.interpreter.has_lines(py, &file_name) {
            // Without them the traceback lacks a line, no more.
            let _ = self.remember_lines(py, code, &cell.compiled, &file_name);
        }
    }

    fn execute(
        &mut self,
        py: Python<'_>,
        task: &Task<'_>,
        compiled: &Compiled,
    ) -> Result<Completion, Stumble> {
        let result = if compiled.awaits {
            self.run_in_loop(py, task.epoch, compiled)
        } else {
            run_parts(py, &self.globals, &compiled.parts)
        };
        // Also after a failure: what the cell left of its return must not be found by anyone.
        let flagged = take_flagged(py, compiled);
        let last = result.map_err(Stumble::Running)?;
        let returned = match compiled.ending {
            Ending::Nothing => Returned::Nothing,
            Ending::Expression => Returned::Expression(last.unbind()),
            Ending::Return => Returned::Value(last.unbind()),
            Ending::Flagged => flagged.map_err(Stumble::Running)?,
        };
        match returned {
            Returned::Nothing | Returned::Bare => Ok(Completion::default()),
            Returned::Expression(value) if value.is_none(py) => Ok(Completion::default()),
            Returned::Expression(value) => self.hand_over(value.bind(py), false),
            Returned::Value(value) => self.hand_over(value.bind(py), true),
        }
    }

    fn run_in_loop<'py>(
        &mut self,
        py: Python<'py>,
        epoch: u64,
        compiled: &Compiled,
    ) -> PyResult<Bound<'py, PyAny>> {
        let interpreter = self.interpreter.clone();
        // Importing asyncio is the runtime's business: half done, it would stay broken for the whole process.
        let tasks = interrupt::undisturbed(|| interpreter.tasks(py))?;
        // One that the program closed is replaced: `loop.close()` stands at the end of many a script.
        let open = self.event_loop.take().filter(|event_loop| {
            let is_closed = event_loop.bind(py).call_method0("is_closed");
            !is_closed.is_ok_and(|is_closed| is_closed.is_truthy().unwrap_or(false))
        });
        let event_loop = match open {
            Some(event_loop) => self.event_loop.insert(event_loop).clone_ref(py),
            None => {
                let event_loop = interrupt::undisturbed(|| tasks.new_loop(py))?;
                self.event_loop.insert(event_loop).clone_ref(py)
            }
        };
        streams::begin_awaiting(py, &self.opening.sink, epoch)?;
        let parts = PyList::new(py, compiled.parts.iter().flatten())?;
        tasks.run(py, &event_loop, &parts, self.globals.bind(py))
    }

    /// The value as JSON text. One that is not JSON is shown; where it was promised to be, that is a failure.
    fn hand_over(&self, value: &Bound<'_, PyAny>, promised: bool) -> Result<Completion, Stumble> {
        let limits = &self.opening.limits;
        let refusal = match values::to_json(value, limits.value_bytes, self.opening.integers) {
            Ok(text) => {
                return Ok(Completion {
                    value: Some(Json::from_converter(text)),
                    ..Completion::default()
                });
            }
            Err(Refusal::Interrupted(error)) => return Err(Stumble::Running(error)),
            Err(refusal) => refusal,
        };
        let kind = match refusal {
            Refusal::TooLarge { .. } => FailureKind::OutputLimit,
            _ => FailureKind::InvalidOutput,
        };
        self.show(value, kind)?;
        if !promised && kind == FailureKind::InvalidOutput {
            return Ok(Completion::default());
        }
        let hint = refusal.hint().map(str::to_owned);
        let failure = Failure {
            hint,
            ..Failure::new(kind, refusal.message())
        };
        Ok(Completion {
            failure: Some(failure),
            ..Completion::default()
        })
    }

    /// Shows a value that is not handed over: one that is too large by its beginning alone.
    fn show(&self, value: &Bound<'_, PyAny>, kind: FailureKind) -> Result<(), Stumble> {
        if kind == FailureKind::OutputLimit {
            streams::show(value.py(), Display::text(inspect::preview(value)));
            return Ok(());
        }
        display::show(value).map_err(Stumble::Running)
    }

    /// A stopped cell's task that goes on all the same is ended while the interrupt still holds it: left alone, its code
    /// would run on when somebody lets go of it. Returns the exception that its code ended with.
    fn end_own_task(&self, py: Python<'_>) -> Option<PyErr> {
        self.event_loop.as_ref()?;
        let tasks = self.interpreter.tasks(py).ok()?;
        tasks.end_own(py)
    }

    fn repair_loop(&self, py: Python<'_>) {
        self.interpreter.leave_any_loop(py);
        if let Some(event_loop) = &self.event_loop
            && let Ok(tasks) = self.interpreter.tasks(py)
            && let Err(error) = tasks.repair(py, event_loop)
        {
            error.write_unraisable(py, None);
        }
    }

    /// Ends what the session ran and drops what it held. Finalisers are code of the program's: the epoch is for the
    /// watchdog to stop them, and what one of them raises is CPython's to report.
    fn discard(&mut self, py: Python<'_>, epoch: u64, module: Py<PyModule>, globals: &Py<PyDict>) {
        interrupt::begin(epoch, None);
        if let Some(event_loop) = self.event_loop.take()
            && let Ok(tasks) = self.interpreter.tasks(py)
            && tasks.end(py, &event_loop).is_err()
        {
            let _ = tasks.repair(py, &event_loop);
        }
        globals.bind(py).clear();
        drop(module);
        interrupt::end(py, epoch);
        plots::drop_open(py);
        for file_name in self.remembered.drain(..).chain(self.kept.drain(..)) {
            self.interpreter.forget_lines(py, &file_name);
        }
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
    }

    /// Turns the code cache on or off; benches compare.
    pub(super) fn keep_compiled(&mut self, cached: bool) {
        self.cache = cached.then(HashMap::new);
    }
}

impl Engine for PythonSession {
    fn run(&mut self, task: &Task<'_>) -> Completion {
        Python::attach(|py| self.cell(py, task))
    }

    fn reset(&mut self, epoch: u64) -> Result<(), EngineError> {
        Python::attach(|py| {
            let (module, globals) = self.interpreter.fresh_main(py).map_err(refused)?;
            if let Some(offer) = &self.offer {
                offer.install(globals.bind(py)).map_err(refused)?;
            }
            // From here on the session is the fresh one; everything below cleans up behind it.
            let module = std::mem::replace(&mut self.module, module);
            let globals = std::mem::replace(&mut self.globals, globals);
            let folder = self.surroundings.folder().cloned();
            self.surroundings = Surroundings::new(&self.opening);
            streams::begin(&self.opening.sink, 0);
            self.discard(py, epoch, module, &globals);
            let restored = self.interpreter.restore_baseline(py, folder.as_ref());
            plots::put_back(py);
            self.leave(py);
            if let Some(folder) = &self.opening.imports_from {
                self.interpreter.import_from(py, folder).map_err(refused)?;
            }
            self.interpreter
                .make_main(py, &self.module)
                .map_err(refused)?;
            restored.map_err(refused)
        })
    }

    fn inspect(&mut self) -> Vec<Variable> {
        let is_ours = |name: &str, value: &Bound<'_, PyAny>| {
            let offer = self.offer.as_ref();
            offer.is_some_and(|offer| offer.is_ours(name, value))
        };
        Python::attach(|py| inspect::variables(self.globals.bind(py), &is_ours))
    }

    fn members(&mut self, path: &[String]) -> Vec<String> {
        Python::attach(|py| {
            let builtins = self.interpreter.builtins(py);
            members::names(self.globals.bind(py), &builtins, path).unwrap_or_default()
        })
    }

    fn bind(&mut self, name: &str, value: &Json, epoch: u64) -> Result<(), EngineError> {
        Python::attach(|py| {
            let Some(name) = self.interpreter.variable_name(py, name) else {
                return Err(EngineError(format!(
                    "`{name}` cannot be a variable's name in Python"
                )));
            };
            let value = values::from_json(py, value.as_str()).map_err(|error| {
                EngineError(format!(
                    "the value for `{name}` cannot be taken over: {}",
                    error.value(py)
                ))
            })?;
            streams::begin(&self.opening.sink, 0);
            interrupt::begin(epoch, None);
            let result = self.globals.bind(py).set_item(name, value);
            interrupt::end(py, epoch);
            self.leave(py);
            result.map_err(refused)
        })
    }

    fn took_over(&mut self) {
        if let Some(offer) = &self.offer {
            // Without it awaited calls are not answered, and end with their cell.
            let _ = offer.took_over();
        }
        Python::attach(|py| {
            if let Some(event_loop) = &self.event_loop
                && let Ok(tasks) = self.interpreter.tasks(py)
                && let Err(error) = tasks.take_over(py, event_loop)
            {
                error.write_unraisable(py, None);
            }
        });
    }

    fn close(mut self: Box<Self>, epoch: u64) {
        Python::attach(|py| {
            streams::begin(&self.opening.sink, 0);
            let module = self.module.clone_ref(py);
            let globals = self.globals.clone_ref(py);
            self.discard(py, epoch, module, &globals);
            if let Some(folder) = &self.opening.imports_from {
                self.interpreter.import_no_more_from(py, folder);
            }
            self.leave(py);
        });
    }
}

fn run_parts<'py>(
    py: Python<'py>,
    globals: &Py<PyDict>,
    parts: &[Option<Py<PyCode>>; 2],
) -> PyResult<Bound<'py, PyAny>> {
    let globals = globals.bind(py).as_any();
    let mut value = None;
    for code in parts.iter().flatten() {
        value = Some(cpython::evaluate(code.bind(py).as_any(), globals)?);
    }
    Ok(value.unwrap_or_else(|| py.None().into_bound(py)))
}

/// Where a stopped cell stood, without the exception that stopped it.
fn without_last_line(traceback: &str) -> String {
    let end = traceback
        .trim_end()
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    traceback[..end].to_owned()
}

fn refused(error: PyErr) -> EngineError {
    EngineError(error.to_string())
}
