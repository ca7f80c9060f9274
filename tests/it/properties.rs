//! What holds for every program, mixture of output, and value.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Map, Value, json};
use warmcell::{Json, Language, Limits, Session};

use crate::support::{Cells, Judge, check_cut, settle, turn};

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

/// A program cut into cells at any places does what it does in one.
#[test]
fn a_program_may_be_cut_into_cells_anywhere() {
    let turn = turn();
    let inputs = (
        prop::collection::vec(statement(), 1..14),
        prop::collection::vec(any::<bool>(), 14),
    );
    runner(150)
        .run(&inputs, |(statements, cuts)| {
            let (whole, cut) = (turn.python(), turn.python());
            for session in [&whole, &cut] {
                session.cell(PRELUDE).succeeded();
            }
            let program = statements.join("\n");
            let at_once = whole.cell(&format!("{program}\n{SUMMARY}"));
            let mut stdout = String::new();
            let mut cell = String::new();
            for (statement, cut_here) in statements.iter().zip(cuts) {
                cell.push_str(statement);
                cell.push('\n');
                if cut_here {
                    let outcome = cut.cell(&cell);
                    prop_assert!(outcome.ok, "{cell}\n{outcome:#?}");
                    stdout.push_str(&outcome.stdout);
                    cell.clear();
                }
            }
            let last = cut.cell(&format!("{cell}{SUMMARY}"));
            stdout.push_str(&last.stdout);
            prop_assert!(at_once.ok && last.ok, "{program}\n{at_once:#?}\n{last:#?}");
            let text =
                |outcome: &warmcell::Outcome| outcome.value.clone().map(|value| value.to_string());
            prop_assert_eq!(text(&last), text(&at_once), "{}", program);
            prop_assert_eq!(stdout, at_once.stdout, "{}", program);
            Ok(())
        })
        .unwrap();
}

const PRELUDE: &str = "import asyncio\na = 1; b = 2; c = 'c'; rows = [1, 2, 3]; table = {'k': 1}\ndef f(x): return x + 1\nclass C:\n    n = 0";

const SUMMARY: &str = "[a, b, c, rows, sorted(table.items()), f(1), C.n, sorted(n for n in globals() if n.startswith('new'))]";

/// Statements over a few names, none of which fails.
fn statement() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b"]);
    let number = -9i64..100;
    prop_oneof![
        (name.clone(), number.clone()).prop_map(|(name, n)| format!("{name} = {n}")),
        (name.clone(), name.clone(), number.clone()).prop_map(|(to, from, n)| format!("{to} = {from} * 3 + {n}")),
        (name.clone(), number.clone()).prop_map(|(name, n)| format!("{name} += {n}")),
        number.clone().prop_map(|n| format!("rows.append({n})")),
        number.clone().prop_map(|n| format!("rows = [x + {n} for x in rows][-5:]")),
        (name.clone(), number.clone()).prop_map(|(name, n)| format!("table[str({name} % 7)] = {n}")),
        name.clone().prop_map(|name| format!("print({name}, rows[-1], c)")),
        Just("print('é', end=''); print(c)".to_owned()),
        number.clone().prop_map(|n| format!("def f(x):\n    # a comment\n    return x + a + {n}")),
        number.clone().prop_map(|n| format!("class C:\n    n = {n}\n\n    def m(self): return f(self.n)")),
        Just("a = C().n + f(b)".to_owned()),
        number.clone().prop_map(|n| format!("for new_i in range({n} % 4):\n    a += new_i\nelse:\n    b -= 1")),
        number.clone().prop_map(|n| format!("if a > {n}:\n    new_big = 1\nelif b > {n}:\n    c = c[-3:] + 'b'\nelse:\n    new_small = 1")),
        Just("try:\n    a = 1 // (b % 2)\nexcept ZeroDivisionError as error:\n    c = str(error)[:8]\nfinally:\n    b += 1".to_owned()),
        Just("while b > 50:\n    b //= 2\n    if b % 3 == 0: break".to_owned()),
        Just("with open('/dev/null') as new_file:\n    c = c[-3:] + new_file.read()".to_owned()),
        Just("async def new_co(x):\n    await asyncio.sleep(0)\n    return x + 1\na = await new_co(a % 1000)".to_owned()),
        Just("match a % 3:\n    case 0: c = 'zero'\n    case new_n: c = 'n'".to_owned()),
        Just("c = '''one\n  two\n\n   three'''".to_owned()),
        Just("a, (b, *new_rest) = b % 1000, [a % 1000, 1, 2]".to_owned()),
        Just("new_x: int = 5; del new_x".to_owned()),
        Just("import math as new_math; a = new_math.floor(a / 2)".to_owned()),
        Just("f = (lambda g: lambda x: g(x) % 97)(f)".to_owned()),
        Just("a = (\n    a\n    + 1\n)".to_owned()),
        Just("x = a; rows[0] = x \\\n    + 1".to_owned()),
    ]
}

/// Whatever mixture of writes and values: the budgets hold, the counts are exact, the value is whole.
#[test]
fn budgets_hold_and_counts_are_exact_for_every_mixture() {
    let turn = turn();
    let writes = prop::collection::vec(
        (
            any::<bool>(),
            prop::sample::select(vec!["x", "é", "🙂", "\n", "line\n", "ab\ncd"]),
            0usize..900,
        ),
        0..12,
    );
    let inputs = (512usize..4000, writes, json_value());
    runner(150)
        .run(&inputs, |(budget, writes, value)| {
            let limits = Limits::default().with_output_bytes(budget);
            let session = turn.open(Session::builder(Language::Python).limits(limits));
            let (mut stdout, mut stderr) = (String::new(), String::new());
            for (to_stdout, text, times) in &writes {
                let stream = if *to_stdout { &mut stdout } else { &mut stderr };
                stream.push_str(&text.repeat(*times));
            }
            bind(&session, "writes", &json!(writes))?;
            bind(&session, "value", &value)?;
            let outcome = session.cell(
                "import sys\nfor to_stdout, text, times in writes:\n    stream = sys.stdout if to_stdout else sys.stderr\n    stream.write(text * times)\nreturn value",
            );
            outcome.returned(value);
            check_cut(&stdout, &outcome.stdout, outcome.truncated.stdout.as_ref(), budget);
            check_cut(&stderr, &outcome.stderr, outcome.truncated.stderr.as_ref(), budget);
            Ok(())
        })
        .unwrap();
}

/// A value goes in and comes out as it was, order and digits included, and Python's own `json` agrees.
#[test]
fn every_json_value_goes_through_unchanged() {
    let turn = turn();
    let session = turn.python();
    session.cell("import json").succeeded();
    runner(300)
        .run(&json_value(), |value| {
            bind(&session, "value", &value)?;
            let text = serde_json::to_string(&value).unwrap();
            let outcome = session.cell("return value");
            prop_assert_eq!(
                outcome.value.as_ref().map(|value| value.as_str()),
                Some(text.as_str())
            );
            bind(&session, "text", &json!(text))?;
            let outcome = session.cell("json.loads(text) == value");
            prop_assert_eq!(
                outcome.value.as_ref().map(|value| value.as_str()),
                Some("true"),
                "{}",
                text
            );
            Ok(())
        })
        .unwrap();
}

fn bind(session: &Session, name: &str, value: &Value) -> Result<(), TestCaseError> {
    let value = Json::of(value).unwrap();
    settle(session.bind(name, value)).map_err(|problem| TestCaseError::fail(problem.to_string()))
}

fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,12}",
        "[a-z]{1,8}",
        Just("\u{0}\u{7f}\u{2028}\"\\/".to_owned())
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..8)
                .prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}
