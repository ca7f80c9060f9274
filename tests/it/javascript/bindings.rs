//! A session's names from outside: bound, inspected, reset; and its memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use warmcell::{FailureKind, Json, Limits, Session};

use super::{Engine, on_each_engine};
use crate::support::{Cells, Judge, Opened, each, in_own_process, ms, settle};

fn bind(session: &Session, name: &str, value: &Value) -> Result<(), String> {
    settle(session.bind(name, Json::of(value).unwrap())).map_err(|problem| problem.to_string())
}

#[test]
fn a_bound_value_is_there_as_it_was() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                json!(null),
                json!([1, 2.5, "é😀\u{2028}\u{0}", true, null]),
                json!({ "a": { "b": [{}] }, "": 1, "needs quotes": 2 }),
                json!("`${1}` \" ' \\ \n"),
                json!(9_007_199_254_740_991_i64),
                json!(-0.5),
            ],
            |value| {
                bind(&session, "given", &value).unwrap();
                session.cell("return given").returned(value.clone());
                session
                    .cell("given = [given, 1]; given[1]")
                    .returned(json!(1));
            },
        );
        bind(
            &session,
            "given",
            &json!({ "__proto__": { "polluted": true }, "constructor": 1 }),
        )
        .unwrap();
        session
            .cell("[Object.hasOwn(given, '__proto__'), given.polluted ?? 'none', ({}).polluted ?? 'none', given.constructor]")
            .returned(json!([true, "none", "none", 1]));
        // A cell sees a constant of its own replaced, as if it had been declared again.
        session.cell("const fixed = 1").succeeded();
        bind(&session, "fixed", &json!(2)).unwrap();
        session.cell("fixed++; fixed").returned(json!(3));
        for name in [
            "", "1a", "a b", "let", "a;b", "a = 1, b", "class", "{a}", "a.b",
        ] {
            let problem = bind(&session, name, &json!(1)).unwrap_err();
            assert!(
                problem.contains("cannot be the name of a variable")
                    || problem.contains("the language itself has that name"),
                "{name:?}: {problem}"
            );
        }
        for name in ["$dollar", "_", "été", "日本"] {
            bind(&session, name, &json!(name)).unwrap();
            session.cell(name).returned(json!(name));
        }
    });
}

/// Digits that a double cannot hold are refused and not rounded.
#[test]
fn an_integer_that_javascript_cannot_hold_is_refused() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        for number in [
            json!(9_007_199_254_740_993_i64),
            json!(u64::MAX),
            json!(i64::MIN + 1),
        ] {
            let problem = bind(&session, "n", &json!({ "rows": [&number] })).unwrap_err();
            let said = format!("{number} is no JavaScript number: hand it over as a string");
            assert!(problem.contains(&said), "{problem}");
        }
        assert_eq!(settle(session.inspect()).unwrap(), []);
        session.cell("typeof n").returned(json!("undefined"));
    });
}

#[test]
fn a_value_that_is_nested_too_deeply_is_refused_by_name() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    on_each_engine(|engine| {
        let session = engine.javascript();
        bind(&session, "deep", &nested(127)).unwrap();
        session
            .cell("let levels = 0; for (let at = deep; Array.isArray(at); at = at[0]) levels++; levels")
            .returned(json!(127));
        let problem = bind(&session, "deeper", &nested(500)).unwrap_err();
        assert!(
            problem.contains("the value is nested deeper than 127 levels at line 1 column 128"),
            "{problem}"
        );
        assert!(problem.contains("hint: hand it over flatter"), "{problem}");
        session.cell("typeof deeper").returned(json!("undefined"));
    });
}

#[test]
fn any_json_goes_in_and_out_unchanged() {
    let text = prop_oneof![
        ".{0,12}",
        "[a-z]{1,8}",
        Just("\u{0}\u{7f}\u{2028}\"\\/".to_owned())
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-9_007_199_254_740_991i64..9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite, and not -0", |n| n.is_finite() && *n != 0.0)
            .prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..8)
                .prop_map(|pairs| Value::Object(serde_json::Map::from_iter(pairs))),
        ]
    });
    on_each_engine(|engine| {
        let session = engine.javascript();
        let config = proptest::test_runner::Config {
            cases: 200,
            failure_persistence: None,
            ..Default::default()
        };
        proptest::test_runner::TestRunner::new(config)
            .run(&value, |value| {
                bind(&session, "value", &value).map_err(TestCaseError::fail)?;
                for code in ["return value", "JSON.parse(JSON.stringify(value))"] {
                    let outcome = session.cell(code);
                    let found = outcome.value.as_ref().map(Json::parse::<Value>);
                    prop_assert!(
                        matches!(&found, Some(Ok(found)) if same(found, &value)),
                        "{value} came back from `{code}` as {outcome:#?}"
                    );
                }
                Ok(())
            })
            .unwrap();
    });
}

/// Whether two values are the same to JavaScript, which has one kind of number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

#[test]
fn inspecting_names_every_binding_and_runs_nothing() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell(
                "let n = 1; const text = 'it\\'s'; var list = [1, { a: 2 }]; function f() {} class Point { x = 1 } let p = new Point(); bare = null; let unset;\n\
                 const boom = { get x() { throw 1 } }, trap = new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 1 } });\n\
                 const map = new Map([[1, 2]]), big = 10n, sym = Symbol('s'), long = 'x'.repeat(100000); globalThis.unseen = 1;\n\
                 let deep = []; for (let i = 0; i < 100000; i++) deep = [deep];",
            )
            .succeeded();
        let variables = settle(session.inspect()).unwrap();
        let found: BTreeMap<&str, (&str, &str)> = variables
            .iter()
            .map(|variable| {
                (
                    variable.name.as_str(),
                    (variable.type_name.as_str(), variable.preview.as_str()),
                )
            })
            .collect();
        // boa tells nobody what a proxy stands for.
        let trap = if engine.name == "boa" {
            "[Proxy]"
        } else {
            "{}"
        };
        for (name, type_name, preview) in [
            ("n", "number", "1"),
            ("text", "string", "\"it's\""),
            ("list", "Array", "[ 1, { a: 2 } ]"),
            ("f", "function", "[Function: f]"),
            ("Point", "function", "[class Point]"),
            ("p", "Point", "Point { x: 1 }"),
            ("bare", "null", "null"),
            ("unset", "undefined", "undefined"),
            ("boom", "Object", "{ x: [Getter] }"),
            ("trap", "Proxy", trap),
            ("map", "Map", "Map(1) { 1 => 2 }"),
            ("big", "bigint", "10n"),
            ("sym", "symbol", "Symbol(s)"),
            ("deep", "Array", "[ [ [Array] ] ]"),
        ] {
            assert_eq!(
                found.get(name),
                Some(&(type_name, preview)),
                "`{name}` on {}",
                engine.name
            );
        }
        assert_eq!(variables.len(), 15, "{:?}", found.keys());
        assert!(found["long"].1.len() < 1000, "{}", found["long"].1.len());
    });
}

#[test]
fn a_reset_leaves_nothing_and_the_session_works() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("let x = 1; globalThis.g = 2; Array.prototype.mine = 3; const c = 4; setTimeout(() => console.log('late'), 1); setInterval(() => console.log('tick'), 1); 0")
            .succeeded();
        session.reset_now();
        let outcome = session.cell("await new Promise(done => setTimeout(done, 30)); [typeof x, typeof g, [].mine ?? 'none', typeof c]");
        outcome.returned(json!(["undefined", "undefined", "none", "undefined"]));
        assert!(outcome.background.is_empty(), "{outcome:#?}");
        assert_eq!(settle(session.inspect()).unwrap(), []);
        session.cell("const x = 5; x").returned(json!(5));
    });
}

/// A session with a budget that is soon used up.
fn with_64_mib<'turn>(engine: &Engine<'turn>) -> Opened<'turn> {
    let limits = Limits::default()
        .with_memory_mb(64)
        .with_timeout(ms(60_000));
    engine.open(|builder| builder.limits(limits))
}

/// Over the budget the cell ends and says so; the session goes on with the rest.
#[test]
fn the_memory_budget_holds_and_the_session_goes_on() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let session = with_64_mib(engine);
            session.cell("let keep = { n: 41 }").succeeded();
            each(
                [
                    "let hog = []; for (;;) hog.push('x'.repeat(100000) + hog.length)",
                    "let hog = []; for (;;) hog.push({ a: 1, b: [2] })",
                    "let hog = []; for (;;) hog.push(new Uint8Array(1 << 20))",
                    "let hog = new Map(); for (let i = 0; ; i++) hog.set(i, 'v' + i)",
                    "let hog = null; for (;;) hog = { hog }",
                    "let hog = []; for (;;) { await null; hog.push(new Array(1000).fill(1)) }",
                    "let hog = []; (function f() { hog.push(new Float64Array(1 << 16)); return Promise.resolve().then(f) })(); await new Promise(() => {})",
                ],
                |code| {
                    let outcome = session.cell(code);
                    let error = outcome.failed(FailureKind::Memory);
                    assert!(error.message.contains("64 MiB"), "{outcome:#?}");
                    session.cell("keep.n + 1").returned(json!(42));
                    session
                        .cell("hog = null; const parts = Array.from({ length: 30 }, () => new Uint8Array(1 << 20)); parts.length")
                        .returned(json!(30));
                    session.cell("parts = null").raised("TypeError");
                    session.reset_now();
                    session.cell("let keep = { n: 41 }").succeeded();
                },
            );
        });
    });
}

/// What earlier cells have bound is never freed for a cell: it is told, and there is room to let it go.
#[test]
fn a_session_that_its_own_names_fill_can_let_them_go() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let session = with_64_mib(engine);
            for fill in [
                "for (;;) big.push('x'.repeat(10000) + big.length)",
                "for (;;) big.push({ a: 1, b: [2] })",
            ] {
                session.cell("let big = []").succeeded();
                for _ in 0..3 {
                    let outcome = session.cell(fill);
                    outcome.failed(FailureKind::Memory);
                    let notice = outcome.notice.as_deref().unwrap_or_default();
                    assert!(notice.contains("nearly full"), "{outcome:#?}");
                    assert!(!notice.contains("set to undefined"), "{outcome:#?}");
                    session
                        .cell("let small = [1, 2]; small.length")
                        .returned(json!(2));
                    session.cell("big.length > 1000").returned(json!(true));
                }
                session.cell("big = null").succeeded();
                session
                    .cell("const parts = Array.from({ length: 30 }, () => new Uint8Array(1 << 20)); parts.length")
                    .returned(json!(30));
                session.reset_now();
            }
        });
    });
}

#[test]
fn memory_that_is_let_go_comes_back() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let limits = Limits::default()
                .with_memory_mb(128)
                .with_timeout(ms(20_000));
            let session = engine.open(|builder| builder.limits(limits));
            for _ in 0..20 {
                session
                    .cell("let part = Array.from({ length: 40 }, () => new Uint8Array(1 << 20)); part.length")
                    .returned(json!(40));
                session.cell("part = null").succeeded();
            }
        });
    });
}
