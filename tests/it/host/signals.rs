//! Apart from one private real-time signal, what a signal does to the host is what it did before.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use warmcell::FailureKind;

use crate::support::{Cells, Judge, each, eventually, in_own_process, ms, turn};

/// Importing a module, or a cell's `signal.signal`, stole SIGINT from the host: PyO3/pyo3#2576.
#[test]
fn dispositions_are_the_hosts_before_and_after_everything() {
    in_own_process!(|| {
        // A host that ignores one, handles some, and leaves the rest.
        ignore(libc::SIGUSR2);
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
            handle(signal);
        }
        let before = dispositions();
        assert!(
            before.len() >= 60,
            "only {} signals can be read",
            before.len()
        );
        let turn = turn();
        let session = turn.python();
        let after_start = dispositions();
        let private: Vec<i32> = changed(&before, &after_start);
        assert!(
            private.len() == 1 && private[0] >= libc::SIGRTMIN(),
            "start changes one real-time signal, and not {private:?}"
        );
        each(
            [
                "import signal, asyncio, subprocess, multiprocessing, threading, time, faulthandler",
                "signal.signal(signal.SIGINT, lambda *a: None)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGCHLD, signal.SIG_DFL);",
                "signal.signal(signal.SIGUSR2, signal.default_int_handler);",
                "import os\nfor n in signal.valid_signals():\n    try: signal.signal(n, lambda *a: None)\n    except (OSError, ValueError): pass",
                "signal.siginterrupt(signal.SIGTERM, True); signal.signal(signal.SIGPIPE, signal.SIG_DFL);",
                "await asyncio.sleep(0)\nasyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)",
                "asyncio.run(asyncio.sleep(0))",
                "subprocess.run(['true'])\nmultiprocessing.get_context('spawn');",
                "faulthandler.enable(open(os.devnull, 'w')); faulthandler.register(signal.SIGUSR1, open(os.devnull, 'w'));",
            ],
            |code| {
                session.cell(code).succeeded();
                assert_eq!(changed(&before, &dispositions()), private, "after {code}");
            },
        );
        each(
            [
                "while True: pass",
                "time.sleep(100)",
                "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
            ],
            |code| {
                session
                    .cell_within(ms(50), code)
                    .failed(FailureKind::Timeout);
                assert_eq!(
                    changed(&before, &dispositions()),
                    private,
                    "after the timeout of {code}"
                );
            },
        );
        session
            .cell("signal.signal(signal.SIGINT, signal.SIG_IGN)\n1 / 0")
            .raised("ZeroDivisionError");
        assert_eq!(
            changed(&before, &dispositions()),
            private,
            "after an exception"
        );
        session.reset_now();
        assert_eq!(changed(&before, &dispositions()), private, "after a reset");
        session.cell("1").returned(json!(1));
    });
}

/// The host's own handlers hear their signals, between cells and while one runs.
#[test]
fn the_hosts_handlers_hear_their_signals() {
    in_own_process!(|| {
        handle(libc::SIGINT);
        let turn = turn();
        let session = turn.python();
        session
            .cell("import asyncio, subprocess, multiprocessing, signal, time")
            .succeeded();
        raise(libc::SIGINT);
        assert_eq!(HEARD.load(Ordering::Relaxed), 1, "between cells");
        let (cell, mut events) = warmcell::Cell::from(
            "print('runs', flush=True)\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: time.sleep(0.01)\nreturn 'undisturbed'",
        )
        .with_events(4);
        let execution = session.start(cell);
        crate::support::settle(events.next()).expect("it runs");
        raise(libc::SIGINT);
        crate::support::settle(execution).returned(json!("undisturbed"));
        assert_eq!(HEARD.load(Ordering::Relaxed), 2, "while a cell runs");
    });
}

/// The host's tokio hears Ctrl-C, whatever the cells imported and set.
#[test]
fn tokio_hears_ctrl_c() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            for before in [true, false] {
                // Listening begins before the cells, and again after them.
                let mut interrupt =
                    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
                        .unwrap();
                if before {
                    session
                        .run(
                            "import asyncio, signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL);"
                                .into(),
                        )
                        .unwrap()
                        .await
                        .succeeded();
                }
                raise(libc::SIGINT);
                let heard = tokio::time::timeout(Duration::from_secs(5), interrupt.recv()).await;
                assert_eq!(heard.expect("in time"), Some(()));
            }
        });
    });
}

/// Inside its cell, a handler of the program's works as in any Python.
#[test]
fn a_cells_own_handlers_work_while_it_runs() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell(
                "import os, signal, time\ngot = []\nsignal.signal(signal.SIGALRM, lambda *a: got.append('alarm'))\nsignal.signal(signal.SIGUSR1, lambda *a: got.append('usr1'))\n\
                 os.kill(os.getpid(), signal.SIGUSR1)\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\ntime.sleep(0.1)\ngot",
            )
            .returned(json!(["usr1", "alarm"]));
    });
}

/// The way of programs to bound what they call: whatever the interpreter's thread is in, the alarm's handler runs there at once.
#[test]
fn an_alarm_of_the_cells_own_ends_what_it_is_in() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import os, signal, subprocess, time\nclass Late(Exception): pass\ndef late(*_): raise Late")
            .succeeded();
        for waits in [
            // CPython 3.11 does not find the `except` when a loop is the first thing in its `try`.
            "n = 0\n    while True: n += 1",
            "time.sleep(100)",
            "subprocess.run(['sleep', '100'])",
        ] {
            session
                .cell_within(
                    ms(5000),
                    &format!("signal.signal(signal.SIGALRM, late)\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\ntry:\n    {waits}\nexcept Late:\n    heard = {waits:?}\nheard"),
                )
                .returned(json!(waits));
        }
    });
}

/// A signal that a cell sends itself is handled when `os.kill` returns, and ends nobody after the cell.
#[test]
fn a_signal_that_a_cell_sends_itself_is_handled_at_once() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        for _ in 0..20 {
            session
                .cell("import os, signal\ngot = []\nsignal.signal(signal.SIGUSR1, lambda *_: got.append(1))\nos.kill(os.getpid(), signal.SIGUSR1)\nsent = len(got)\nsignal.raise_signal(signal.SIGUSR1)\nprint(sent, len(got), end='')\nos.kill(os.getpid(), signal.SIGUSR1)")
                .printed("1 2");
            session.cell("len(got)").returned(json!(3));
        }
    });
}

/// An alarm that a cell leaves running does not end the host, whose disposition for it is the default.
#[test]
fn an_alarm_that_a_cell_left_behind_does_not_end_the_host() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.05);")
            .succeeded();
        session
            .cell("time.sleep(0.2); 'alive'")
            .returned(json!("alive"));
    });
}

static HEARD: AtomicU32 = AtomicU32::new(0);

extern "C" fn hear(_: i32) {
    HEARD.fetch_add(1, Ordering::Relaxed);
}

fn handle(signal: i32) {
    // SAFETY: the handler does nothing but add to an atomic number.
    let done = unsafe { libc::signal(signal, hear as extern "C" fn(i32) as libc::sighandler_t) };
    assert_ne!(done, libc::SIG_ERR);
}

fn ignore(signal: i32) {
    // SAFETY: no handler is involved.
    let done = unsafe { libc::signal(signal, libc::SIG_IGN) };
    assert_ne!(done, libc::SIG_ERR);
}

/// Sends this process a signal, and waits until it was taken by some thread.
fn raise(signal: i32) {
    let before = HEARD.load(Ordering::Relaxed);
    // SAFETY: plain integers; the signal goes to this process alone.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
    if current(signal).is_some_and(|(handler, ..)| handler == hear as extern "C" fn(i32) as usize) {
        eventually("the handler has run", || {
            HEARD.load(Ordering::Relaxed) > before
        });
    }
}

/// What a signal does: handler, flags, and the signals blocked meanwhile.
type Disposition = (usize, i32, Vec<i32>);

fn dispositions() -> BTreeMap<i32, Disposition> {
    (1..=64)
        .filter_map(|signal| Some((signal, current(signal)?)))
        .collect()
}

const SA_RESTORER: i32 = 0x0400_0000;

/// `None` for the two that the C library keeps for itself.
fn current(signal: i32) -> Option<Disposition> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null pointer for the new action it only fills in `action`, which is as long as it must be; all zeros
    // are a valid `sigaction` should it fail.
    let action = unsafe {
        if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) != 0 {
            return None;
        }
        action.assume_init()
    };
    // The C library's own mark on every disposition that was ever set, be it to what it was.
    let flags = action.sa_flags & !SA_RESTORER;
    // SAFETY: the set was filled in by the C library.
    let blocked = |other: &i32| unsafe { libc::sigismember(&action.sa_mask, *other) == 1 };
    Some((
        action.sa_sigaction,
        flags,
        (1..=64).filter(blocked).collect(),
    ))
}

fn changed(before: &BTreeMap<i32, Disposition>, after: &BTreeMap<i32, Disposition>) -> Vec<i32> {
    before
        .iter()
        .filter(|(signal, disposition)| after.get(signal) != Some(disposition))
        .map(|(signal, _)| *signal)
        .collect()
}
