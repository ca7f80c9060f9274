//! A cell may break its own world, and never the runtime's: what it replaces is not what the runtime uses.

use serde_json::json;
use warmcell::FailureKind;

use super::on_each_engine;
use crate::support::{Cells, Judge, each, ms};

/// Each leaves the runtime whole: values, console, timers, promises, the prelude.
#[test]
fn nothing_a_cell_replaces_is_what_the_runtime_uses() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                "Array.prototype.push = () => { throw 'push' }",
                "Array.prototype.slice = Array.prototype.splice = Array.prototype.map = Array.prototype.join = () => { throw 'array' }",
                "Array.prototype[Symbol.iterator] = () => { throw 'iterator' }",
                "Promise.prototype.then = () => { throw 'then' }",
                "Promise.resolve = Promise.reject = () => { throw 'resolve' }",
                "Object.defineProperty(Promise.prototype, 'constructor', { get() { return undefined } })",
                "JSON.stringify = JSON.parse = () => { throw 'JSON' }",
                "Object.defineProperty(Object.prototype, 'value', { set() { throw 'value' }, get() { throw 'value' }, configurable: true })",
                "Object.defineProperty(Object.prototype, '0', { set() { throw 'index' }, configurable: true })",
                "for (const k of ['callback', 'parameters', 'get', 'enumerable', 'a', 'length', 'done', 'then', 'toJSON', 'signal', 'href']) Object.defineProperty(Object.prototype, k, { set() { throw k }, get() { return undefined }, configurable: true })",
                "Object.keys = Object.entries = Object.defineProperty = Object.getPrototypeOf = Object.create = Object.freeze = () => { throw 'Object' }",
                "Reflect.apply = Reflect.ownKeys = Reflect.get = Reflect.construct = Reflect.defineProperty = () => { throw 'Reflect' }",
                "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 'Function' }",
                "String.prototype.split = String.prototype.slice = String.prototype.charCodeAt = String.prototype.replace = String.prototype.toString = () => { throw 'String' }",
                "RegExp.prototype.exec = RegExp.prototype.test = RegExp.prototype[Symbol.replace] = () => { throw 'RegExp' }",
                "Map.prototype.get = Map.prototype.set = Map.prototype.has = Map.prototype.delete = Set.prototype.add = () => { throw 'Map' }",
                "Number.prototype.toString = Boolean.prototype.toString = Symbol.prototype.toString = Error.prototype.toString = () => { throw 'toString' }",
                "Object.defineProperty(Error.prototype, 'name', { get() { throw 'name' } }); Object.defineProperty(Error.prototype, 'message', { get() { throw 'message' } })",
                "globalThis.Object = globalThis.Array = globalThis.Promise = globalThis.Map = globalThis.Error = globalThis.TypeError = globalThis.Symbol = globalThis.String = globalThis.Reflect = globalThis.Proxy = undefined",
                "Date.now = () => NaN; Math.min = Math.max = Math.trunc = () => NaN; performance.now = () => NaN",
                "const T = Object.getPrototypeOf(Uint8Array.prototype); T.set = T.subarray = T.slice = T.fill = () => { throw 'typed' }",
                "delete globalThis.setTimeout; delete globalThis.console; delete globalThis.queueMicrotask",
                "Object.setPrototypeOf(Array.prototype, null); Object.setPrototypeOf(Function.prototype, null)",
                "for (const o of [Array.prototype, Promise.prototype, Map.prototype, String.prototype, Object.prototype]) Object.freeze(o)",
                "Object.freeze(globalThis)",
                "Object.defineProperty(globalThis, '$tail', { get() { throw 'tail' }, set() { throw 'tail' } })",
                "const console_ = console; console_.log = undefined; globalThis.console = { log: console.error }",
            ],
            |code| {
                session.reset_now();
                session
                    .cell("const log = console.log, later = setTimeout, Own = Promise, kept = { n: 41 }; let text = 'x'; const shared = [1, { a: [2] }]; 0;")
                    .succeeded();
                let first = session.cell(&format!("{code};\n0;"));
                assert!(first.ok, "{code} on {}: {first:#?}", engine.name);
                // A promise whose constructor cannot be read is as good as an object.
                let class = match code.contains("'constructor'") {
                    true => "Object [Promise]",
                    false => "Promise",
                };
                session
                    .cell("log('printed', { a: [1] }, [new Own(() => {})], kept); text += 'y'; return shared")
                    .printed(&format!("printed {{ a: [ 1 ] }} [ {class} {{ <pending> }} ] {{ n: 41 }}\n"))
                    .returned(json!([1, { "a": [2] }]));
                session
                    .cell("await new Own(done => later(done, 1, 'timer'))")
                    .returned(json!("timer"));
                session.cell("await null; kept.n + 1").returned(json!(42));
                session
                    .cell("const fresh = 1; [fresh, text]")
                    .returned(json!([1, "xy"]));
                let outcome = session.cell("throw { code: 7 }");
                assert!(
                    !outcome.ok && outcome.error.as_ref().unwrap().message.contains('7'),
                    "{code}: {outcome:#?}"
                );
                let outcome = session.cell("null.x");
                assert!(!outcome.ok, "{code}: {outcome:#?}");
                session
                    .cell_within(ms(50), "for (;;);")
                    .failed(warmcell::FailureKind::Timeout);
                session.cell("kept").returned(json!({ "n": 41 }));
                session.reset_now();
                session
                    .cell("const a = []; a.push(1); await null; console.log(JSON.stringify(a), typeof setTimeout); [new URL('http://a/?b=1').searchParams.get('b'), 'a,b'.split(',')]")
                    .printed("[1] function\n")
                    .returned(json!(["1", ["a", "b"]]));
            },
        );
    });
}

/// The prelude's own parts go on with what they took at the start.
#[test]
fn the_prelude_works_in_a_broken_world() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell(
                "const results = [];\n\
                 Array.prototype.push = Array.prototype.map = Array.prototype.slice = Array.prototype.join = Array.prototype.forEach = () => { throw 'array' };\n\
                 Promise.prototype.then = () => { throw 'then' };\n\
                 JSON.stringify = () => { throw 'JSON' };\n\
                 Map.prototype.get = Map.prototype.set = Set.prototype.add = () => { throw 'Map' };\n\
                 String.prototype.charCodeAt = String.prototype.slice = String.prototype.toLowerCase = () => { throw 'String' };\n\
                 Function.prototype.call = Function.prototype.apply = () => { throw 'Function' };\n\
                 0;",
            )
            .succeeded();
        session
            .cell(
                "const url = new URL('https://a.b/c?d=1#e'); const controller = new AbortController(); let heard = 0;\n\
                 controller.signal.addEventListener('abort', () => heard++); controller.abort();\n\
                 const bytes = new TextEncoder().encode('é');\n\
                 return [url.href, url.searchParams.get('d'), new TextDecoder().decode(bytes), atob(btoa('hi')), structuredClone({ a: [1, { b: 2 }] }), heard,\n\
                 Buffer.from('hi').toString('hex'), crypto.randomUUID().length, String(new URLSearchParams({ q: 'a b' }))]",
            )
            .returned(json!(["https://a.b/c?d=1#e", "1", "é", "hi", { "a": [1, { "b": 2 }] }, 1, "6869", 36, "q=a+b"]));
    });
}

/// What rewritten cells reach the prelude through cannot be taken away.
#[test]
fn the_runtimes_own_names_cannot_be_replaced() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        for code in [
            "$warmcell = 1",
            "$warmcell.constant = 1",
            "delete $warmcell.imported",
            "Object.setPrototypeOf($warmcell, {})",
            "globalThis.$warmcell = 1; delete globalThis.$warmcell",
            "let $warmcell = 1",
        ] {
            let _ = session.cell(code);
            session.cell("const fixed = 1").succeeded();
            session.cell("fixed = 2").raised("TypeError");
            session.cell("fixed").returned(json!(1));
        }
    });
}

#[test]
fn code_from_strings_is_off_by_every_way_to_it() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                "eval('1')",
                "(0, eval)('1')",
                "globalThis.eval('1')",
                "new Function('return 1')()",
                "Function('return 1')()",
                "(() => {}).constructor('return 1')()",
                "(async () => {}).constructor('return 1')()",
                "(function* () {}).constructor('yield 1')()",
                "(async function* () {}).constructor('yield 1')()",
                "console.log.constructor('return 1')()",
                "setTimeout.constructor('return 1')()",
                "Reflect.construct(Function, ['return 1'])",
                "class F extends Function {} new F('return 1')",
                "Object.getPrototypeOf(async function () {}).constructor('1')",
                "Reflect.construct((async () => {}).constructor, ['1'])",
            ],
            |code| {
                session.cell(code).raised("EvalError");
            },
        );
        // A text is no callback either.
        session
            .cell("setTimeout('globalThis.ran = 1', 0)")
            .raised("TypeError");
        session
            .cell("[typeof WebAssembly, typeof process, typeof require, typeof Deno, typeof Bun, typeof std, typeof os, typeof globalThis.module]")
            .returned(json!(vec!["undefined"; 8]));
    });
}

/// What a program sets to have a say in stacks has none in what is told of its errors.
#[test]
fn errors_keep_their_lines_whatever_is_set_about_stacks() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                "Error.prepareStackTrace = () => 'mine'",
                "Error.prepareStackTrace = () => { for (;;); }",
                "Error.prepareStackTrace = () => { throw 'stack' }",
                "Error.stackTraceLimit = 0",
                "Object.defineProperty(Error, 'prepareStackTrace', { get() { for (;;); } })",
            ],
            |code| {
                session.reset_now();
                session.cell(&format!("{code}; 0")).returned(json!(0));
                let outcome = session.cell("const a = 1;\nnull.b");
                let error = outcome.failed(FailureKind::Exception);
                assert_eq!(error.line, Some(2), "{code}: {outcome:#?}");
                session
                    .cell("try { throw new Error('x') } catch (error) { error.stack.includes('<cell') }")
                    .returned(json!(true));
            },
        );
    });
}

/// A name of the platform that a cell declares is the cell's own, and the runtime's is what it was.
#[test]
fn a_name_of_the_platform_may_be_declared() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const Array = 5, Boolean = 5, TypeError = 5, Map_ = new Map([[1, 2]]), set = new Set([3]);")
            .succeeded();
        session
            .cell("console.log(Map_, set)")
            .printed("Map(1) { 1 => 2 } Set(1) { 3 }\n");
        session
            .cell("new EventTarget().addEventListener('x', () => {}, { once: true }); new TextDecoder().decode(new Uint8Array([104, 105]))")
            .returned(json!("hi"));
        session.cell("structuredClone()").raised("TypeError");
    });
}
