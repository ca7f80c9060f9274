//! Hosts with one tokio runtime, with two, and with none.

use std::time::Duration;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use warmcell::{FailureKind, Language, Session};

use crate::support::{Cells, Judge, in_own_process, ms, settle, turn};

/// No runtime at all: waiting on a plain thread.
#[test]
fn a_host_without_any_runtime() {
    let _turn = turn();
    let session = Session::builder(Language::Python).open_blocking().unwrap();
    session.run("x = 41".into()).unwrap().wait().succeeded();
    session
        .run("x + 1".into())
        .unwrap()
        .wait()
        .returned(json!(42));
    settle(session.inspect()).unwrap();
    settle(session.close());
}

/// A runtime without timer and reactor is enough, deadlines included.
#[test]
fn a_runtime_with_nothing_enabled_is_enough() {
    let turn = turn();
    let runtime = Builder::new_current_thread().build().unwrap();
    let session = turn.python();
    runtime.block_on(async {
        session.run("x = 1".into()).unwrap().await.succeeded();
        let cell = warmcell::Cell::from("while True: pass").with_timeout(ms(50));
        session
            .run(cell)
            .unwrap()
            .await
            .failed(FailureKind::Timeout);
        session.run("x".into()).unwrap().await.returned(json!(1));
    });
}

/// One session shared by two runtimes; the end of one is not the end of the other's cells.
#[test]
fn two_runtimes_share_a_session() {
    let turn = turn();
    let session = turn.python();
    session.cell("n = 0").succeeded();
    let many = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    let add = |runtime: &Runtime| {
        let session = session.clone();
        runtime.spawn(async move {
            for _ in 0..50 {
                session.run("n += 1".into()).unwrap().await.succeeded();
            }
        })
    };
    let tasks = [add(&many), add(&many)];
    let last = add(&one);
    one.block_on(last).unwrap();
    many.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    session.cell("n").returned(json!(150));

    // A runtime that goes away drops the futures of its cells.
    let (cell, mut events) =
        warmcell::Cell::from("print('runs', flush=True)\nwhile True: n += 1").with_events(4);
    let endless = session.start(cell);
    many.spawn(endless);
    settle(events.next()).expect("it runs");
    many.shutdown_background();
    one.block_on(async {
        session
            .run("stopped = n; 'one'".into())
            .unwrap()
            .await
            .returned(json!("one"));
    });
    session.cell("n == stopped").returned(json!(true));
}

/// Everything is started and awaited without blocking the thread that polls.
#[test]
fn the_hosts_async_thread_is_never_blocked() {
    in_own_process!(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pulse = tokio::spawn(async {
                let mut longest = Duration::ZERO;
                loop {
                    let before = std::time::Instant::now();
                    tokio::time::sleep(ms(1)).await;
                    longest = longest.max(before.elapsed());
                    if LAST.load(std::sync::atomic::Ordering::Relaxed) {
                        return longest;
                    }
                }
            });
            let session = Session::builder(Language::Python).open().await.unwrap();
            session
                .run("import time; time.sleep(0.3)".into())
                .unwrap()
                .await
                .succeeded();
            let cell = warmcell::Cell::from("while True: pass").with_timeout(ms(300));
            session
                .run(cell)
                .unwrap()
                .await
                .failed(FailureKind::Timeout);
            session
                .run("sum(range(10**7)); x = ['text'] * 10**6".into())
                .unwrap()
                .await
                .succeeded();
            session.run("x".into()).unwrap().await.succeeded();
            warmcell::CodeRuntime::reset(&session).await.unwrap();
            session.close().await;
            LAST.store(true, std::sync::atomic::Ordering::Relaxed);
            let longest = pulse.await.unwrap();
            assert!(longest < ms(100), "the thread was held up for {longest:?}");
        });
    });
}

static LAST: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// `select!`, timeouts of the host's own, and tasks that are aborted.
#[test]
fn futures_of_cells_are_cancel_safe() {
    let turn = turn();
    let session = turn.python();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        session.run("n = 0".into()).unwrap().await.succeeded();
        for round in 0..20 {
            let endless = session.run("n += 1\nwhile True: pass".into()).unwrap();
            assert!(tokio::time::timeout(ms(5), endless).await.is_err());
            let task = tokio::spawn(session.run("while True: pass".into()).unwrap());
            tokio::task::yield_now().await;
            task.abort();
            let outcome = session.run("n".into()).unwrap().await;
            let n: u64 = outcome.succeeded().value.as_ref().unwrap().parse().unwrap();
            assert!(n <= round + 1, "{outcome:#?}");
        }
        // Opening is cancel safe too: what nobody waits for is gone, and the next one opens.
        let opening = Session::builder(Language::Python).open();
        drop(opening);
        let opening = Session::builder(Language::Python).open();
        let _ = tokio::time::timeout(Duration::ZERO, opening).await;
        let other = Session::builder(Language::Python).open().await.unwrap();
        other.run("1".into()).unwrap().await.returned(json!(1));
        other.close().await;
    });
}
