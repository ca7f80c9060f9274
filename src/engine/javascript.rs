//! JavaScript and TypeScript: one language on two engines.
//!
//! What both share lives here: the rewrite of cells, running them, values, the inspector behind `console` and `display`,
//! the prelude, timers. [`Realm`](realm::Realm) is what an engine must offer; what is an engine's own is one file each.

#[cfg(feature = "javascript")]
mod boa;
mod cells;
mod facts;
mod failure;
mod host;
mod inspect;
pub mod internals;
#[cfg_attr(
    not(feature = "javascript"),
    expect(dead_code, reason = "QuickJS has a memory limit of its own")
)]
mod memory;
mod modules;
mod prelude;
#[cfg(feature = "quickjs")]
mod quickjs;
mod realm;
mod rewrite;
mod sources;
mod stopper;
mod timers;
mod values;

use std::sync::Arc;

pub(super) use self::facts::facts;
pub use self::memory::CountingAllocator;
use self::rewrite::Flavour;
use self::stopper::Stopper;
use super::{EngineError, Interrupter, Launch};
use crate::runtime::{JavaScriptEngine, RuntimeError, SessionBuilder};

/// The cell of a rehearsal.
const REHEARSAL: &str = "const text = String([1 + 1]);\nconsole.log(text);\ntext";

/// How to bring an engine to life for a session of `flavour`.
pub(crate) fn javascript(builder: &SessionBuilder) -> Result<Launch, RuntimeError> {
    launch(builder, Flavour::JavaScript)
}

/// As [`javascript`], for TypeScript.
pub(crate) fn typescript(builder: &SessionBuilder) -> Result<Launch, RuntimeError> {
    launch(builder, Flavour::TypeScript)
}

fn launch(builder: &SessionBuilder, flavour: Flavour) -> Result<Launch, RuntimeError> {
    match builder.chosen_javascript_engine() {
        #[cfg(feature = "javascript")]
        JavaScriptEngine::Boa => Ok(on_its_thread("boa", boa::STACK_BYTES, move |stopper| {
            Box::new(boa::Boa { stopper, flavour })
        })),
        #[cfg(feature = "quickjs")]
        JavaScriptEngine::QuickJs => Ok(on_its_thread(
            "quickjs",
            quickjs::STACK_BYTES,
            move |stopper| Box::new(quickjs::QuickJs { stopper, flavour }),
        )),
        #[cfg(not(feature = "javascript"))]
        JavaScriptEngine::Boa => Err(RuntimeError::NotBuilt {
            engine: "boa",
            feature: "javascript",
        }),
        #[cfg(not(feature = "quickjs"))]
        JavaScriptEngine::QuickJs => Err(RuntimeError::NotBuilt {
            engine: "QuickJS",
            feature: "quickjs",
        }),
    }
}

/// A thread for each session, whose stopper is the session's.
fn on_its_thread(
    engine: &'static str,
    stack_bytes: usize,
    language: impl FnOnce(Arc<Stopper>) -> Box<dyn super::Language> + Send + 'static,
) -> Launch {
    Launch {
        engine,
        stack_bytes,
        once_per_process: false,
        start: Box::new(move || -> Result<_, EngineError> {
            let stopper = Stopper::of_this_thread();
            Ok((language(stopper.clone()), stopper as Arc<dyn Interrupter>))
        }),
    }
}
