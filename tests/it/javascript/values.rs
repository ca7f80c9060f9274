//! Values: plain JSON crosses exactly, anything else is refused by name and path.

use serde_json::json;
use warmcell::{FailureKind, Integers, Limits};

use super::on_each_engine;
use crate::support::{Cells, Judge, each, ms, timed};

#[test]
fn json_crosses_to_the_last_digit() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                ("0", "0"),
                ("-5", "-5"),
                ("1.5", "1.5"),
                ("0.1 + 0.2", "0.30000000000000004"),
                ("2 ** 53", "9007199254740992"),
                ("-(2 ** 53) + 1", "-9007199254740991"),
                ("1e21", "1e+21"),
                ("5e-324", "5e-324"),
                ("1.7976931348623157e308", "1.7976931348623157e+308"),
                ("true", "true"),
                ("null", "null"),
                ("''", "\"\""),
                ("'é😀\\u2028\\0\\\\\"'", "\"é😀\u{2028}\\u0000\\\\\\\"\""),
                ("[]", "[]"),
                ("({})", "{}"),
                (
                    "({ b: 1, 2: 2, a: 3, 1: 4 })",
                    r#"{"1":4,"2":2,"b":1,"a":3}"#,
                ),
                ("[[[1]], { k: [{}] }]", r#"[[[1]],{"k":[{}]}]"#),
                ("({ __proto__: null, a: 1 })", r#"{"a":1}"#),
                (
                    r#"JSON.parse('{"__proto__":1,"":2}')"#,
                    r#"{"__proto__":1,"":2}"#,
                ),
                ("(s => [s, s])({ s: 1 })", r#"[{"s":1},{"s":1}]"#),
                ("Object.freeze([1])", "[1]"),
                ("-0", "-0.0"),
                // A match is what it found; where it found it is left out, as in `JSON.stringify`.
                ("'abc'.match(/b/)", r#"["b"]"#),
                ("Array.from({ length: 3 }, (_, i) => i)", "[0,1,2]"),
            ],
            |(code, text)| {
                for code in [
                    code.to_owned(),
                    format!("return {code}"),
                    format!("await ({code})"),
                ] {
                    let outcome = session.cell(&code);
                    outcome.succeeded();
                    let value = outcome.value.as_ref().map(|value| value.as_str());
                    let is_right = value == Some(text)
                        // A number may be written in another way that reads back the same.
                        || value.is_some_and(|value| matches!(
                            (value.parse::<f64>(), text.parse::<f64>()),
                            (Ok(one), Ok(other)) if one.to_bits() == other.to_bits()
                        ));
                    assert!(is_right, "{code} on {}: {value:?}", engine.name);
                }
            },
        );
    });
}

/// The path to what cannot be handed over, and what it is.
#[test]
fn what_is_not_json_is_refused_by_path_and_name() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                ("{ a: undefined }", "a", "undefined"),
                ("[1, undefined]", "[1]", "undefined"),
                ("[1, , 3]", "[1]", "hole"),
                ("{ rows: [{ score: NaN }] }", "rows[0].score", "NaN"),
                ("[Infinity]", "[0]", "infinite"),
                ("{ n: -Infinity }", "n", "infinite"),
                ("{ id: 10n }", "id", "BigInt"),
                ("{ s: Symbol('x') }", "s", "symbol"),
                ("{ [Symbol('x')]: 1 }", "", "symbol"),
                ("{ f() {} }", "f", "function"),
                ("{ c: class A {} }", "c", "function"),
                ("{ get g() { throw 1 } }", "g", "an accessor"),
                ("{ d: new Date(0) }", "d", "Date"),
                ("{ m: new Map() }", "m", "Map"),
                ("[new Set()]", "[0]", "Set"),
                ("{ r: /x/ }", "r", "RegExp"),
                ("{ e: new TypeError('x') }", "e", "an Error"),
                ("{ u: new Uint8Array(1) }", "u", "a typed array"),
                ("{ b: new Number(1) }", "b", "a boxed primitive"),
                ("{ p: Promise.resolve(1) }", "p", "Promise"),
                ("{ x: new Proxy({}, {}) }", "x", "a proxy"),
                ("{ m: Math }", "m.", "a hidden property"),
                (
                    "Object.defineProperty({ a: 1 }, 'b', { value: 2 })",
                    "b",
                    "a hidden property",
                ),
                ("{ i: new (class Point { x = 1 })() }", "i", "Point"),
                ("{ 'a b': { 'c-d': undefined } }", "c-d", "undefined"),
                ("{ t: '\\ud800' }", "t", "surrogate"),
                (
                    "(() => { const c = { list: [] }; c.list.push(c); return c })()",
                    "list[0]",
                    "cycle",
                ),
            ],
            |(code, path, what)| {
                let outcome = session.cell(&format!("return {code}"));
                let error = outcome.failed(FailureKind::InvalidOutput);
                assert!(
                    error.message.contains(path) && error.message.contains(what),
                    "{code} on {}: {}",
                    engine.name,
                    error.message
                );
                // As a last expression it is shown.
                let outcome = session.cell(&format!("const shown = {code}; shown"));
                outcome.returned_nothing();
                assert_eq!(
                    outcome.display.len(),
                    1,
                    "{code} on {}: {outcome:#?}",
                    engine.name
                );
            },
        );
        session.cell("1").returned(json!(1));
    });
}

/// For readers that parse numbers as doubles, and what is written as an integer as one.
#[test]
fn safe_integers_are_refused_beyond_what_a_double_holds() {
    on_each_engine(|engine| {
        let session = engine.open(|builder| builder.integers(Integers::Safe));
        session
            .cell("return [2 ** 53 - 1, -(2 ** 53 - 1), 1e21, -0.5]")
            .returned(json!([
                9_007_199_254_740_991_i64,
                -9_007_199_254_740_991_i64,
                1e21,
                -0.5
            ]));
        each(["2 ** 53", "-(2 ** 60)"], |number| {
            let outcome = session.cell(&format!("return {{ n: {number} }}"));
            let error = outcome.failed(FailureKind::InvalidOutput);
            assert!(error.message.contains("`n`"), "{outcome:#?}");
        });
    });
}

#[test]
fn no_code_of_the_program_runs_for_a_value() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell(
                "const ran = [];\n\
                 const trap = new Proxy({}, new Proxy({}, { get(_, name) { ran.push(name); return undefined } }));\n\
                 class Own { get x() { ran.push('x') } toJSON() { ran.push('toJSON') } toString() { ran.push('toString') } get [Symbol.toStringTag]() { ran.push('tag') } }\n\
                 Object.prototype.toJSON = function () { ran.push('toJSON'); return 1 };\n\
                 Array.prototype[Symbol.iterator] = function () { ran.push('iterator') };\n\
                 0;",
            )
            .succeeded();
        for code in [
            "trap",
            "new Own()",
            "[1, { a: [2] }]",
            "({ get boom() { ran.push('boom') } })",
            "[trap, new Own()]",
        ] {
            session.cell(code).succeeded();
            session.cell(&format!("console.log({code})")).succeeded();
            session.cell(&format!("return {code}"));
        }
        session.cell("ran").returned(json!([]));
    });
}

#[test]
fn a_value_over_its_budget_is_refused_and_kept() {
    on_each_engine(|engine| {
        let limits = Limits::default().with_value_bytes(1000);
        let session = engine.open(|builder| builder.limits(limits));
        session
            .cell("const long = 'x'.repeat(998); long")
            .returned(json!("x".repeat(998)));
        session
            .cell("const longer = 'x'.repeat(999); longer")
            .failed(FailureKind::OutputLimit);
        session
            .cell("return Array.from({ length: 1000 }, () => ({ a: 1 }))")
            .failed(FailureKind::OutputLimit);
        session.cell("longer.length").returned(json!(999));
    });
}

/// Handing over is inside the deadline, and its depth is no matter of the stack.
#[test]
fn a_huge_or_deep_value_is_an_error_in_time() {
    on_each_engine(|engine| {
        let limits = Limits::default().with_value_bytes(1 << 30);
        let session = engine.open(|builder| builder.limits(limits));
        session
            .cell_within(
                ms(20_000),
                "let d = []; for (let i = 0; i < 100000; i++) d = [d]; const rows = Array.from({ length: 300000 }, () => [1.5, 'text', null]);",
            )
            .succeeded();
        let error = session.cell("return d");
        error.failed(FailureKind::InvalidOutput);
        let (took, outcome) = timed(|| session.cell_within(ms(5), "return rows"));
        outcome.failed(FailureKind::Timeout);
        assert!(took < ms(500), "{took:?} on {}", engine.name);
        session.cell("rows.length").returned(json!(300_000));
    });
}

#[test]
fn what_a_cell_ends_with() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                ("1; 2", Some(json!(2))),
                ("let a = 5", None),
                ("let b = 5; b", Some(json!(5))),
                ("if (true) { 'yes' } else { 'no' }", Some(json!("yes"))),
                ("for (const x of [1, 2]) { x * 2 }", Some(json!(4))),
                ("try { 1 } finally { 2 }", Some(json!(1))),
                ("await null; if (true) { 'yes' }", Some(json!("yes"))),
                ("await null; try { 7 } catch { 8 }", Some(json!(7))),
                ("await null; { 9 }", Some(json!(9))),
                ("{ a: 1 }", Some(json!({ "a": 1 }))),
                ("function f() {}", None),
                ("return", None),
                ("return null", Some(json!(null))),
                ("return undefined", None),
                ("'use strict'", Some(json!("use strict"))),
                ("await Promise.resolve(3)", Some(json!(3))),
                ("Promise.resolve(4)", Some(json!(4))),
                ("(async () => 5)()", Some(json!(5))),
                ("return Promise.resolve(6)", Some(json!(6))),
                ("console.log('x')", None),
                ("void 0", None),
                ("3 // three", Some(json!(3))),
            ],
            |(code, value)| {
                let outcome = session.cell(code);
                match value {
                    Some(value) => outcome.returned(value),
                    None => outcome.returned_nothing(),
                };
            },
        );
    });
}
