//! What the benches reach past the contract, to measure a part by itself. Nothing else may use it.

use std::sync::Arc;

use super::rewrite::{self, Flavour};
use super::stopper::Stopper;
use crate::engine::{Engine, Integers, Language, Opening, Task};
use crate::limits::Limits;
use crate::output::Transcript;
use crate::runtime::JavaScriptEngine;

/// The stack that the thread of an [`InThread`] needs.
pub const STACK_BYTES: usize = 256 << 20;

/// Rewrites and drops; returns what the engine would be given.
pub fn rewrite(source: &str, is_typescript: bool) -> Result<String, String> {
    rewrite::rewrite(source, flavour(is_typescript), &|_| false)
        .map(|rewritten| rewritten.code)
        .map_err(|fault| fault.message)
}

fn flavour(is_typescript: bool) -> Flavour {
    if is_typescript {
        Flavour::TypeScript
    } else {
        Flavour::JavaScript
    }
}

/// A session on the calling thread, without mailbox, watchdog and outcome.
pub struct InThread {
    engine: Box<dyn Engine>,
    transcript: Arc<Transcript>,
    epoch: u64,
}

impl InThread {
    /// Opens a session on the calling thread.
    pub fn open(engine: JavaScriptEngine, is_typescript: bool) -> Result<Self, String> {
        let limits = Limits::default().with_value_bytes(1 << 30);
        let transcript = Arc::new(Transcript::new(&limits));
        let opening = Opening {
            limits,
            integers: Integers::Exact,
            code_cache: false,
            python: None,
            cwd: None,
            imports_from: None,
            env: Default::default(),
            withheld: Default::default(),
            owns_process: false,
            caller: None,
            sink: transcript.clone(),
        };
        let stopper = Stopper::of_this_thread();
        let flavour = flavour(is_typescript);
        let mut language: Box<dyn Language> = match engine {
            #[cfg(feature = "javascript")]
            JavaScriptEngine::Boa => Box::new(super::boa::Boa { stopper, flavour }),
            #[cfg(feature = "quickjs")]
            JavaScriptEngine::QuickJs => Box::new(super::quickjs::QuickJs { stopper, flavour }),
            #[cfg(not(all(feature = "javascript", feature = "quickjs")))]
            other => return Err(format!("{other:?} is not built in")),
        };
        Ok(Self {
            engine: language.open(&opening).map_err(|error| error.to_string())?,
            transcript,
            epoch: 0,
        })
    }

    /// Runs a cell; returns its value's JSON text.
    pub fn run(&mut self, code: &str) -> Result<Option<String>, String> {
        self.epoch += 1;
        let completion = self.engine.run(&Task {
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
}
