//! Loops whose variables are new in each turn, and functions that close over them.

use serde_json::{Value, json};

use super::on_each_engine;
use crate::support::{Cells, Judge, each};

/// Programs that leave functions in `h`, and what these give on Node.
fn programs() -> Vec<(&'static str, Value)> {
    vec![
        (
            "for (let i = 0; i < 3; i++) { h.push(() => i); if (i === 1) continue }",
            json!([0, 1, 2]),
        ),
        (
            "for (let i = 0; i < 3; i++) { h.push(() => i); if (i === 1) { i += 0.5; continue; } }",
            json!([0, 1.5, 2.5]),
        ),
        (
            "for (let i = 0, j = 9; i < 4; i++, j--) { if (i % 2) continue; h.push(() => [i, j]); if (i) continue; j--; }",
            json!([[0, 8], [2, 6]]),
        ),
        (
            "outer: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { h.push(() => 10 * i + j); if (j === i) continue outer; if (i) continue }",
            json!([0, 10, 11, 20, 21, 22]),
        ),
        (
            "a: b: for (let i = 0; i < 4; i++) { for (const x of [1, 2]) { h.push(() => i + x); if (i === 1) continue a; if (i === 2) continue b; continue } }",
            json!([1, 2, 2, 3, 4, 5]),
        ),
        (
            "for (let i = 0; i < 4; i++) { try { h.push(() => i); if (i === 1) continue; if (i === 2) throw i } catch (e) { h.push(() => -i - e); continue } finally { h.push(() => i * 10); if (i === 3) continue } }",
            json!([0, 0, 1, 10, 2, -4, 20, 3, 30]),
        ),
        (
            "for (let i = 0; i < 4; i++) switch (i) { case 1: h.push(() => i); continue; case 2: h.push(() => -i); break; default: h.push(() => i * 2); continue }",
            json!([0, 1, -2, 6]),
        ),
        (
            "for (let i = 0; i < 3; i++) { const o = { get v() { return i }, m() { return i } }; h.push(() => [o.v, o.m()]); if (i < 2) continue }",
            json!([[0, 0], [1, 1], [2, 2]]),
        ),
        (
            "for (let i = 0; i < 3; i++) { class C { v = i; static s = () => i } h.push(() => [new C().v, C.s()]); continue }",
            json!([[0, 0], [1, 1], [2, 2]]),
        ),
        (
            "for (let i = 0; i < 3; i++) { function f() { return i } h.push(f); while (true) { break } do { if (i) continue } while (false); continue }",
            json!([0, 1, 2]),
        ),
        (
            "for (let i = 0; i < 3; i++) { h.push(() => { let n = 0; for (let j = 0; j < 4; j++) { if (j === i) continue; n += j } return n }); if (i === 1) continue }",
            json!([6, 5, 4]),
        ),
        (
            "for (let i = 0; h.push(() => i) && i < 2; i++) continue",
            json!([0, 1, 2]),
        ),
        (
            "$turn0: for (let i = 0; i < 2; i++) { for (let j = 0; j < 2; j++) { h.push(() => [i, j]); if (i === j) continue $turn0; continue } }",
            json!([[0, 0], [1, 0], [1, 1]]),
        ),
        (
            "outer: for (let i = 0; i < 3; i++) { if (i === 1) continue /* a note */ outer // and another\nh.push(() => i) }",
            json!([0, 2]),
        ),
        (
            "for (var v = 0; v < 3; v++) { h.push(() => v); if (v === 1) continue }",
            json!([3, 3, 3]),
        ),
        (
            "for (const x of [1, 2, 3]) { h.push(() => x); if (x === 2) continue } for (const k in { a: 1, b: 2 }) { h.push(() => k); continue }",
            json!([1, 2, 3, "a", "b"]),
        ),
    ]
}

/// A program as each kind of code that a cell can hold it in.
fn forms(program: &str) -> [String; 5] {
    [
        format!("const h = []; {program}\nh.map(f => f())"),
        format!("const h = []; {program}\nreturn h.map(f => f())"),
        format!("const h = []; await null; {program}\nh.map(f => f())"),
        format!("(() => {{ const h = []; {program}\nreturn h.map(f => f()) }})()"),
        format!(
            "const [got] = (function* () {{ const h = []; {program}\nyield h.map(f => f()) }})(); got"
        ),
    ]
}

#[test]
fn a_function_keeps_the_variables_of_its_turn() {
    on_each_engine(|engine| {
        for session in [engine.javascript(), engine.typescript()] {
            each(programs(), |(program, value)| {
                for code in forms(program) {
                    session.cell(&code).returned(value.clone());
                }
            });
        }
    });
}

#[test]
fn a_turn_may_wait_between_its_function_and_its_end() {
    on_each_engine(|engine| {
        for session in [engine.javascript(), engine.typescript()] {
            each(
                [
                    (
                        "const h = []; for (let i = 0; i < 3; i++) { h.push(() => i); await null; if (i === 1) continue; await null }\nh.map(f => f())",
                        json!([0, 1, 2]),
                    ),
                    (
                        "const h = []; outer: for (let i = 0; i < 3; i++) { for await (const x of [1, 2]) { h.push(() => 10 * i + x); try { if (i === 1) continue outer } finally { await null } } }\nh.map(f => f())",
                        json!([1, 2, 11, 21, 22]),
                    ),
                    (
                        "const g = async function* () { const h = []; for (let i = 0; i < 3; i++) { try { h.push(() => i); yield i; if (i === 1) continue } finally { yield -i; h.push(() => i * 2) } } yield h.map(f => f()) }; const got = []; for await (const x of g()) got.push(x); got.at(-1)",
                        json!([0, 0, 1, 2, 2, 4]),
                    ),
                ],
                |(code, value)| {
                    session.cell(code).returned(value);
                },
            );
        }
    });
}

/// A loop's own value, and the places of what fails in one.
#[test]
fn a_loop_is_told_as_it_was_written() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const h = []; for (let i = 0; i < 4; i++) { h.push(() => i); i * 2; if (i > 1) { i + 7; continue } }")
            .returned(json!(10));
        let outcome = session.cell(
            "for (let i = 0; i < 3; i++) { const f = () => i; if (!f()) continue; throw new Error(f()) }",
        );
        let error = outcome.raised("Error");
        // The engines differ in what of `new Error(..)` they call its place.
        let column = if engine.name == "boa" { 76 } else { 85 };
        assert_eq!(
            (error.line, error.column),
            (Some(1), Some(column)),
            "{error:#?}"
        );
        let outcome = session.cell(
            "outer: for (let i = 0; i < 3; i++) {\n  const f = () => i\n  for (;;) { if (!f()) continue outer; nowhere }\n}",
        );
        let error = outcome.raised("ReferenceError");
        assert_eq!(
            (error.line, error.column),
            (Some(3), Some(40)),
            "{error:#?}"
        );
    });
}
