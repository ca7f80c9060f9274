//! What the benches reach past the contract, to measure a part by itself. Nothing else may use it.

#![expect(
    missing_docs,
    reason = "for benches alone, and named after what they measure"
)]

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::compile::Compiler;
use super::namespace::PythonSession;
use super::values;
use super::{Interpreter, Rc};
use crate::engine::{Engine, Integers, Opening, Task};
use crate::limits::Limits;
use crate::output::Transcript;

pub fn to_json(object: &Bound<'_, PyAny>, text: &mut String) -> Result<(), String> {
    values::to_json_into(object, text, usize::MAX, Integers::Exact)
        .map_err(|refusal| refusal.message())
}

pub fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    values::from_json(py, text)
}

/// The compiler alone.
pub struct CellCompiler(Compiler);

impl CellCompiler {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        Compiler::new(py).map(Self)
    }

    /// Compiles and drops; returns how many parts there were.
    pub fn compile(
        &self,
        py: Python<'_>,
        source: &str,
        file_name: &Bound<'_, PyString>,
    ) -> PyResult<usize> {
        let compiled = self.0.compile(py, source, file_name)?;
        Ok(compiled.parts.iter().flatten().count())
    }
}

/// A session on the calling thread, without mailbox, watchdog and outcome.
pub struct InThread {
    session: PythonSession,
    transcript: Arc<Transcript>,
    epoch: u64,
}

impl InThread {
    /// Starts the interpreter on the calling thread.
    pub fn start(cached: bool) -> Result<Self, String> {
        let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
        let interpreter = Interpreter::start(None, &cwd).map_err(|error| error.to_string())?;
        let limits = Limits::default().with_value_bytes(1 << 30);
        let transcript = Arc::new(Transcript::new(&limits));
        let opening = Opening {
            limits,
            integers: Integers::Exact,
            code_cache: cached,
            python: None,
            cwd: None,
            imports_from: None,
            env: Default::default(),
            withheld: Default::default(),
            owns_process: false,
            caller: None,
            sink: transcript.clone(),
        };
        let session =
            Python::attach(|py| PythonSession::new(py, Rc::new(interpreter), 1, &opening));
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self {
            session,
            transcript,
            epoch: 1,
        })
    }

    /// Turns the code cache on or off.
    pub fn keep_compiled(&mut self, cached: bool) {
        self.session.keep_compiled(cached);
    }

    /// Runs a cell; returns its value's JSON text.
    pub fn run(&mut self, code: &str) -> Result<Option<String>, String> {
        self.epoch += 1;
        let completion = self.session.run(&Task {
            code,
            number: self.epoch,
            epoch: self.epoch,
            deadline: None,
        });
        match completion.failure {
            Some(failure) => Err(failure.message),
            None => Ok(completion.value.map(|value| value.as_str().to_owned())),
        }
    }

    /// Drops what cells printed, as an outcome would take it.
    pub fn take_output(&self) -> usize {
        self.transcript.take(None).stdout.len()
    }

    pub fn reset(&mut self) -> Result<(), String> {
        self.epoch += 1;
        self.session
            .reset(self.epoch)
            .map_err(|error| error.to_string())
    }
}
