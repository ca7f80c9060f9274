//! The Python engine: cells on a real CPython in this process.
//!
//! [`Python`] is the language on its thread, [`PythonSession`] one session of it. What lives here is the course of a cell:
//! put the session in place, compile, run, convert the value or report the exception, put the host back in place. Each of
//! these steps has a module of its own.

mod audit;
mod children;
mod compile;
mod cpython;
mod display;
mod facts;
mod failure;
mod guard;
mod helper;
mod inspect;
pub mod internals;
mod interpreter;
mod interrupt;
mod locate;
mod memory;
mod namespace;
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

pub(super) use self::facts::facts;
use self::interpreter::Interpreter;
use self::interrupt::PythonInterrupter;
use self::namespace::PythonSession;
use super::{Engine, EngineError, Language, Launch, Opening, Started};
use crate::runtime::SessionBuilder;

/// The stack of the interpreter's thread: deep recursion through C code must end in a `RecursionError`, and a small stack
/// ends before it (cpython#148443). Only what is used takes memory.
const STACK_BYTES: usize = 64 << 20;

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
}

impl Python {
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
