//! Values on their way from Python to the host: what is lossless goes as it is, everything else is refused with its path.

use serde_json::{Value, json};
use warmcell::{FailureKind, Integers, Language, Limits, Session};

use crate::support::{Cells, Judge, each, timed, turn};

/// The exact text of values: compact, keys in their order, numbers by their shortest form.
#[test]
fn values_as_json_text() {
    let turn = turn();
    let session = turn.python();
    each(
        [
            (
                "{'b': 1, 'a': [True, False, None]}",
                r#"{"b":1,"a":[true,false,null]}"#,
            ),
            (
                "[0, -1, 2**63, -2**63, 2**64 - 1]",
                "[0,-1,9223372036854775808,-9223372036854775808,18446744073709551615]",
            ),
            (
                "[0.1, 1.0, -0.0, 1e300, 5e-324, 1/3]",
                "[0.1,1.0,-0.0,1e+300,5e-324,0.3333333333333333]",
            ),
            (
                "'\"\\\\/\\b\\f\\n\\r\\t\\x00\\x1f\\x7f'",
                "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\"",
            ),
            ("'é 🙂 \\u2028'", "\"é 🙂 \u{2028}\""),
            ("()", "[]"),
            ("''", "\"\""),
            ("{'': {'': []}}", r#"{"":{"":[]}}"#),
            ("True", "true"),
            ("[[]] * 3", "[[],[],[]]"),
            (
                "{chr(i): i for i in range(97, 100)}",
                r#"{"a":97,"b":98,"c":99}"#,
            ),
        ],
        |(code, text)| {
            let by_return = session.cell(&format!("return {code}"));
            let as_last = session.cell(code);
            for outcome in [by_return, as_last] {
                let value = outcome.succeeded().value.as_ref();
                assert_eq!(value.map(|value| value.as_str()), Some(text), "{code}");
                assert!(
                    outcome.display.is_empty(),
                    "a value is not shown besides: {outcome:#?}"
                );
            }
        },
    );
}

/// Where and why, with what to do, and the value is shown all the same.
#[test]
fn what_is_not_json_is_refused_with_its_path() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import datetime, decimal, enum, dataclasses, fractions, array, types\n\
             class Plain: pass\n\
             class Colour(enum.Enum):\n    RED = 1\n\
             @dataclasses.dataclass\nclass Point:\n    x: int = 1\n",
        )
        .succeeded();
    each(
        [
            (
                "{'rows': [{'score': float('nan')}]}",
                "rows[0].score",
                "nan",
            ),
            ("[1, [2, float('inf')]]", "[1][1]", "inf"),
            ("{'a': {'b': b'x'}}", "a.b", "bytes"),
            ("{'a b': {1}}", "a b", "set"),
            ("[frozenset()]", "[0]", "frozenset"),
            ("{'k': {2: 'x'}}", "k", "key"),
            ("[2**64]", "[0]", "int"),
            ("[-2**63 - 1]", "[0]", "int"),
            ("[10**5000]", "[0]", "int"),
            ("['ok', '\\ud800']", "[1]", "surrogate"),
            ("{'\\udfff': 1}", "", "surrogate"),
            ("[1j]", "[0]", "complex"),
            ("[Plain()]", "[0]", "Plain"),
            ("[Colour.RED]", "[0]", "Colour"),
            ("[Point()]", "[0]", "Point"),
            ("[decimal.Decimal(1)]", "[0]", "Decimal"),
            ("[fractions.Fraction(1, 2)]", "[0]", "Fraction"),
            ("[datetime.date(2024, 1, 1)]", "[0]", "date"),
            ("[range(3)]", "[0]", "range"),
            ("[(i for i in ())]", "[0]", "generator"),
            ("{'a': {}.keys()}", "a", "view"),
            ("[memoryview(b'')]", "[0]", "memoryview"),
            ("[array.array('i', [1])]", "[0]", "array"),
            ("[len]", "[0]", "built-in function"),
            ("[types]", "[0]", "module"),
            ("[int]", "[0]", "class"),
            ("[...]", "[0]", "ellipsis"),
            ("[NotImplemented]", "[0]", "NotImplementedType"),
            ("[types.MappingProxyType({})]", "[0]", "read-only view"),
        ],
        |(code, path, word)| {
            let outcome = session.cell(&format!("kept = 1\nreturn {code}"));
            let error = outcome.failed(FailureKind::InvalidOutput);
            let said = format!(
                "{}\n{}",
                error.message,
                error.hint.as_deref().unwrap_or_default()
            );
            assert!(
                said.contains(path),
                "{code}: no path {path:?}: {outcome:#?}"
            );
            assert!(
                said.to_lowercase().contains(&word.to_lowercase()),
                "{code}: no {word:?}: {outcome:#?}"
            );
            assert_eq!(outcome.value, None, "{code}");
            assert_eq!(
                outcome.display.len(),
                1,
                "{code}: it is shown all the same: {outcome:#?}"
            );
            // As a last expression it is shown and the cell is ok.
            let outcome = session.cell(code);
            outcome.returned_nothing();
            assert_eq!(outcome.display.len(), 1, "{code}: {outcome:#?}");
        },
    );
    session.cell("kept").returned(json!(1));
}

#[test]
fn nesting_is_taken_up_to_a_thousand() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("def nested(depth):\n    value = []\n    for _ in range(depth - 1): value = [value]\n    return value")
        .succeeded();
    for depth in [127, 128, 129, 999, 1000] {
        let outcome = session.cell(&format!("return nested({depth})"));
        let value = outcome.succeeded().value.as_ref().unwrap();
        assert_eq!(
            value.as_str(),
            format!("{}{}", "[".repeat(depth), "]".repeat(depth))
        );
        // The outcome goes over a wire whole.
        let wire = serde_json::to_string(&outcome).unwrap();
        assert!(wire.contains(value.as_str()));
    }
    for depth in [1001, 5000, 100_000] {
        let outcome = session.cell(&format!("return nested({depth})"));
        let error = outcome.failed(FailureKind::InvalidOutput);
        assert!(error.message.contains("nest"), "{outcome:#?}");
    }
    session
        .cell("d = {}\nd['self'] = [d]\nreturn d")
        .failed(FailureKind::InvalidOutput);
}

/// For readers that parse numbers as doubles.
#[test]
fn safe_integers_are_refused_beyond_what_a_double_holds() {
    let turn = turn();
    let builder = Session::builder(Language::Python).integers(Integers::Safe);
    let session = turn.open(builder);
    session
        .cell("return [2**53 - 1, -(2**53 - 1)]")
        .returned(json!([
            9_007_199_254_740_991_i64,
            -9_007_199_254_740_991_i64
        ]));
    each(
        [
            "return {'n': 2**53}",
            "return {'n': -2**53}",
            "return {'n': 2**63}",
        ],
        |code| {
            let outcome = session.cell(code);
            let error = outcome.failed(FailureKind::InvalidOutput);
            assert!(error.message.contains('n'), "{outcome:#?}");
        },
    );
    session
        .cell("return float(2**53)")
        .returned(json!(9_007_199_254_740_992.0));
}

/// The value's budget is in bytes of JSON text, exact to the byte, and metered while the value is walked.
#[test]
fn the_value_budget_is_exact_and_cheap_to_hit() {
    let turn = turn();
    let limits = Limits::default().with_value_bytes(1000);
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    session
        .cell("return 'x' * 998")
        .returned(Value::from("x".repeat(998)));
    each(
        [
            "return 'x' * 999",
            "return ['ab'] * 200",
            "return {'k' * 1000: 1}",
            "return [1.5] * 10**7",
        ],
        |code| {
            let (took, outcome) = timed(|| session.cell(code));
            let error = outcome.failed(FailureKind::OutputLimit);
            assert!(error.message.contains("1000"), "{outcome:#?}");
            assert_eq!(outcome.value, None);
            assert!(took.as_secs() < 3, "{took:?} for {code}");
        },
    );
    // What the budget cuts short is not looked at further: the NaN beyond it is never seen.
    session
        .cell("return ['x' * 2000, float('nan')]")
        .failed(FailureKind::OutputLimit);
}

/// Richer forms are shown where an object has them.
#[test]
fn what_is_not_a_value_is_shown_in_its_richest_forms() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "class Table:\n    def __repr__(self): return 'Table(1)'\n    def _repr_html_(self): return '<b>1</b>'\n\
             class Picture:\n    def __repr__(self): return 'Picture'\n    def _repr_png_(self): return b'\\x89PNG\\r\\n'\n\
             class Bundle:\n    def __repr__(self): return 'plain'\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/html': '<i>x</i>', 'application/json': {'a': 1}}\n\
             class Broken:\n    def __repr__(self): return 'Broken'\n    def _repr_html_(self): raise RuntimeError('no')",
        )
        .succeeded();
    let shown = |code: &str| {
        let outcome = session.cell(code);
        outcome.returned_nothing();
        let [entry] = outcome.display.as_slice() else {
            panic!("one entry: {outcome:#?}");
        };
        Value::Object(entry.data.clone())
    };
    assert_eq!(
        shown("Table()"),
        json!({"text/plain": "Table(1)", "text/html": "<b>1</b>"})
    );
    assert_eq!(
        shown("Picture()"),
        json!({"text/plain": "Picture", "image/png": "iVBORw0K"})
    );
    assert_eq!(
        shown("Bundle()"),
        json!({"text/plain": "plain", "text/html": "<i>x</i>", "application/json": {"a": 1}})
    );
    assert_eq!(shown("Broken()"), json!({"text/plain": "Broken"}));
    assert_eq!(shown("{1, 2}"), json!({"text/plain": "{1, 2}"}));
}

/// Conversion never calls the program: not methods, not properties, not hooks of subclasses.
#[test]
fn conversion_runs_none_of_the_programs_code() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "calls = []\n\
             def loud(name, result):\n    def method(self, *a):\n        calls.append(name)\n        return result\n    return method\n\
             hooks = {name: loud(name, None) for name in ('__iter__', '__len__', 'items', 'keys', '__getitem__', '__index__', '__int__', '__float__', '__str__', '__getattribute__', '__contains__')}\n\
             D = type('D', (dict,), dict(hooks))\nL = type('L', (list,), dict(hooks))\nT = type('T', (tuple,), dict(hooks))\n\
             S = type('S', (str,), dict(hooks))\nI = type('I', (int,), dict(hooks))\nF = type('F', (float,), dict(hooks))\n\
             values = [D(a=1), L([1, 2]), T((3,)), S('s'), I(7), F(1.5), {S('key'): 1}]\ncalls.clear()",
        )
        .succeeded();
    session
        .cell("return values")
        .returned(json!([{"a": 1}, [1, 2], [3], "s", 7, 1.5, {"key": 1}]));
    session.cell("calls").returned(json!([]));
}
