//! Sessions as a host holds them: order, counting, what one session may see of another, `inspect` and `bind`, the outcome's
//! wire form.

use serde_json::{Value, json};
use warmcell::{
    Canceller, Cell, CodeRuntime, Event, Events, Execution, FailureKind, Json, Language, Limits,
    Outcome, RuntimeError, Session, SessionBuilder, SessionState,
};

use crate::support::{Cells, Judge, each, in_own_process, ms, settle, timed, turn};

/// Everything that a host may want to move to another thread or share.
#[test]
fn the_contract_is_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Session>();
    check::<SessionBuilder>();
    check::<Box<dyn CodeRuntime>>();
    check::<Cell>();
    check::<Execution>();
    check::<Canceller>();
    check::<Event>();
    check::<Events>();
    check::<Outcome>();
    check::<Limits>();
    check::<RuntimeError>();
}

#[test]
fn the_contract_in_two_verbs_is_enough() {
    let turn = turn();
    let session = turn.python();
    let runtime: &dyn CodeRuntime = &*session;
    settle(runtime.execute("rows = [3, 1, 2]")).returned_nothing();
    settle(runtime.execute("return sorted(rows)")).returned(json!([1, 2, 3]));
    settle(runtime.reset()).expect("a fresh session");
    settle(runtime.execute("rows")).raised("NameError");
}

#[test]
fn cells_run_in_the_order_in_which_they_were_given() {
    let turn = turn();
    let session = turn.python();
    session.cell("order = []").succeeded();
    let clone = session.clone();
    let executions: Vec<Execution> = (0..100)
        .map(|number| {
            let through = if number % 2 == 0 { &*session } else { &clone };
            through.start(format!("order.append({number}); {number}"))
        })
        .collect();
    for (number, execution) in executions.into_iter().enumerate() {
        let outcome = settle(execution);
        outcome.returned(json!(number));
        assert_eq!(outcome.execution_count, number as u64 + 2);
    }
    session
        .cell("order == list(range(100))")
        .returned(json!(true));
}

/// Cells from many threads at once: each runs once, alone.
#[test]
fn a_session_can_be_used_from_many_threads() {
    let turn = turn();
    let session = turn.python();
    session.cell("n = inside = 0").succeeded();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let session = session.clone();
            scope.spawn(move || {
                for _ in 0..50 {
                    session
                        .cell("inside += 1\nassert inside == 1\nn += 1\ninside -= 1")
                        .succeeded();
                }
            });
        }
    });
    session.cell("n").returned(json!(200));
}

#[test]
fn only_cells_that_hold_code_count() {
    let turn = turn();
    let session = turn.python();
    assert_eq!(session.cell("1").execution_count, 1);
    let blank = session.cell(" \n\t\n");
    blank.failed(FailureKind::Empty);
    assert_eq!((blank.execution_count, blank.duration_ms), (1, 0.0));
    assert_eq!(session.cell("1 / 0").execution_count, 2);
    assert_eq!(session.cell("x = = 1").execution_count, 3);
    assert_eq!(session.cell("# only a comment").execution_count, 4);
}

/// Two sessions share the interpreter, and nothing of what a cell binds or changes about its place.
#[test]
fn two_sessions_interleaved_do_not_meet() {
    in_own_process!(|| {
        let folder = tempfile::tempdir().unwrap();
        let (one_folder, other_folder) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::create_dir_all(one_folder.join("deeper")).unwrap();
        std::fs::create_dir(&other_folder).unwrap();
        let turn = turn();
        let open = |folder: &std::path::Path, who: &str| {
            let builder = Session::builder(Language::Python);
            turn.open(builder.cwd(folder).env("WHO", who))
        };
        let (one, other) = (open(&one_folder, "one"), open(&other_folder, "other"));

        let here = "import os\nreturn [os.path.basename(os.getcwd()), os.environ['WHO'], os.environ.get('NEW'), os.getenv('WHO')]";
        one.cell(here).returned(json!(["one", "one", null, "one"]));
        other
            .cell(here)
            .returned(json!(["other", "other", null, "other"]));
        one.cell("os.chdir('deeper'); os.environ['NEW'] = 'n'; os.environ['WHO'] = 'changed'")
            .succeeded();
        other
            .cell(here)
            .returned(json!(["other", "other", null, "other"]));
        one.cell(here)
            .returned(json!(["deeper", "changed", "n", "changed"]));
        other
            .cell("del os.environ['WHO']; os.chdir('..')")
            .succeeded();
        one.cell(here)
            .returned(json!(["deeper", "changed", "n", "changed"]));
        other
            .cell("[sorted(os.listdir()), 'WHO' in os.environ]")
            .returned(json!([["one", "other"], false]));

        for number in 0..50 {
            one.cell(&format!("n = {number}; mine = 'one'")).succeeded();
            other
                .cell(&format!("n = -{number}; own = 'other'"))
                .succeeded();
            one.cell("[n, mine, 'own' in globals(), __name__]")
                .returned(json!([number, "one", false, "__main__"]));
            other
                .cell("[n, own, 'mine' in globals(), __name__]")
                .returned(json!([-number, "other", false, "__main__"]));
        }

        // A child process starts where its session is.
        one.cell("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os; print(os.path.basename(os.getcwd()), os.environ[\"WHO\"])'], capture_output=True, text=True).stdout")
            .returned(json!("deeper changed\n"));
    });
}

/// Loops of two sessions are two: a task of one advances while one runs.
#[test]
fn two_sessions_have_two_event_loops() {
    let turn = turn();
    let (one, other) = (turn.python(), turn.python());
    one.cell("import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    return 'one'\ntask = asyncio.create_task(work())\nawait asyncio.sleep(0)")
        .succeeded();
    other
        .cell("import asyncio\nawait asyncio.sleep(0.01)\nlen(asyncio.all_tasks())")
        .returned(json!(1));
    one.cell("await task").returned(json!("one"));
}

#[test]
fn a_host_value_goes_in_without_source_text() {
    let turn = turn();
    let session = turn.python();
    let text = r#"{"z": [1, 1.5, -9223372036854775808, 18446744073709551615], "a": {"n": null, "t": true}, "s": "é🙂\n\"''' {x}"}"#;
    settle(session.bind("data", Json::new(text).unwrap())).unwrap();
    session
        .cell("[type(data).__name__, list(data), type(data['z'][0]).__name__, type(data['z'][1]).__name__, data['a']['n'] is None, data['a']['t'] is True]")
        .returned(json!(["dict", ["z", "a", "s"], "int", "float", true, true]));
    let outcome = session.cell("return data");
    let value = outcome.succeeded().value.as_ref().unwrap();
    let compact = text.replace(": ", ":").replace(", ", ",");
    assert_eq!(value.as_str(), compact);
    settle(session.bind("data", Json::new("1").unwrap())).unwrap();
    session.cell("data + 1").returned(json!(2));
    // Names that only look odd are names all the same, under the form that source text would give them.
    settle(session.bind("größe", Json::new("[]").unwrap())).unwrap();
    session.cell("größe").returned(json!([]));
    for name in ["", "1a", "a b", "a.b", "class", "None", "a\0b", "x = 1; y"] {
        let problem = settle(session.bind(name, Json::new("1").unwrap())).expect_err(name);
        assert!(
            matches!(problem, RuntimeError::Refused(_)),
            "{name}: {problem:?}"
        );
        let text = problem.to_string();
        assert!(
            text.contains(&format!("`{name}`")) || text.contains(&format!("{name:?}")),
            "{text}"
        );
    }
    session.cell("data").returned(json!(1));
}

#[test]
fn a_deep_host_value_is_bound_or_refused_but_never_fatal() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        for depth in [10, 100, 126, 1000, 100_000] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            // Text that deep may already be refused as JSON; what is JSON for the host is bound or refused with a reason.
            let Ok(value) = Json::new(text) else { continue };
            match settle(session.bind("deep", value)) {
                Ok(()) => {
                    let code = "depth = 0\nwhile deep: deep = deep[0]; depth += 1\ndepth + 1";
                    session.cell(code).returned(json!(depth));
                }
                Err(problem) => assert!(matches!(problem, RuntimeError::Refused(_)), "{problem:?}"),
            }
            session.cell("1").returned(json!(1));
        }
    });
}

/// What the program bound, without running any of its code.
#[test]
fn inspecting_names_types_and_previews() {
    let turn = turn();
    let session = turn.python();
    assert_eq!(settle(session.inspect()).unwrap(), []);
    session
        .cell(
            "import math\nfrom os import path\n\
             class Loud:\n    def __repr__(self): touched.append('repr'); raise RuntimeError\n    def __len__(self): touched.append('len')\n    def __getattr__(self, name): touched.append(name); raise AttributeError\n\
             touched = []\nloud = Loud()\nn = 42\ntext = 'héllo'\nrows = [1, 2.5, None]\ntable = {'a': 1}\nbig = list(range(10**6))\nlong = 'x' * 10**6\n\
             def f(a, b=1): pass\nanswer: int = 42\n_hidden = 1",
        )
        .succeeded();
    let variables = settle(session.inspect()).unwrap();
    let find = |name: &str| {
        let found: Vec<_> = variables
            .iter()
            .filter(|variable| variable.name == name)
            .collect();
        assert_eq!(found.len(), 1, "{name} in {variables:?}");
        (found[0].type_name.as_str(), found[0].preview.as_str())
    };
    assert_eq!(find("n"), ("int", "42"));
    assert_eq!(find("text"), ("str", "'héllo'"));
    assert_eq!(find("rows"), ("list", "[1, 2.5, None]"));
    assert_eq!(find("table"), ("dict", "{'a': 1}"));
    assert_eq!(find("loud").0, "Loud");
    assert_eq!(find("f").0, "function");
    assert_eq!(find("Loud").0, "type");
    assert_eq!(find("big").0, "list");
    for variable in &variables {
        assert!(
            variable.preview.len() <= 1000,
            "{} has {} bytes",
            variable.name,
            variable.preview.len()
        );
        assert!(
            !variable.name.starts_with("__"),
            "{} was not bound by the program",
            variable.name
        );
    }
    session.cell("touched").returned(json!([]));
    session.cell("del n").succeeded();
    assert!(
        settle(session.inspect())
            .unwrap()
            .iter()
            .all(|variable| variable.name != "n")
    );
    session.reset_now();
    assert_eq!(settle(session.inspect()).unwrap(), []);
}

/// camelCase, and what is absent is left out.
#[test]
fn the_wire_form_of_an_outcome() {
    let turn = turn();
    let session = turn.python();
    let wire = |outcome: &Outcome| {
        let mut wire = serde_json::to_value(outcome).unwrap();
        let duration = wire.as_object_mut().unwrap().remove("durationMs").unwrap();
        assert!(
            duration
                .as_f64()
                .is_some_and(|duration| (0.0..60_000.0).contains(&duration))
        );
        let text = serde_json::to_string(outcome).unwrap();
        let read: Outcome = serde_json::from_str(&text).expect("reads back");
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        wire
    };
    assert_eq!(
        wire(&session.cell("1 + 1")),
        json!({"ok": true, "value": 2, "state": "kept", "executionCount": 1})
    );
    assert_eq!(
        wire(&session.cell("x = 1")),
        json!({"ok": true, "state": "kept", "executionCount": 2})
    );
    assert_eq!(
        wire(&session.cell("return None")),
        json!({"ok": true, "value": null, "state": "kept", "executionCount": 3})
    );
    assert_eq!(
        wire(&session.cell("import sys\nprint('o'); print('e', file=sys.stderr)\n{1}")),
        json!({
            "ok": true, "stdout": "o\n", "stderr": "e\n", "state": "kept", "executionCount": 4,
            "display": [{"data": {"text/plain": "{1}"}}],
        })
    );
    let failed = wire(&session.cell("1 / 0"));
    let error = &failed["error"];
    assert_eq!(failed["ok"], false);
    assert_eq!(
        [
            &error["kind"],
            &error["name"],
            &error["message"],
            &error["line"]
        ],
        [
            &json!("exception"),
            &json!("ZeroDivisionError"),
            &json!("division by zero"),
            &json!(1)
        ]
    );
    assert_eq!(failed.get("value"), None);
}

#[test]
fn a_hundred_sessions_come_and_go() {
    let turn = turn();
    let keeper = turn.python();
    keeper.cell("seen = 'kept'").succeeded();
    for _ in 0..100 {
        let session = turn.python();
        session.cell("'seen' in globals()").returned(json!(false));
        session.cell("seen = 1").succeeded();
    }
    keeper.cell("seen").returned(json!("kept"));
}

#[test]
fn a_session_that_is_dropped_while_it_works_ends() {
    let turn = turn();
    let keeper = turn.python();
    let session = settle(Session::builder(Language::Python).open()).unwrap();
    let (cell, mut events) =
        Cell::from("print('runs', flush=True)\nwhile True: pass").with_events(4);
    let execution = session.start(cell);
    settle(events.next()).expect("it runs");
    let (took, ()) = timed(|| {
        drop(session);
        drop(execution);
    });
    assert!(took < ms(100), "dropping took {took:?}");
    keeper.cell("'alive'").returned(json!("alive"));
    assert_eq!(settle(events.next()), None);
}

#[test]
fn what_a_closed_session_answers() {
    let turn = turn();
    let session = turn.python();
    session.cell("x = 1").succeeded();
    settle(session.close());
    settle(session.close());
    each(
        [
            session.run("x".into()).map(drop).unwrap_err(),
            settle(session.inspect()).map(drop).unwrap_err(),
            settle(session.bind("x", Json::of(&Value::Null).unwrap())).unwrap_err(),
            settle(session.reset()).unwrap_err(),
        ],
        |problem| {
            assert!(matches!(problem, RuntimeError::Closed), "{problem:?}");
        },
    );
    assert!(!session.interrupt());
    let outcome = settle(session.execute("x"));
    outcome.failed_leaving(FailureKind::Unavailable, SessionState::Lost);
}

/// What a cell sets of its context stays set, also in one that awaits, and after its failure.
#[test]
fn context_variables_are_the_sessions() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import asyncio, contextvars, decimal\nvalue = contextvars.ContextVar('value', default=0)\nvalue.set(1)")
        .succeeded();
    session
        .cell("await asyncio.sleep(0)\nbefore = value.get()\nvalue.set(2)\ndecimal.getcontext().prec = 3\ndecimal.setcontext(decimal.Context(prec=4))\nbefore")
        .returned(json!(1));
    session
        .cell("[value.get(), str(decimal.Decimal(1) / 3)]")
        .returned(json!([2, "0.3333"]));
    session
        .cell("value.set(3)\nawait asyncio.sleep(0)\nraise ValueError")
        .raised("ValueError");
    // A task has a context of its own.
    session
        .cell("async def other(): value.set(4)\nawait asyncio.create_task(other())\nvalue.get()")
        .returned(json!(3));
    session
        .cell("decimal.setcontext(decimal.DefaultContext.copy())")
        .succeeded();
}
