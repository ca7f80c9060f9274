//! The tool surface: what a model is told, and what it reads of outcomes.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use warmcell::tool::{self, Arguments, Call, Rendering};
use warmcell::{FailureKind, Language, Outcome};

use crate::support::{settle, turn};

fn outcome(fields: Value) -> Outcome {
    let mut all = json!({ "ok": true, "state": "kept", "executionCount": 3, "durationMs": 12.0 });
    let all_fields = all.as_object_mut().unwrap();
    all_fields.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn rendering() -> Rendering {
    Rendering::new(Language::Python).session("main")
}

fn rendered(fields: Value) -> String {
    tool::render(&[outcome(fields)], &rendering())
}

#[test]
fn each_part_of_an_outcome_has_its_place() {
    assert_eq!(
        rendered(json!({})),
        "python, session `main`, cell 3: ok in 12 ms\n"
    );
    assert_eq!(
        rendered(json!({
            "ok": false,
            "stdout": "a\nb",
            "stderr": "warning: x\n",
            "background": { "stdout": "late\n" },
            "error": {
                "kind": "exception", "name": "ZeroDivisionError", "message": "division by zero",
                "traceback": "Traceback (most recent call last):\n  File \"<cell 3>\", line 2, in <module>\n    1/0\nZeroDivisionError: division by zero\n",
                "line": 2, "hint": "mind the divisor",
            },
            "notice": "2 threads ended",
            "state": "restored",
        })),
        "python, session `main`, cell 3: failed (exception) after 12 ms, state restored\n\
         notice: 2 threads ended\n\
         stdout (3 bytes, 1 line):\na\nb\n\
         stderr (11 bytes, 1 line):\nwarning: x\n\
         stdout of earlier cells, printed since (5 bytes, 1 line):\nlate\n\
         error in line 2 (118 bytes, 4 lines):\nTraceback (most recent call last):\n  File \"<cell 3>\", line 2, in <module>\n    1/0\nZeroDivisionError: division by zero\n\
         hint: mind the divisor\n"
    );
}

#[test]
fn displays_are_named_and_text_is_shown() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
    let fields = json!({ "display": [
        { "data": { "text/plain": "{1, 2}" } },
        { "data": { "text/plain": "<Figure>", "image/png": png } },
        { "data": { "application/x-thing": [1, 2] }, "file": "/tmp/thing" },
    ] });
    assert_eq!(
        rendered(fields.clone()),
        "python, session `main`, cell 3: ok in 12 ms\n\
         display 2: image/png (67 bytes), text/plain (8 bytes)\n\
         display 3: application/x-thing (5 bytes), in `/tmp/thing`\n\
         display 1, text/plain (6 bytes):\n{1, 2}\n\
         display 2, text/plain (8 bytes):\n<Figure>\n"
    );
    let outcomes = [outcome(fields)];
    let text = tool::render(&outcomes, &rendering().image_bytes(1000));
    assert!(
        text.contains("display 2: image/png (67 bytes), text/plain (8 bytes), attached\n"),
        "{text}"
    );
    let images = tool::images(&outcomes, 1000);
    assert_eq!(images.len(), 1);
    assert_eq!((images[0].entry, images[0].data), (1, png));
}

#[cfg(feature = "html")]
#[test]
fn the_form_that_reads_best_is_shown() {
    for (data, shown) in [
        (
            json!({ "text/plain": "<M>", "text/markdown": "**m**", "text/html": "<b>m</b>" }),
            "display 1, text/markdown (5 bytes):\n**m**\n",
        ),
        (
            json!({ "text/plain": "p", "text/html": "<b>m</b>" }),
            "display 1, text/plain (1 byte):\np\n",
        ),
        (
            json!({ "text/html": "<h1>T</h1><p>x</p>" }),
            "display 1, text/html as Markdown (7 bytes, 3 lines):\n# T\n\nx\n",
        ),
        (
            json!({ "text/html": "<div></div>" }),
            "display 1, text/html (11 bytes):\n<div></div>\n",
        ),
        (
            json!({ "application/json": { "a": [1] } }),
            "display 1, application/json (9 bytes):\n{\"a\":[1]}\n",
        ),
    ] {
        let text = rendered(json!({ "display": [{ "data": data }] }));
        assert!(text.ends_with(shown), "{text}");
    }
}

#[test]
fn what_is_not_as_it_was_shown_is_said() {
    let text = rendered(json!({ "display": [
        { "data": { "image/png": "iVBORw0KGgo=" }, "file": "/tmp/figure.png", "metadata": {
            "image/png": { "shown": "scaled", "original": { "bytes": 9000, "width": 40, "height": 30, "file": "/tmp/figure.png" } },
        } },
        { "data": {}, "metadata": {
            "text/html": { "shown": "none", "original": { "bytes": 5000 } },
            "image/png": { "shown": "none", "original": { "bytes": 7 }, "problem": "it is not base64" },
        } },
        { "data": { "text/plain": "a\n[6 bytes, 3 lines left out]\nb\n" }, "metadata": { "text/plain": {
            "shown": "cut", "original": { "bytes": 10, "lines": 5 }, "bytesLeftOut": 6, "linesLeftOut": 3,
        } } },
    ], "truncated": { "displaysLeftOut": 18 } }));
    assert_eq!(
        text,
        "python, session `main`, cell 3: ok in 12 ms\n\
         cut: display 3, text/plain, 6 bytes, 3 lines left out\n\
         display 1: image/png (8 bytes, scaled from 40 x 30 pixels, 9000 bytes, no whole image of that type), in `/tmp/figure.png`\n\
         display 2: image/png (7 bytes) left out: it is not base64, text/html (5000 bytes) left out\n\
         18 more displays are left out\n\
         display 3, text/plain (10 bytes, 5 lines; 6 bytes left out):\na\n[6 bytes, 3 lines left out]\nb\n"
    );
}

/// Truncation was silent and uncounted: openai/codex#35421. Here it is told at the top, exactly, with the place of the rest.
#[test]
fn what_is_cut_is_told_before_the_text() {
    let lines: String = (0..10_000).map(|n| format!("{n:04}\n")).collect();
    let mark = "[4950000 bytes, 990000 lines left out]\n";
    let (head, tail) = lines.split_at(25_000);
    let text = rendered(json!({
        "stdout": format!("{head}{mark}{tail}"),
        "truncated": { "stdout": {
            "bytes": 5_000_000, "lines": 1_000_000, "bytesLeftOut": 4_950_000, "linesLeftOut": 990_000, "file": "/tmp/whole.txt",
        } },
        "value": 7,
    }));
    assert!(text.len() <= 16 << 10);
    let mut all = text.lines();
    assert_eq!(
        all.next(),
        Some("python, session `main`, cell 3: ok in 12 ms")
    );
    let cut = all.next().unwrap();
    let numbers: Vec<u64> = cut
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    assert_eq!(
        cut,
        format!(
            "cut: stdout, {} bytes, {} lines left out; the whole is in `/tmp/whole.txt`",
            numbers[0], numbers[1]
        )
    );
    assert_eq!(
        all.next().unwrap(),
        format!(
            "stdout (5000000 bytes, 1000000 lines; {} bytes left out):",
            numbers[0]
        )
    );
    let body: Vec<&str> = all
        .by_ref()
        .take_while(|line| !line.starts_with("value"))
        .collect();
    let shown = body.iter().filter(|line| !line.starts_with('[')).count() as u64;
    assert_eq!(shown + numbers[1], 1_000_000);
    assert_eq!(shown * 5 + numbers[0], 5_000_000);
    assert_eq!(body.iter().filter(|line| line.starts_with('[')).count(), 1);
    assert_eq!(all.next(), Some("7"));
    assert_eq!(
        all.next(),
        Some("hint: print less, or read what you need of the file")
    );
}

/// A flood on one stream does not push out the error.
#[test]
fn every_part_keeps_its_share() {
    let text = rendered(json!({
        "ok": false,
        "stdout": "x".repeat(100_000),
        "stderr": "y".repeat(100_000),
        "error": { "kind": "timeout", "message": "the cell was stopped at its deadline of 300 ms" },
        "notice": "the session was evicted",
        "state": "lost",
    }));
    for part in [
        "state lost: every variable of the session is gone",
        "notice: the session was evicted\n",
        "the cell was stopped at its deadline of 300 ms\n",
        "hint: do not send this cell again unchanged",
        "stdout (100000 bytes;",
        "stderr (100000 bytes;",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(
        text.len() <= 16 << 10 && text.len() > 15 << 10,
        "{}",
        text.len()
    );
}

#[test]
fn of_several_cells_it_is_told_which_ran() {
    let ok = |n: u64| outcome(json!({ "executionCount": n, "value": n }));
    let failed = outcome(json!({
        "ok": false, "executionCount": 2,
        "error": { "kind": "exception", "name": "KeyError", "message": "'a'" },
    }));
    assert_eq!(
        tool::render(&[ok(1), failed], &rendering().given(4)),
        "2 of 4 cells ran: the last of them failed, and the 2 after it were not run\n\
         python, session `main`, cell 1: ok in 12 ms\nvalue (1 byte):\n1\n\n\
         python, session `main`, cell 2: failed (exception) after 12 ms, state kept\n\
         error (14 bytes, 1 line):\nKeyError: 'a'\n"
    );
    let many: Vec<Outcome> = (1..=500).map(ok).collect();
    let text = tool::render(&many, &rendering());
    assert!(text.len() <= 16 << 10);
    assert!(text.contains("the first "), "{text}");
    assert!(text.contains("cell 500: ok"), "{text}");
}

#[test]
fn a_failing_cell_stops_those_after_it() {
    let turn = turn();
    let session = turn.python();
    let cells = ["rows = [1]", "rows.append(2); 1/0", "rows.append(3)"];
    let outcomes = settle(tool::run(&session, cells)).unwrap();
    assert_eq!(
        outcomes.iter().map(|one| one.ok).collect::<Vec<_>>(),
        [true, false]
    );
    let outcomes = settle(tool::run(&session, ["rows"])).unwrap();
    assert_eq!(outcomes[0].value.as_ref().unwrap().as_str(), "[1,2]");
    settle(session.close());
    assert!(settle(tool::run(&session, ["1"])).is_err());
}

#[test]
fn a_call_is_refused_by_what_is_wrong_with_it() {
    let read = |given: Value| {
        let mut arguments = Arguments::new(given.as_object().unwrap().clone());
        let call = Call::take(&mut arguments, &[Language::Python, Language::TypeScript])?;
        arguments.finish()?;
        Ok(call)
    };
    let refusal = |given: Value| -> String {
        let refused: Result<Call, tool::InvalidArguments> = read(given);
        refused.unwrap_err().to_string()
    };
    for (given, message) in [
        (json!({}), "`code` is missing"),
        (json!({ "code": null }), "`code` is missing"),
        (json!({ "code": 5 }), "`code` must be a string, not 5"),
        (
            json!({ "code": "", "language": "ruby" }),
            "`language` must be `python` or `typescript`, not \"ruby\"",
        ),
        (
            json!({ "code": "", "timeout_seconds": 0 }),
            "`timeout_seconds` must be a number of seconds from 1 to 3600, not 0",
        ),
        (
            json!({ "code": "", "timeout_seconds": 3601 }),
            "`timeout_seconds` must be a number of seconds from 1 to 3600, not 3601",
        ),
        (
            json!({ "code": "", "reset": "yes" }),
            "`reset` must be `true` or `false`, not \"yes\"",
        ),
        (
            json!({ "code": "", "timeout": 5 }),
            "`timeout` is not an argument: there are `code`, `language`, `session`, `timeout_seconds`, `reset` and `cwd`",
        ),
    ] {
        assert_eq!(refusal(given), message);
    }
    let call = read(json!({ "code": "1", "language": null, "timeout_seconds": 1.5 })).unwrap();
    assert_eq!(
        (call.language, call.session.as_str()),
        (Language::Python, "default")
    );
    assert_eq!(call.timeout, Some(std::time::Duration::from_millis(1500)));
}

#[test]
fn the_description_is_the_same_every_time_and_says_what_matters() {
    let one = tool::specification();
    assert_eq!(one, tool::specification());
    for said in [
        "State persists",
        "last expression is the cell's value",
        "`print`",
        "`await` works at the top level",
        "After a timeout",
        "Prefer small cells",
        "session name of your own",
    ] {
        assert!(one.description.contains(said), "{said}");
    }
    assert!(one.description.len() < 4096, "{}", one.description.len());
}

/// Whatever the outcomes are: the budget holds, and the same outcomes give the same text.
#[test]
fn the_budget_holds_for_every_outcome() {
    let mut runner = TestRunner::new(Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    });
    let inputs = (
        prop::collection::vec(any_outcome(), 0..8),
        0usize..20_000,
        0usize..10,
        ".{0,60}",
        prop_oneof![Just(0usize), Just(1 << 20)],
    );
    runner
        .run(&inputs, |(outcomes, bytes, given, session, images)| {
            let rendering = Rendering::new(Language::Python)
                .session(session)
                .bytes(bytes)
                .given(given)
                .image_bytes(images);
            let text = tool::render(&outcomes, &rendering);
            prop_assert!(text.len() <= bytes, "{} of {bytes}", text.len());
            prop_assert_eq!(&text, &tool::render(&outcomes, &rendering));
            if let [one] = outcomes.as_slice()
                && bytes >= 2048
                && given <= 1
                && one
                    .error
                    .as_ref()
                    .is_some_and(|failure| failure.kind == FailureKind::Timeout)
            {
                prop_assert!(
                    text.contains("hint: ") || text.contains("cut: hint"),
                    "{text}"
                );
                prop_assert!(text.ends_with('\n'), "{text}");
            }
            Ok(())
        })
        .unwrap();
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["x", "é", "🙂", "\n", "line\n", "stdout (3 bytes):\n"]);
    (piece, prop_oneof![0usize..5, 0usize..5000]).prop_map(|(piece, times)| piece.repeat(times))
}

fn any_cut() -> impl Strategy<Value = Option<Value>> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    prop::option::of((numbers, prop::option::of("[a-z/]{1,500}")).prop_map(
        |((bytes, lines, bytes_out, lines_out), file)| {
            json!({ "bytes": bytes, "lines": lines, "bytesLeftOut": bytes_out, "linesLeftOut": lines_out, "file": file })
        },
    ))
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let failure = (
        prop::sample::select(vec!["timeout", "exception", "worker-exit", "cancelled"]),
        prop::option::of(any_text()),
        any_text(),
        prop::option::of(any_text()),
        prop::option::of(any_text()),
        prop::option::of(any::<u32>()),
    )
        .prop_map(|(kind, name, message, traceback, hint, line)| {
            json!({ "kind": kind, "name": name, "message": message, "traceback": traceback, "hint": hint, "line": line })
        });
    let display = (any_text(), any_text(), prop::option::of(any_text())).prop_map(
        |(mime, content, file)| json!({ "data": { mime: content, "text/plain": "seen", "image/png": "iVBORw0KGgo=" }, "file": file }),
    );
    (
        (any_text(), any_text(), any_text(), any_text()),
        (any_cut(), any_cut()),
        prop::option::of(any_text()),
        prop::option::of(failure),
        prop::option::of(any_text()),
        prop::collection::vec(display, 0..6),
        (
            prop::sample::select(vec!["kept", "restored", "lost"]),
            any::<u64>(),
            prop_oneof![Just(0.0), Just(1e300), 0.0f64..1e9],
        ),
    )
        .prop_map(
            |(
                (stdout, stderr, late, late_stderr),
                (cut, late_cut),
                value,
                error,
                notice,
                display,
                (state, count, time),
            )| {
                let mut truncated = json!({});
                for (name, cut) in [("stdout", cut), ("backgroundStderr", late_cut)] {
                    if let Some(cut) = cut {
                        truncated[name] = cut;
                    }
                }
                let mut fields = json!({
                    "ok": error.is_none(), "stdout": stdout, "stderr": stderr,
                    "background": { "stdout": late, "stderr": late_stderr },
                    "truncated": truncated, "error": error, "notice": notice, "display": display,
                    "state": state, "executionCount": count, "durationMs": time,
                });
                if let Some(value) = value {
                    fields["value"] = json!(value);
                }
                serde_json::from_value(fields).unwrap()
            },
        )
}
