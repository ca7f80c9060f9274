//! Promises and timers beyond their cell: late output, later cells, rejections that nothing handles.

use serde_json::json;
use warmcell::FailureKind;

use super::on_each_engine;
use crate::support::{Cells, Judge, each};

#[test]
fn what_an_earlier_cell_prints_late_is_background() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("setTimeout(() => { console.log('late'); console.error('late error') }, 5); console.log('now'); 1")
            .printed("now\n")
            .returned(json!(1));
        let outcome =
            session.cell("await new Promise(done => setTimeout(done, 30)); console.log('mine'); 2");
        outcome.printed("mine\n").returned(json!(2));
        assert_eq!(outcome.background.stdout, "late\n", "{outcome:#?}");
        assert_eq!(outcome.background.stderr, "late error\n", "{outcome:#?}");
        assert_eq!(outcome.stderr, "", "{outcome:#?}");

        session
            .cell("let ticks = 0; const id = setInterval(() => { if (++ticks <= 3) console.log('tick', ticks) }, 1); 0")
            .returned(json!(0));
        let outcome = session.cell("while (ticks < 3) await new Promise(done => setTimeout(done, 1)); clearInterval(id); 'done'");
        outcome.returned(json!("done"));
        assert_eq!(
            outcome.background.stdout, "tick 1\ntick 2\ntick 3\n",
            "{outcome:#?}"
        );
    });
}

#[test]
fn promises_live_on_into_later_cells() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const later = new Promise(done => setTimeout(done, 10, 'now')); let resolve; const open = new Promise(done => resolve = done); const doubled = open.then(n => n * 2); 0")
            .returned(json!(0));
        session.cell("await later").returned(json!("now"));
        session
            .cell("resolve(21); await doubled")
            .returned(json!(42));
        session.cell("await doubled").returned(json!(42));
    });
}

/// A rejection is told once, where it happens, and the cell's own result stands.
#[test]
fn a_rejection_that_nothing_handles_is_told_on_stderr() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                (
                    "Promise.reject(new Error('lost')); 1",
                    "Uncaught (in promise) Error: lost",
                ),
                (
                    "(async () => { throw new TypeError('lost') })(); 1",
                    "Uncaught (in promise) TypeError: lost",
                ),
                (
                    "Promise.resolve().then(() => { throw 'lost' }); 1",
                    "Uncaught (in promise) 'lost'",
                ),
                (
                    "await null; Promise.reject({ code: 7 }); 1",
                    "Uncaught (in promise) { code: 7 }",
                ),
                (
                    "queueMicrotask(() => { throw new Error('lost') }); 1",
                    "Uncaught Error: lost",
                ),
            ],
            |(code, told)| {
                let outcome = session.cell(code);
                outcome.returned(json!(1));
                assert!(
                    outcome.stderr.starts_with(told),
                    "{code} on {}: {outcome:#?}",
                    engine.name
                );
                assert_eq!(
                    outcome.stderr.matches("lost").count().max(1),
                    1,
                    "{outcome:#?}"
                );
                let next = session.cell("1");
                assert!(
                    next.stderr.is_empty() && next.background.is_empty(),
                    "{next:#?}"
                );
            },
        );
        each(
            [
                "Promise.reject(1).catch(() => {}); 1",
                "const handled = Promise.reject(1); handled.catch(() => {}); 1",
                "const settled = await Promise.allSettled([Promise.reject(1)]); 1",
                "try { await Promise.reject(1) } catch {} 1",
                "const waits = Promise.reject(1); await null; try { await waits } catch {} 1",
                "Promise.reject(1).then(null, () => {}); 1",
            ],
            |code| {
                let outcome = session.cell(code);
                outcome.returned(json!(1));
                assert_eq!(outcome.stderr, "", "{code} on {}", engine.name);
            },
        );
        // The cell's own promise is its failure, and is not told a second time.
        let outcome = session.cell("await Promise.reject(new RangeError('own'))");
        assert_eq!(outcome.raised("RangeError").message, "own");
        assert_eq!(outcome.stderr, "", "{outcome:#?}");
        let outcome = session.cell("Promise.reject(new RangeError('value'))");
        assert_eq!(outcome.raised("RangeError").message, "value");
        assert_eq!(outcome.stderr, "", "{outcome:#?}");
    });
}

#[test]
fn what_an_earlier_cell_rejects_late_is_background() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("(async () => { await new Promise(done => setTimeout(done, 5)); throw new Error('late') })(); 1")
            .returned(json!(1));
        let outcome = session.cell(
            "Promise.reject(new Error('mine')); await new Promise(done => setTimeout(done, 30)); 2",
        );
        outcome.returned(json!(2));
        let told = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        assert_eq!(
            told(&outcome.background.stderr),
            "Uncaught (in promise) Error: late",
            "{outcome:#?}"
        );
        assert_eq!(
            told(&outcome.stderr),
            "Uncaught (in promise) Error: mine",
            "{outcome:#?}"
        );
        assert!(!outcome.stderr.contains("late"), "{outcome:#?}");
    });
}

#[test]
fn an_error_in_a_timer_is_told_and_ends_nothing() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let outcome = session.cell("setTimeout(() => { throw new Error('in timer') }, 1); await new Promise(done => setTimeout(done, 20)); 1");
        outcome.returned(json!(1));
        assert!(
            outcome.stderr.starts_with("Uncaught Error: in timer"),
            "{outcome:#?}"
        );
        session
            .cell("setTimeout(() => { throw new Error('late') }, 1); 1")
            .returned(json!(1));
        let outcome = session.cell("await new Promise(done => setTimeout(done, 20)); 1");
        outcome.returned(json!(1));
        assert!(
            outcome
                .background
                .stderr
                .starts_with("Uncaught Error: late"),
            "{outcome:#?}"
        );
    });
}

#[test]
fn a_promise_that_nothing_can_settle_is_told_at_once() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        let error = session.cell("await new Promise(() => {})");
        let error = error.failed(FailureKind::Exception);
        assert!(error.message.contains("nothing can settle"), "{error:#?}");
        // As a value it is shown as what it is.
        let outcome = session.cell("new Promise(() => {})");
        outcome.returned_nothing();
        assert_eq!(
            outcome.display[0].data["text/plain"],
            "Promise { <pending> }"
        );
    });
}
