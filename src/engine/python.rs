//! The Python engine: cells on a real CPython in this process.
//!
//! [`Python`] is the language on its thread, [`PythonSession`] one session of it. What lives here is the course of a cell:
//! put the session in place, compile, run, convert the value or report the exception, put the host back in place. Each of
//! these steps has a module of its own.

mod audit;
mod capabilities;
mod children;
mod compile;
mod cpython;
mod display;
mod facts;
mod failure;
mod forked;
mod guard;
mod helper;
mod inspect;
pub mod internals;
mod interpreter;
mod interrupt;
mod locate;
mod members;
mod memory;
mod namespace;
mod packages;
mod plots;
mod streams;
mod surroundings;
mod tasks;
#[cfg(test)]
mod testing;
mod values;
mod version;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::cpython::Others;
pub(super) use self::facts::facts;
use self::interpreter::Interpreter;
use self::interrupt::PythonInterrupter;
use self::namespace::PythonSession;
use super::{Engine, EngineError, Language, Launch, Opening, Started, rehearse};
use crate::runtime::SessionBuilder;

/// The stack of the interpreter's thread: deep recursion through C code must end in a `RecursionError`, and a small stack
/// ends before it (cpython#148443). Only what is used takes memory.
const STACK_BYTES: usize = 64 << 20;

/// The heap up to which a fork is cheap enough: it takes 1.4 ms at 100 MB of objects and 20 ms at 1 GB, and copies every page
/// that the program then touches, since that is where reference counts are.
const COPIED_BYTES: i64 = 200 << 20;

/// How to bring the interpreter to life for a first session.
pub(super) fn launch(builder: &SessionBuilder) -> Launch {
    let asked = builder.python.clone();
    let cwd = builder.cwd.clone();
    Launch {
        engine: "python",
        stack_bytes: STACK_BYTES,
        once_per_process: true,
        start: Box::new(move || Python::start(asked, cwd)),
    }
}

/// CPython on its thread.
struct Python {
    interpreter: Rc<Interpreter>,
    opened: u64,
    /// Threads of the program were alive when that was last asked.
    had_threads: bool,
}

impl Python {
    /// Whether no other thread has a state. Threads that end are waited for, and those of libraries that have one while they
    /// call into Python: pyarrow's give theirs back after the call that they worked for has returned.
    fn is_alone(&mut self) -> bool {
        let mut others = Others::None;
        for pause in [0, 100, 400, 1500, 5_000, 20_000, 40_000] {
            thread::sleep(Duration::from_micros(pause));
            others = pyo3::Python::attach(cpython::other_threads);
            let is_final = match others {
                Others::None => true,
                Others::Passing => self.had_threads,
                Others::Running => self.had_threads || pause >= 1500,
            };
            if is_final {
                break;
            }
        }
        self.had_threads = others != Others::None;
        !self.had_threads
    }

    fn start(asked: Option<PathBuf>, cwd: Option<PathBuf>) -> Result<Started, EngineError> {
        let cwd = cwd
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_else(|| PathBuf::from("/"));
        let interpreter = Rc::new(Interpreter::start(asked.as_deref(), &cwd)?);
        facts::note_armed();
        // SAFETY: takes nothing and cannot fail.
        let thread = unsafe { libc::pthread_self() };
        let interrupter = PythonInterrupter { thread };
        Ok((
            Box::new(Self {
                interpreter,
                opened: 0,
                had_threads: false,
            }),
            Arc::new(interrupter),
        ))
    }
}

impl Language for Python {
    fn open(&mut self, opening: &Opening) -> Result<Box<dyn Engine>, EngineError> {
        self.check_python(opening)?;
        self.opened += 1;
        let number = self.opened;
        let session = pyo3::Python::attach(|py| {
            PythonSession::new(py, self.interpreter.clone(), number, opening)
        });
        match session {
            Ok(session) => Ok(Box::new(session)),
            Err(error) => Err(EngineError(format!(
                "the session could not be made: {error}"
            ))),
        }
    }

    fn rehearse(&mut self) {
        rehearse(self, "text = str([1 + 1])\nprint(text)\ntext");
        self.opened = 0;
    }

    fn may_fork(&mut self) -> Result<(), String> {
        if !self.is_alone() {
            return Err("threads of the program are alive".to_owned());
        }
        let heap = memory::used() - self.interpreter.baseline_memory;
        if heap > COPIED_BYTES {
            return Err(format!(
                "the program's objects take {} MB, and only up to {} MB are copied",
                heap >> 20,
                COPIED_BYTES >> 20
            ));
        }
        Ok(())
    }

    fn forked(&mut self) {
        audit::forget_fork();
        children::forget_threads();
        children::note_thread();
    }
}

impl Python {
    /// One process has one interpreter: a session that asks for another python than the first one got is refused.
    fn check_python(&self, opening: &Opening) -> Result<(), EngineError> {
        let Some(asked) = &opening.python else {
            return Ok(());
        };
        let cwd = opening
            .cwd
            .clone()
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_else(|| PathBuf::from("/"));
        let located = locate::locate(Some(asked), &cwd, None)
            .map_err(|error| EngineError(error.to_string()))?;
        let running = &self.interpreter.located.executable;
        if located.executable == *running {
            return Ok(());
        }
        Err(EngineError(format!(
            "`python` is `{}`, but the interpreter of this process already runs as `{}`\nhint: one process has one interpreter; use the same python for all its sessions, or another process",
            located.executable.display(),
            running.display()
        )))
    }
}
