//! What Node's results cannot say of the prelude: what is random, what depends on the time, what is missing.

use serde_json::json;

use super::on_each_engine;
use crate::support::{Cells, Judge, each, ms, timed};

#[test]
fn the_names_agents_expect_are_there_and_look_like_built_ins() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let names = [
            "console",
            "setTimeout",
            "setInterval",
            "setImmediate",
            "clearTimeout",
            "clearInterval",
            "clearImmediate",
            "queueMicrotask",
            "structuredClone",
            "URL",
            "URLSearchParams",
            "TextEncoder",
            "TextDecoder",
            "atob",
            "btoa",
            "crypto",
            "performance",
            "AbortController",
            "AbortSignal",
            "DOMException",
            "Event",
            "EventTarget",
            "Buffer",
        ];
        let outcome = session.cell("Object.keys(globalThis)");
        outcome.returned(json!([]));
        each(names, |name| {
            session
                .cell(&format!(
                    "const before = {name}; [typeof globalThis.{name} !== 'undefined', Object.getOwnPropertyDescriptor(globalThis, '{name}').enumerable, before === globalThis.{name}]"
                ))
                .returned(json!([true, false, true]));
        });
    });
}

#[test]
fn random_is_random() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const ids = new Set(Array.from({ length: 1000 }, () => crypto.randomUUID())); ids.size")
            .returned(json!(1000));
        session
            .cell("const bytes = crypto.getRandomValues(new Uint8Array(65536)); const seen = new Set(bytes); [seen.size, crypto.getRandomValues(bytes) === bytes]")
            .returned(json!([256, true]));
        session
            .cell("const view = new Uint8Array(16); crypto.getRandomValues(view.subarray(4, 8)); [...view.slice(0, 4), ...view.slice(8)]")
            .returned(json!([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        for code in [
            "crypto.getRandomValues(new Uint8Array(65537))",
            "crypto.getRandomValues([1])",
            "crypto.getRandomValues(new Float32Array(1))",
        ] {
            let outcome = session.cell(code);
            assert!(
                !outcome.ok && outcome.error.is_some(),
                "{code} on {}: {outcome:#?}",
                engine.name
            );
        }
        // Two sessions do not draw the same.
        let other = engine.javascript();
        let (one, two) = (
            session.cell("crypto.randomUUID() + Math.random()"),
            other.cell("crypto.randomUUID() + Math.random()"),
        );
        assert_ne!(one.value.unwrap().as_str(), two.value.unwrap().as_str());
    });
}

#[test]
fn timers_keep_their_order_and_their_time() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let (took, outcome) = timed(|| {
            session.cell(
                "const log = []; const at = (ms, name) => new Promise(done => setTimeout(() => { log.push(name); done() }, ms));\n\
                 const cancelled = setTimeout(() => log.push('never'), 5); clearTimeout(cancelled);\n\
                 setImmediate(() => log.push('immediate'));\n\
                 await Promise.all([at(40, 'c'), at(20, 'b'), at(1, 'a'), at(20, 'b2')]); log",
            )
        });
        outcome.returned(json!(["immediate", "a", "b", "b2", "c"]));
        assert!(
            took >= ms(40) && took < ms(540),
            "{took:?} on {}",
            engine.name
        );
        session
            .cell("await new Promise(done => setTimeout((...given) => done(given), 1, 'x', { y: 1 }))")
            .returned(json!(["x", { "y": 1 }]));
        each(
            [
                "setTimeout()",
                "setTimeout(null, 1)",
                "setInterval('text', 1)",
                "queueMicrotask(1)",
            ],
            |code| {
                session.cell(code).raised("TypeError");
            },
        );
        session
            .cell("clearTimeout(); clearTimeout(null); clearTimeout(99999); clearInterval('x'); clearTimeout({}); let n = 0; const id = setInterval(() => { n++; clearInterval(id) }, 1); await new Promise(done => setTimeout(done, 20)); n")
            .returned(json!(1));
        session
            .cell("const delays = []; for (const ms of [-5, NaN, Infinity, 2 ** 31, '3', undefined, null]) delays.push(await new Promise(done => setTimeout(done, ms, 'came'))); delays.length")
            .returned(json!(7));
    });
}

#[test]
fn clocks_go_forward() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const a = performance.now(); await new Promise(done => setTimeout(done, 10)); const b = performance.now(); [b - a >= 9, b - a < 500, Math.abs(performance.timeOrigin + b - Date.now()) < 1000, a !== Math.floor(a) || b !== Math.floor(b)]")
            .returned(json!([true, true, true, true]));
    });
}

/// What is missing is missing, and no stub that fails later.
#[test]
fn what_is_not_offered_is_undefined() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                "fetch",
                "process",
                "require",
                "module",
                "__dirname",
                "window",
                "document",
                "XMLHttpRequest",
                "WebSocket",
                "Worker",
                "localStorage",
                "alert",
                "prompt",
                "Deno",
                "Bun",
                "WebAssembly",
                "print",
                "scriptArgs",
            ],
            |name| {
                session
                    .cell(&format!("typeof {name}"))
                    .returned(json!("undefined"));
            },
        );
    });
}

/// Errors of the runtime's own functions are errors of the language, where the cell is.
#[test]
fn errors_of_the_prelude_name_the_cells_line() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                ("const u = 1;\nnew URL('nope')", "TypeError"),
                ("\natob('*')", "InvalidCharacterError"),
                ("\nstructuredClone(() => {})", "DataCloneError"),
                ("\nnew TextDecoder('nope')", "RangeError"),
                ("\nAbortSignal.abort().throwIfAborted()", "AbortError"),
            ],
            |(code, name)| {
                let outcome = session.cell(code);
                let error = outcome.raised(name);
                assert_eq!(error.line, Some(2), "{code} on {}: {error:#?}", engine.name);
                assert!(
                    !error
                        .traceback
                        .as_deref()
                        .unwrap_or_default()
                        .contains("warmcell:"),
                    "{error:#?}"
                );
            },
        );
    });
}

#[test]
fn buffers_search_and_write_as_on_node() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell(
                "const b = Buffer.alloc(4), hello = Buffer.from('hello'); return [hello.lastIndexOf('l'), hello.lastIndexOf('l', 2), hello.indexOf('l', -2),\n\
                 hello.lastIndexOf('z'), Buffer.from('aXbX').lastIndexOf('X'), b.write('€€'), b.toString('hex'), b.write('ffff', 'hex')]",
            )
            .returned(json!([3, 2, 3, -1, 3, 3, "e282ac00", 2]));
        for (call, range) in [
            ("writeUInt8(256)", ">= 0 and <= 255"),
            ("writeInt8(-129)", ">= -128 and <= 127"),
            ("writeInt16LE(40000)", ">= -32768 and <= 32767"),
            ("writeUInt32BE(-1)", ">= 0 and <= 4294967295"),
        ] {
            let outcome = session.cell(&format!("b.{call}"));
            let message = &outcome.raised("RangeError").message;
            assert!(message.contains(range), "{call}: {message}");
        }
        session
            .cell("b.writeInt8(-128); b.writeUInt16LE(65535, 1); b.writeFloatLE(1e300); return b.toString('hex')")
            .returned(json!("0000807f"));
    });
}

#[test]
fn a_transfer_is_refused_and_not_taken_for_a_copy() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let code = "const a = new ArrayBuffer(8); structuredClone(a, { transfer: [a] })";
        session.cell(code).raised("NotSupportedError");
        session
            .cell("structuredClone(a, { transfer: [] }).byteLength")
            .returned(json!(8));
    });
}

#[test]
fn an_error_of_a_class_of_ones_own_comes_from_where_it_was_made() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let outcome = session.cell(
            "class Base extends Error { constructor(m) {\n super(m) } }\nclass Mine extends Base {}\n\nfunction f() {\n  throw new Mine('mine')\n}\nf()",
        );
        let error = outcome.raised("Mine");
        assert_eq!(error.line, Some(6), "{outcome:#?}");
        let traceback = error.traceback.as_deref().unwrap_or_default();
        assert!(
            traceback.starts_with("Mine: mine\n    at f (<cell 1>:6:"),
            "{traceback}"
        );
    });
}
