//! What the JavaScript engines tell of themselves.

use super::memory;
use crate::facts::{self, ArmedLimit, EngineFacts};
use crate::limits::Limits;
use crate::runtime::{JavaScriptEngine, RuntimeError, SessionBuilder};

/// What a session opened by `builder` would run on.
pub(in crate::engine) fn facts(builder: &SessionBuilder) -> Result<EngineFacts, RuntimeError> {
    let engine = builder.chosen_javascript_engine();
    // The engine must be built in.
    let launch = super::launch(builder, super::rewrite::Flavour::JavaScript)?;
    let limits = &builder.limits;
    let [output, value, cpu] = facts::limits_of_every_engine(builder);
    Ok(EngineFacts {
        language: builder.language,
        engine: launch.engine.to_owned(),
        version: version(engine).to_owned(),
        executable: None,
        library: None,
        environment: None,
        reads: Vec::new(),
        chosen: None,
        limits: vec![
            deadline(engine, limits),
            memory_limit(engine, limits),
            output,
            value,
            cpu,
        ],
        notices: Vec::new(),
    })
}

/// The engine's own version; empty for one that is not built in.
fn version(engine: JavaScriptEngine) -> &'static str {
    match engine {
        #[cfg(feature = "javascript")]
        JavaScriptEngine::Boa => super::boa::VERSION,
        #[cfg(feature = "quickjs")]
        JavaScriptEngine::QuickJs => super::quickjs::version(),
        #[cfg(not(all(feature = "javascript", feature = "quickjs")))]
        _ => "",
    }
}

fn deadline(engine: JavaScriptEngine, limits: &Limits) -> ArmedLimit {
    let means = match engine {
        JavaScriptEngine::Boa => "boa's runtime limits, then a watchdog",
        JavaScriptEngine::QuickJs => "QuickJS's interrupt handler, then a watchdog",
    };
    ArmedLimit {
        limit: "timeoutMs".to_owned(),
        armed: true,
        how: format!("{}; {means}", facts::timeout_text(limits)),
    }
}

fn memory_limit(engine: JavaScriptEngine, limits: &Limits) -> ArmedLimit {
    let megabytes = limits.memory_mb;
    let (armed, how) = match engine {
        JavaScriptEngine::QuickJs => (true, format!("{megabytes} MiB, by QuickJS's own limit")),
        JavaScriptEngine::Boa if memory::is_counted() => {
            (true, format!("{megabytes} MiB, by the counting allocator"))
        }
        JavaScriptEngine::Boa => (
            false,
            "this process does not count what boa allocates".to_owned(),
        ),
    };
    ArmedLimit {
        limit: "memoryMb".to_owned(),
        armed,
        how,
    }
}
