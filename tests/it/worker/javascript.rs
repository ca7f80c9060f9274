//! JavaScript in processes of its own, on each engine that was built in.

use warmcell::{
    Backup, Cell, FailureKind, JavaScriptEngine, Language, Limits, SessionBuilder, SessionState,
};

use super::{Worker, builder_of, kind, notice, open, value, wait_for_the_backup};
use crate::support::{Cells, in_own_process, ms, processes};

/// One builder for each engine of this build.
fn builders() -> impl Iterator<Item = SessionBuilder> {
    let engines = [
        #[cfg(feature = "javascript")]
        JavaScriptEngine::Boa,
        #[cfg(feature = "quickjs")]
        JavaScriptEngine::QuickJs,
    ];
    engines
        .into_iter()
        .map(|engine| builder_of(Language::TypeScript).javascript_engine(engine))
}

/// Kills the worker of the only session of this process, and its spare.
fn kill_the_worker() {
    let workers = processes::workers();
    assert!(!workers.is_empty());
    for worker in workers {
        processes::kill(worker);
    }
}

fn in_process_of_its_own(session: &Worker) {
    let before = "
        let count = 1;
        const next = () => ++count;
        class Point { constructor(public x: number) {} }
        const point = new Point(3);
        function* numbers() { let n = 0; while (true) yield n++; }
        const iterator = numbers();
        iterator.next();
        let resolve: (value: number) => void;
        const promise = new Promise<number>(done => { resolve = done; });
        setTimeout(() => { resolve(7); }, 100);
    ";
    assert!(session.cell(before).ok);
    assert_eq!(value(&session.cell("return next()")), "2");
    wait_for_the_backup(session);
    kill_the_worker();
    let after = session.cell("return [count, next(), point.x, point instanceof Point, iterator.next().value, await promise]");
    assert_eq!(value(&after), "[2,3,3,true,1,7]");
    assert_eq!(after.state, SessionState::Kept);
    assert!(notice(&after).contains("the session went on from its backup"));
}

#[test]
fn a_session_goes_back_with_closures_generators_promises_and_timers() {
    in_own_process!(|| {
        for builder in builders() {
            in_process_of_its_own(&open(builder));
        }
    });
}

#[test]
fn a_cell_whose_process_is_killed_is_undone_and_not_run_again() {
    in_own_process!(|| {
        for builder in builders() {
            let session = open(builder);
            assert!(session.cell("let x = 1").ok);
            wait_for_the_backup(&session);
            let (cell, mut events) =
                Cell::new("x = 2; console.log('once'); for (;;) {}").with_events(4);
            let execution = session.start(cell);
            crate::support::settle(events.next()).expect("the cell runs");
            kill_the_worker();
            let died = crate::support::settle(execution);
            assert_eq!(kind(&died), FailureKind::WorkerExit);
            assert_eq!(died.stdout, "once\n");
            assert_eq!(died.state, SessionState::Restored);
            assert_eq!(value(&session.cell("return x")), "1");
        }
    });
}

#[test]
fn a_loop_is_stopped_and_the_session_kept() {
    for builder in builders() {
        let session = open(builder);
        assert!(session.cell("let x = 1").ok);
        let stopped = session.cell_within(ms(200), "x = 2; for (;;) {}");
        assert_eq!(kind(&stopped), FailureKind::Timeout);
        assert_eq!(stopped.state, SessionState::Kept);
        assert_eq!(value(&session.cell("return x")), "2");
    }
}

/// A stop that comes as the cell begins meets the engine where it makes the promise of the cell.
#[test]
fn a_cell_that_awaits_is_stopped_at_any_moment_and_the_session_kept() {
    for builder in builders() {
        let session = open(builder.backup(Backup::Off));
        assert!(session.cell("let keep = 41").ok);
        for round in 0..500 {
            let stopped = session.cell_within(ms(1), "for (;;) await 1");
            assert_eq!(
                (kind(&stopped), stopped.state),
                (FailureKind::Timeout, SessionState::Kept),
                "{round}: {stopped:?}"
            );
        }
        assert_eq!(value(&session.cell("return keep + 1")), "42");
    }
}

/// boa 0.22 may panic where it is stopped in an async generator: the backup takes over, and nothing of it is output.
#[test]
fn an_engine_that_does_not_survive_its_stop_is_replaced() {
    for builder in builders() {
        let session = open(builder);
        assert!(session.cell("let x = 1").ok);
        for _ in 0..6 {
            wait_for_the_backup(&session);
            let endless =
                "x = 2; for await (const x of (async function* () { while (true) yield 1 })());";
            let stopped = session.cell_within(ms(100), endless);
            assert_eq!(kind(&stopped), FailureKind::Timeout, "{stopped:?}");
            assert_eq!((stopped.stdout.as_str(), stopped.stderr.as_str()), ("", ""));
            let x = match stopped.state {
                SessionState::Kept => "2",
                state => {
                    assert_eq!(state, SessionState::Restored);
                    assert!(notice(&stopped).starts_with("the engine panicked, and its process was ended; the session is as it was before"));
                    "1"
                }
            };
            assert_eq!(value(&session.cell("return x")), x);
            assert!(session.cell("x = 1").ok);
        }
    }
}

/// What boa allocates in one step is past any refusal; it ends the process, never waits for the deadline.
#[test]
fn memory_that_one_step_takes_ends_in_a_memory_failure() {
    for builder in builders() {
        let limits = Limits::default().with_memory_mb(64);
        let session = open(builder.limits(limits));
        assert!(session.cell("let x = 1").ok);
        let outcome = session.cell("x = 2; return new Array(5e7).fill('ab').join('x').length");
        assert_eq!(kind(&outcome), FailureKind::Memory, "{outcome:?}");
        let x = match outcome.state {
            SessionState::Kept => "2",
            _ => "1",
        };
        assert_eq!(value(&session.cell("return x")), x);
    }
}
