//! What the JavaScript engines tell of themselves.

use super::memory;
use crate::facts::{ArmedLimit, EngineFacts};
use crate::limits::Limits;
use crate::runtime::{JavaScriptEngine, RuntimeError, SessionBuilder};

/// What a session opened by `builder` would run on.
pub(in crate::engine) fn facts(builder: &SessionBuilder) -> Result<EngineFacts, RuntimeError> {
    let engine = builder.javascript_engine.unwrap_or_default();
    // The engine must be built in.
    let launch = super::launch(builder, super::rewrite::Flavour::JavaScript)?;
    let version = match engine {
        JavaScriptEngine::Boa => "0.22.0",
        JavaScriptEngine::QuickJs => "0.16.2",
    };
    let limits = &builder.limits;
    let timeout = match engine {
        JavaScriptEngine::Boa => "boa's runtime limits, set to zero at the deadline",
        JavaScriptEngine::QuickJs => "QuickJS's interrupt handler",
    };
    Ok(EngineFacts {
        language: builder.language,
        engine: launch.engine.to_owned(),
        version: version.to_owned(),
        executable: None,
        library: None,
        environment: None,
        chosen: None,
        limits: vec![
            ArmedLimit {
                limit: "timeoutMs".to_owned(),
                armed: limits.timeout.is_some(),
                how: timeout.to_owned(),
            },
            memory_limit(engine, limits),
        ],
        notices: Vec::new(),
    })
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
