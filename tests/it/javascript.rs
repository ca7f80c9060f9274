//! JavaScript and TypeScript: what both engines promise alike, and where they may differ.
//!
//! A test that names no engine runs on each that was built in: [`on_each_engine`] opens the sessions. What Node prints and
//! computes is recorded data, in `tests/node`.

mod bindings;
mod console;
mod hostile;
mod loops;
mod modules;
mod node;
mod peers;
mod places;
mod prelude;
mod properties;
mod rejections;
mod stopping;
mod tampering;
mod typescript;
mod values;

use std::panic::{AssertUnwindSafe, catch_unwind};

use warmcell::{JavaScriptEngine, Language, Session, SessionBuilder};

use crate::support::{Opened, Turn, turn};

/// The engines in this binary, each by the name that a session gives it.
pub(crate) const ENGINES: &[(&str, JavaScriptEngine)] = &[
    #[cfg(feature = "javascript")]
    ("boa", JavaScriptEngine::Boa),
    #[cfg(feature = "quickjs")]
    ("quickjs", JavaScriptEngine::QuickJs),
];

/// One engine's share of a test.
pub(crate) struct Engine<'turn> {
    pub(crate) name: &'static str,
    engine: JavaScriptEngine,
    turn: &'turn Turn,
}

impl<'turn> Engine<'turn> {
    /// A JavaScript session with the default options.
    pub(crate) fn javascript(&self) -> Opened<'turn> {
        self.open(|builder| builder)
    }

    /// A TypeScript session with the default options.
    pub(crate) fn typescript(&self) -> Opened<'turn> {
        self.turn.open(self.builder(Language::TypeScript))
    }

    /// A JavaScript session with options of its own.
    pub(crate) fn open(
        &self,
        with: impl FnOnce(SessionBuilder) -> SessionBuilder,
    ) -> Opened<'turn> {
        self.turn.open(with(self.builder(Language::JavaScript)))
    }

    pub(crate) fn builder(&self, language: Language) -> SessionBuilder {
        Session::builder(language).javascript_engine(self.engine)
    }
}

/// Runs `test` on every engine, and fails after the last when it failed on one.
#[track_caller]
pub(crate) fn on_each_engine(test: impl Fn(&Engine<'_>)) {
    let turn = turn();
    let mut failed = Vec::new();
    for &(name, engine) in ENGINES {
        let engine = Engine {
            name,
            engine,
            turn: &turn,
        };
        if catch_unwind(AssertUnwindSafe(|| test(&engine))).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "failed on {failed:?}");
}
