//! The JavaScript that every session starts with, the same for both engines: [`CORE`] at once, the other parts when a cell
//! first names what they define.
//!
//! Each file is one function expression. It reaches the built-ins through what `core.js` kept of them before any cell ran,
//! so that nothing a cell replaces later can break it.

/// The file that engines see it under, which keeps its frames out of the users' stacks.
pub(super) const FILE: &str = "warmcell:prelude";

/// The object through which rewritten cells reach the prelude.
pub(super) const OBJECT: &str = "const $warmcell = { __proto__: null }; $warmcell";

/// Console, timers, microtasks, and the names of what is loaded later.
pub(super) const CORE: &str = include_str!("prelude/core.js");

/// How QuickJS reads values.
#[cfg(feature = "quickjs")]
pub(super) const READERS: &str = include_str!("prelude/readers.js");

/// Turns the compilation of strings off on QuickJS.
#[cfg(feature = "quickjs")]
pub(super) const NO_EVAL: &str = include_str!("prelude/no-eval.js");

/// A part that is loaded later.
pub(super) fn part(name: &str) -> Option<&'static str> {
    Some(match name {
        "buffer" => include_str!("prelude/buffer.js"),
        "capabilities" => include_str!("prelude/capabilities.js"),
        "clone" => include_str!("prelude/clone.js"),
        "crypto" => include_str!("prelude/crypto.js"),
        "display" => include_str!("prelude/display.js"),
        "events" => include_str!("prelude/events.js"),
        "text" => include_str!("prelude/text.js"),
        "urls" => include_str!("prelude/urls.js"),
        _ => return None,
    })
}
