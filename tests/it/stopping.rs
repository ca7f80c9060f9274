//! Deadlines and cancellation: the host always has its answer soon, and the session goes on.

mod hostile;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::json;
use warmcell::{
    Cell, Event, Failure, FailureKind, Language, Limits, Outcome, Session, SessionState, Stream,
};

use crate::support::{
    Cells, Judge, Random, each, eventually, in_own_process, ms, settle, settle_within, timed, turn,
};

/// What may pass between a deadline and the answer when an interrupt is enough.
const PROMPT: Duration = Duration::from_millis(500);

/// What may pass between a deadline and the answer, whatever the cell does: the grace, and a busy machine.
const AT_LAST: Duration = Duration::from_millis(2500);

/// Where CPython looks for interrupts differs by how a loop is written, and by the kind of cell it stands in.
#[test]
fn loops_are_stopped_however_they_are_written() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import itertools, asyncio\nkeep = 41")
        .succeeded();
    each(
        [
            "while True: pass",
            "while True:\n    pass",
            "while True:\n    n = 1",
            "while 1:\n    continue",
            "for _ in itertools.count(): pass",
            "for _ in itertools.count():\n    pass",
            "def f():\n    while True: pass\nf()",
            "def f():\n    while True:\n        pass\nf()",
            "class C:\n    while True: pass",
            "[0 for _ in itertools.count() if False]",
            "sum(0 for _ in itertools.count())",
            "any(False for _ in itertools.count())",
            "(lambda: [None for _ in iter(int, 1)])()",
            "exec('while True: pass')",
            "eval('[0 for _ in iter(int, 1) if 0]')",
            "if True:\n    while True: pass\n    return 1",
            "while True:\n    if keep is None:\n        return 1",
            "await asyncio.sleep(0)\nwhile True: pass",
            "await asyncio.sleep(0)\nwhile True:\n    pass",
            "while True: await asyncio.sleep(0)",
            "async def f():\n    while True: pass\nawait asyncio.gather(f(), f())",
            "asyncio.run(asyncio.sleep(100))",
            "import time; time.sleep(100)",
            "def g():\n    while True:\n        yield\nlist(x for x in g() if x)",
        ],
        |code| {
            let (took, outcome) = timed(|| session.cell_within(ms(100), code));
            let error = outcome.failed(FailureKind::Timeout);
            assert!(error.message.contains("100 ms"), "{outcome:#?}");
            assert!(
                took >= ms(100) && took < ms(100) + PROMPT,
                "{took:?} for {code}"
            );
            session.cell("keep + 1").returned(json!(42));
        },
    );
}

/// A thousand timeouts at random moments, each followed by a cell that works and finds its variables right.
#[test]
fn the_session_is_right_after_a_thousand_timeouts() {
    const ENDLESS: [&str; 10] = [
        "while True: pass",
        "while True:\n    scratch = list(range(50))",
        "with lock:\n    while True:\n        scratch = {}",
        "time.sleep(10)",
        "threading.Event().wait()",
        "await asyncio.sleep(10)",
        "while True:\n    await asyncio.sleep(0)",
        "while True:\n    print('.', end='')",
        "try:\n    while True: pass\nfinally:\n    cleaned += 1",
        "def f(n):\n    while True:\n        scratch = [str(i) for i in range(n)]\nf(20)",
    ];
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import asyncio, threading, time\n\
             lock = threading.Lock()\ncleaned = total = 0\nlog = []\ntable = {}",
        )
        .succeeded();
    let mut random = Random::new();
    for round in 1..=1000 {
        let code = random.pick(&ENDLESS);
        let timeout = random.between(ms(1), ms(4));
        let context = format!("round {round}, seed {}: {code}", random.seed());
        let outcome = session.cell_within(timeout, code);
        let kind = outcome.error.as_ref().map(|error| error.kind);
        assert_eq!(kind, Some(FailureKind::Timeout), "{context}: {outcome:#?}");
        assert_eq!(outcome.state, SessionState::Kept, "{context}");
        assert!(
            outcome.stdout.bytes().all(|byte| byte == b'.'),
            "{context}: {outcome:#?}"
        );

        let next = session.cell(&format!(
            "total += {round}\nlog.append(total)\ntable[total] = {round}\n\
             await asyncio.sleep(0)\nprint('works')\n\
             [total, len(log), table[log[-1]], lock.locked(), len(asyncio.all_tasks())]"
        ));
        assert!(next.ok && next.stdout == "works\n", "{context}: {next:#?}");
        let total: i64 = (1..=round).sum();
        assert_eq!(
            next.value.as_ref().unwrap().as_str(),
            format!("[{total},{round},{round},false,1]"),
            "{context}"
        );
    }
}

/// `finally` and `with` run, and have a little time to.
///
/// The loop's body is a statement of its own: CPython 3.11 itself, interrupted in a `while True: pass` that is the first
/// statement of its `try`, passes by that `finally`.
#[test]
fn a_stopped_cell_puts_its_things_in_order() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import asyncio, threading, time, contextlib\nlock = threading.Lock()\ndone = []\n\
             class Managed:\n    def __enter__(self): return self\n    def __exit__(self, *a): done.append('exit')\n\
             @contextlib.contextmanager\ndef managed():\n    try:\n        yield\n    finally:\n        time.sleep(0.01); done.append('generator')",
        )
        .succeeded();
    session
        .cell_within(
            ms(200),
            "with lock, Managed(), managed():\n    try:\n        while True:\n            n = 1\n    finally:\n        for step in range(3): done.append(step)\n        print('cleaned')",
        )
        .printed("cleaned\n")
        .failed(FailureKind::Timeout);
    session
        .cell("[lock.locked(), done]")
        .returned(json!([false, [0, 1, 2, "generator", "exit"]]));
    session
        .cell_within(
            ms(200),
            "done.clear()\nasync def work():\n    try:\n        await asyncio.sleep(100)\n    except asyncio.CancelledError:\n        done.append('cancelled')\n        raise\n    finally:\n        done.append('finally')\nawait work()",
        )
        .failed(FailureKind::Timeout);
    session
        .cell("await asyncio.sleep(0)\ndone[-1]")
        .returned(json!("finally"));
}

/// A signal mask that a cell leaves behind does not shield the next one.
#[test]
fn blocked_signals_are_no_shield() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65));")
        .succeeded();
    let (took, outcome) = timed(|| session.cell_within(ms(200), "time.sleep(100)"));
    outcome.failed(FailureKind::Timeout);
    assert!(took < ms(200) + PROMPT, "{took:?}");
    session.cell("'fine'").returned(json!("fine"));
}

/// The clean-up has its window and no more.
#[test]
fn a_clean_up_that_never_ends_is_ended() {
    let turn = turn();
    let session = turn.python();
    session.cell("keep = 41; import time").succeeded();
    each(
        [
            "try:\n    while True: pass\nfinally:\n    while True: pass",
            "try:\n    while True: pass\nfinally:\n    time.sleep(100)",
            "def f():\n    while True:\n        try:\n            while True: pass\n        finally:\n            continue\nf()",
        ],
        |code| {
            let (took, outcome) = timed(|| session.cell_within(ms(100), code));
            outcome.failed(FailureKind::Timeout);
            assert!(took < ms(100) + AT_LAST, "{took:?} for {code}");
            session.cell("keep + 1").returned(json!(42));
        },
    );
}

/// The failure says where the cell stood.
#[test]
fn a_timeout_names_the_line_it_came_at() {
    let turn = turn();
    let session = turn.python();
    let outcome = session.cell_within(
        ms(100),
        "def spin():\n    while True:\n        n = 1\n\nspin()",
    );
    let error = outcome.failed(FailureKind::Timeout);
    assert_eq!(
        error.line.map(|line| (2..=3).contains(&line)),
        Some(true),
        "{outcome:#?}"
    );
    let traceback = error.traceback.as_deref().unwrap_or_default();
    assert!(
        traceback.contains("spin()") && traceback.contains("in spin"),
        "{outcome:#?}"
    );
    assert_eq!(error.name, None, "{outcome:#?}");
}

/// Judges that the cell was stopped by its deadline, on one of these lines.
#[track_caller]
fn timed_out_at<'a>(outcome: &'a Outcome, lines: &RangeInclusive<u32>) -> &'a Failure {
    let error = outcome.failed(FailureKind::Timeout);
    let line = error.line.filter(|line| lines.contains(line));
    assert!(line.is_some(), "{outcome:#?}");
    error
}

/// Also of one that keeps the interrupt to itself, until it is raised on every line.
#[test]
fn a_timeout_of_a_cell_that_resists_names_its_line() {
    let turn = turn();
    let session = turn.python();
    each(
        [
            (
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                3..=4,
            ),
            (
                "import time\nwhile True:\n    try: time.sleep(1)\n    except BaseException: pass",
                2..=4,
            ),
            (
                "try:\n    while True: pass\nfinally:\n    while True: pass",
                4..=4,
            ),
        ],
        |(code, lines)| {
            let outcome = session.cell_within(ms(100), code);
            let error = timed_out_at(&outcome, &lines);
            let traceback = error.traceback.as_deref().unwrap_or_default();
            assert!(traceback.contains("in <module>"), "{outcome:#?}");
        },
    );
}

/// So does one that awaits, whatever it makes of being cancelled.
#[test]
fn a_timeout_of_a_cell_that_awaits_and_resists_names_its_line() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import asyncio\nasync def deaf():\n    while True:\n        try: await asyncio.sleep(10)\n        except BaseException: pass")
        .succeeded();
    each(
        [
            (
                "while True:\n    try: await asyncio.sleep(10)\n    except BaseException: pass",
                2..=3,
            ),
            ("x = 1\nawait asyncio.create_task(deaf())", 2..=2),
            (
                "x = 1\nasync with asyncio.TaskGroup() as group:\n    group.create_task(deaf())",
                2..=2,
            ),
            (
                "while True:\n    try: await asyncio.shield(asyncio.sleep(10))\n    except BaseException: pass",
                2..=3,
            ),
            (
                "async def busy():\n    while True: pass\ntask = asyncio.create_task(busy())\nawait asyncio.sleep(10)",
                4..=4,
            ),
            (
                "while True:\n    try:\n        async with asyncio.timeout(0.05): await asyncio.sleep(10)\n    except BaseException: pass",
                2..=4,
            ),
        ],
        |(code, lines)| {
            let outcome = session.cell_within(ms(100), code);
            timed_out_at(&outcome, &lines);
            assert!(outcome.stderr.is_empty(), "{outcome:#?}");
            let next = session.cell("await asyncio.sleep(0.06)\n5");
            next.returned(json!(5));
            assert!(next.stderr.is_empty(), "{next:#?}");
        },
    );
}

/// Tasks of earlier cells live on beside a cell that will not be cancelled.
#[test]
fn a_stop_of_a_cell_that_resists_ends_no_other_task() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import asyncio\nturns = [0] * 20\n\
             async def tick(i):\n    while True:\n        turns[i] += 1\n        await asyncio.sleep(0.0005)\n\
             tasks = [asyncio.create_task(tick(i)) for i in range(20)]\nawait asyncio.sleep(0.01)",
        )
        .succeeded();
    for timeout in (3..33).map(ms) {
        let deaf = "while True:\n    try: await asyncio.sleep(10)\n    except BaseException: pass";
        session
            .cell_within(timeout, deaf)
            .failed(FailureKind::Timeout);
    }
    session
        .cell("before = list(turns)\nawait asyncio.sleep(0.05)\n[sum(map(int.__eq__, before, turns)), sum(task.done() for task in tasks)]")
        .returned(json!([0, 0]));
}

/// A stop that is raised in the clean-up of an `except` block once stayed the exception that was being handled.
#[test]
fn no_stop_is_left_behind_as_the_exception_in_hand() {
    let turn = turn();
    let session = turn.python();
    for _ in 0..10 {
        session
            .cell_within(
                ms(20),
                "while True:\n    try:\n        import nothing_here\n    except BaseException:\n        pass",
            )
            .failed(FailureKind::Timeout);
        session
            .cell("import sys\nsys.exc_info()[0] is None")
            .returned(json!(true));
        let outcome = session.cell("1 / 0");
        let traceback = outcome
            .raised("ZeroDivisionError")
            .traceback
            .as_deref()
            .unwrap_or_default();
        assert!(!traceback.contains("another exception"), "{traceback}");
    }
}

/// An import hook that hangs meets the runtime itself when the first cell awaits.
#[test]
fn the_runtimes_own_imports_are_stopped_too() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import sys\nclass Hook:\n    def find_spec(self, *_):\n        while True: pass\nsys.meta_path.insert(0, Hook())")
            .succeeded();
        let (took, outcome) =
            timed(|| session.cell_within(ms(100), "async def f(): pass\nawait f()"));
        outcome.failed_leaving(FailureKind::Timeout, SessionState::Kept);
        assert!(took < ms(100) + ms(1200), "{took:?}");
        session.cell("del sys.meta_path[0]").succeeded();
        session
            .cell("import asyncio\nawait asyncio.sleep(0)\n5")
            .returned(json!(5));
    });
}

/// A value that takes long to hand over is inside the deadline too.
#[test]
fn converting_a_value_is_held_to_the_deadline() {
    let turn = turn();
    let limits = Limits::default().with_value_bytes(1 << 30);
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    session
        .cell("rows = [[1.5, 'text', None]] * 3_000_000")
        .succeeded();
    let (took, outcome) = timed(|| session.cell_within(ms(30), "return rows"));
    outcome.failed(FailureKind::Timeout);
    assert!(took < ms(30) + PROMPT, "{took:?}");
    session.cell("len(rows)").returned(json!(3_000_000));
}

/// Processes that a cell started end with it when it is stopped; those of earlier cells do not.
#[test]
fn children_of_a_stopped_cell_are_ended() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import os, subprocess, time\nserver = subprocess.Popen(['sleep', '1000'])")
            .succeeded();
        let table = [
            "subprocess.run(['sleep', '{}'])",
            "subprocess.run(['sleep', '{}'], capture_output=True)",
            "os.system('sleep {}')",
            "subprocess.Popen(['sleep', '{}'])\nwhile True: pass",
            "subprocess.Popen(['sleep', '{}'], start_new_session=True)\nwhile True: pass",
            "subprocess.run(['sh', '-c', 'sleep {} & wait'])",
            "while True:\n    try: subprocess.run(['sleep', '{}'])\n    except BaseException: pass",
        ];
        each(table.iter().enumerate(), |(row, code)| {
            let argument = (2001 + row).to_string();
            let code = code.replace("{}", &argument);
            let (took, outcome) = timed(|| session.cell_within(ms(300), &code));
            outcome.failed(FailureKind::Timeout);
            assert!(took < ms(300) + AT_LAST, "{took:?} for {code}");
            eventually(&format!("no child is left of {code}"), || {
                sleepers(&argument) == 0
            });
        });
        session.cell("server.poll() is None").returned(json!(true));
        session
            .cell("server.kill(); server.wait()")
            .returned(json!(-libc::SIGKILL));
    });
}

/// How many `sleep` processes with this argument live on the machine.
fn sleepers(argument: &str) -> usize {
    let wanted = format!("sleep\0{argument}\0");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| *line == wanted)
        .count()
}

/// The deadline of a cell starts when the cell starts, and a cell without one runs until it is cancelled.
#[test]
fn a_cell_without_a_timeout_runs_until_it_is_cancelled() {
    let turn = turn();
    let limits = Limits::default().with_timeout(ms(50));
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    session
        .run(Cell::from("import time; time.sleep(0.3); 'long'").without_timeout())
        .map(settle)
        .unwrap()
        .returned(json!("long"));
    session.cell("time.sleep(0.3)").failed(FailureKind::Timeout);

    let (cell, mut events) = Cell::from("keep = 1\nprint('runs', flush=True)\nwhile True: pass")
        .without_timeout()
        .with_events(4);
    let execution = session.start(cell);
    assert_eq!(settle(events.next()), Some(line("runs\n")));
    let canceller = execution.canceller();
    let (took, outcome) = timed(|| {
        canceller.cancel();
        settle(execution)
    });
    outcome.printed("runs\n").failed(FailureKind::Cancelled);
    assert!(took < PROMPT, "{took:?}");
    // Cancelling what has ended does nothing.
    canceller.cancel();
    session.cell("keep").returned(json!(1));
}

/// A cell that waits and is cancelled never runs and does not count.
#[test]
fn a_cell_that_is_cancelled_while_it_waits_never_runs() {
    let turn = turn();
    let session = turn.python();
    session.cell("ran = []").succeeded();
    let (cell, mut events) =
        Cell::from("print('runs', flush=True)\nwhile True: pass").with_events(4);
    let running = session.start(cell);
    let waiting = session.start("ran.append('cancelled')");
    let last = session.start("ran.append('last'); ran");
    settle(events.next()).expect("it runs");

    waiting.canceller().cancel();
    let (took, outcome) = timed(|| settle(waiting));
    let error = outcome.failed(FailureKind::Cancelled);
    assert_eq!(error.message, "the cell was cancelled before it ran");
    assert!(
        took < ms(100),
        "a waiting cell is settled at once, not after {took:?}"
    );

    assert!(session.interrupt(), "a cell runs");
    settle(running).failed(FailureKind::Cancelled);
    let last = settle(last);
    last.returned(json!(["last"]));
    assert_eq!(last.execution_count, 3);
    assert!(!session.interrupt(), "no cell runs");
}

/// Dropping the future of a cell cancels it: one that waits never runs, one that runs is stopped.
#[test]
fn dropping_the_future_cancels_the_cell() {
    let turn = turn();
    let session = turn.python();
    session.cell("ran = []; n = 0").succeeded();
    let (cell, mut events) =
        Cell::from("n = 1\nprint('runs', flush=True)\nwhile True:\n    n += 1").with_events(4);
    let running = session.start(cell);
    let waiting = session.start("ran.append('dropped')");
    settle(events.next()).expect("it runs");
    let (took, ()) = timed(|| drop(waiting));
    assert!(took < ms(100), "dropping took {took:?}");
    let (took, ()) = timed(|| drop(running));
    assert!(took < ms(100), "dropping took {took:?}");
    assert_eq!(settle(events.next()), None, "the stream ends with the cell");

    let outcome = session.cell("stopped_at = n; [ran, n > 0]");
    outcome.returned(json!([[], true]));
    assert_eq!(outcome.execution_count, 3);
    session.cell("n == stopped_at").returned(json!(true));
}

/// Dropping at random moments: before, while and after the cell runs.
#[test]
fn dropping_at_any_moment_leaves_a_working_session() {
    let turn = turn();
    let session = turn.python();
    session.cell("n = 0").succeeded();
    let mut random = Random::new();
    let mut finished = 0;
    for round in 1..=300 {
        let execution = session.start("for _ in range(20_000): pass\nn += 1");
        let patience = random.between(Duration::ZERO, ms(1));
        finished += u64::from(settle_within(patience, execution).is_some());
        let outcome = session.cell("n");
        let context = format!("round {round}, seed {}", random.seed());
        assert!(outcome.ok, "{context}: {outcome:#?}");
        let n: u64 = outcome.value.as_ref().unwrap().parse().unwrap();
        assert!(
            n >= finished && n <= round,
            "{context}: {n} of {finished} counted"
        );
    }
}

/// Closing stops the running cell, and what waits never runs.
#[test]
fn closing_while_a_cell_runs_settles_everything() {
    let turn = turn();
    let session = turn.python();
    let other = turn.python();
    other.cell("keep = 41").succeeded();
    let (cell, mut events) =
        Cell::from("print('runs', flush=True)\nwhile True: pass").with_events(4);
    let running = session.start(cell);
    let waiting = session.start("1");
    settle(events.next()).expect("it runs");
    let (took, ()) = timed(|| settle(session.close()));
    assert!(took < PROMPT, "{took:?}");
    settle(running)
        .printed("runs\n")
        .failed(FailureKind::Cancelled);
    settle(waiting).failed(FailureKind::Cancelled);
    let problem = session.run("1".into()).expect_err("the session is closed");
    assert_eq!(problem.to_string(), "the session is closed");
    let outcome = settle(warmcell::CodeRuntime::execute(&*session, "1"));
    outcome.failed_leaving(FailureKind::Unavailable, SessionState::Lost);
    settle(session.close());
    other.cell("keep + 1").returned(json!(42));
}

/// The host has its answer even when nothing can stop the cell; what comes after says why it cannot be served.
#[test]
fn a_wedged_interpreter_gives_every_host_its_answer() {
    let ended = in_own_process!(|| {
        let turn = turn();
        let (session, bystander) = (turn.python(), turn.python());
        session.cell("keep = 1").succeeded();
        bystander.cell("keep = 1").succeeded();
        let stuck = Cell::from("print('started')\nsum(range(10**13))").with_timeout(ms(300));
        let running = session.start(stuck);
        let waiting = session.start("keep");
        let beside = bystander.start("keep");
        let (took, outcome) = timed(|| settle(running));
        assert!(took < ms(300) + AT_LAST, "{took:?}");
        outcome
            .printed("started\n")
            .failed_leaving(FailureKind::Timeout, SessionState::Lost);
        let notice = outcome.notice.as_deref().expect("a notice");
        assert!(notice.contains("could not be stopped"), "{notice}");
        each(
            [
                settle(waiting),
                settle(beside),
                session.cell("1"),
                bystander.cell("1"),
            ],
            |outcome| {
                let error = outcome.failed_leaving(FailureKind::Unavailable, SessionState::Lost);
                assert!(error.message.contains("stuck"), "{outcome:#?}");
            },
        );
        let problem = settle(Session::builder(Language::Python).open()).expect_err("no session");
        assert!(problem.to_string().contains("stuck"), "{problem}");
        println!("leaving");
    });
    if let Some(ended) = ended {
        assert!(ended.after("leaving") < Duration::from_secs(1));
    }
}

fn line(text: &str) -> Event {
    Event::Output {
        stream: Stream::Stdout,
        text: text.to_owned(),
    }
}
