//! What broke in comparable projects, each as the public report of it describes, with the behaviour that is right here.
//!
//! Reports that other modules hold to: output ([`crate::output`]), memory ([`crate::memory`]), the host's process
//! ([`crate::host`]), environments ([`crate::reset`], [`crate::venvs`]), deadlines at random moments ([`crate::stopping`]).

use serde_json::json;
use warmcell::{FailureKind, Language, Limits, Session};

use crate::support::{Cells, Judge, Random, each, in_own_process, ms, settle, timed, turn};

/// A worker that was timed out went on changing later state: huggingface/smolagents#2199.
#[test]
fn a_stopped_cell_changes_nothing_afterwards() {
    let turn = turn();
    let session = turn.python();
    session.cell("import time\nd = []").succeeded();
    session
        .cell_within(ms(300), "while True: d.append(1)")
        .failed(FailureKind::Timeout);
    session
        .cell("before = len(d); time.sleep(0.5); [before > 0, len(d) == before]")
        .returned(json!([true, true]));
    session.cell("len(d) == before").returned(json!(true));
}

/// The same for a cell that was stopped while it awaited, whenever that was: its task does not go on in later cells.
#[test]
fn a_stopped_await_does_not_go_on_in_later_cells() {
    let turn = turn();
    let session = turn.python();
    session.cell("import asyncio\nn = 0").succeeded();
    for _ in 0..50 {
        session
            .cell_within(ms(4), "while True:\n    n += 1\n    await asyncio.sleep(0)")
            .failed(FailureKind::Timeout);
        session
            .cell("before = n\nfor _ in range(5): await asyncio.sleep(0)\nn == before")
            .returned(json!(true));
    }
}

/// The same for a cell that was stopped when its task was made and had not begun, which here the program brings about.
#[test]
fn a_task_that_has_not_begun_does_not_begin_in_later_cells() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import asyncio\nn = 0\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()")
        .succeeded();
    let stops = "def once(coroutine):\n    del loop.create_task\n    loop.create_task(coroutine)\n    raise RuntimeError('stopped')\nloop.create_task = once";
    session.cell(stops).succeeded();
    session
        .cell("n += 1\nawait asyncio.sleep(0)")
        .raised("RuntimeError");
    session
        .cell("for _ in range(5): await asyncio.sleep(0)\nreturn n")
        .returned(json!(0));
    session
        .cell("n += 1\nawait asyncio.sleep(0)\nreturn n")
        .returned(json!(1));
}

/// `except:` ate the interrupt: spyder-ide/spyder#26312.
#[test]
fn a_cell_that_catches_everything_is_stopped() {
    let turn = turn();
    let session = turn.python();
    session.cell("keep = 41").succeeded();
    each(
        [
            "while True:\n try:\n  while True: pass\n except BaseException: pass",
            "while True:\n try:\n  while True:\n   pass\n except:\n  pass",
            "import time\nwhile True:\n try:\n  time.sleep(100)\n except BaseException:\n  pass",
        ],
        |code| {
            let (took, outcome) = timed(|| session.cell_within(ms(300), code));
            outcome.failed(FailureKind::Timeout);
            assert!(took < ms(1800), "{took:?} for {code}");
            session.cell("keep + 1").returned(json!(42));
        },
    );
}

/// `input()` could not be interrupted, and the cell did not work a second time: jupyterlab/jupyterlab#6196.
#[test]
fn a_cell_that_asks_for_input_ends_at_once_and_every_time() {
    let turn = turn();
    let session = turn.python();
    each(
        [
            "x = input()",
            "x = input('name? ')",
            "import sys\nx = sys.stdin.readline()",
            "import sys\nx = sys.stdin.read()",
            "import sys\nx = list(sys.stdin)",
            "import sys\nx = sys.stdin.buffer.read(1)",
        ],
        |ask| {
            for _ in 0..2 {
                let (took, outcome) = timed(|| session.cell(ask));
                outcome.failed(FailureKind::Stdin);
                assert!(took < ms(500), "{took:?} for {ask}");
                session.cell("'x' in globals()").returned(json!(false));
            }
        },
    );
}

/// The budget counted from the start of the session, and then for ever: pydantic/monty#483.
#[test]
fn every_cell_has_the_whole_timeout() {
    let turn = turn();
    let limits = Limits::default().with_timeout(ms(500));
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    session.cell("import time").succeeded();
    for _ in 0..5 {
        session.cell("time.sleep(0.25)").returned_nothing();
    }
    session.cell("print('hi')").printed("hi\n").succeeded();
    // Not even the time that a cell waits behind another counts.
    let first = session.start("time.sleep(0.4)");
    let second = session.start("time.sleep(0.3); 'second'");
    settle(first).succeeded();
    settle(second).returned(json!("second"));
}

/// What a failed cell had bound was lost, or what it had not reached was there: openai/codex#13482.
#[test]
fn a_failed_cell_keeps_what_it_had_bound() {
    let turn = turn();
    let session = turn.python();
    session.cell("earlier = 'e'").succeeded();
    session
        .cell("a = 1\n1/0\nb = 2")
        .raised("ZeroDivisionError");
    session
        .cell("[earlier, a, 'b' in globals()]")
        .returned(json!(["e", 1, false]));
}

/// Cells ran with locals of their own: recursion and comprehensions raised NameError. langchain-ai/langchain#5035.
#[test]
fn functions_and_comprehensions_see_the_cells_names() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("def f(n): return 1 if n < 2 else n * f(n - 1)\nf(5)")
        .returned(json!(120));
    session
        .cell("b = 2\n[x * b for x in (1, 2)]")
        .returned(json!([2, 4]));
    session
        .cell("def g():\n    return [f(i) * b for i in range(4)]\nreturn g()")
        .returned(json!([2, 2, 4, 12]));
}

/// The namespace was no module: dataclasses, type hints and pickles failed. Physical-Intelligence/openpi#596,
/// python/cpython#120857.
#[test]
fn every_session_has_a_main_module_of_its_own() {
    let turn = turn();
    let (one, other) = (turn.python(), turn.python());
    one.cell(
        "from __future__ import annotations\nimport dataclasses, pickle, sys, typing\n\
         @dataclasses.dataclass\nclass P:\n    x: int\n    peer: P | None = None",
    )
    .succeeded();
    other
        .cell("import pickle, sys\nclass P:\n    def __init__(self): self.who = 'other'")
        .succeeded();
    one.cell(
        "copy = pickle.loads(pickle.dumps(P(1, P(2))))\n\
         [copy == P(1, P(2)), typing.get_type_hints(P)['x'].__name__, P.__module__, sys.modules['__main__'].P is P]",
    )
    .returned(json!([true, "int", "__main__", true]));
    other
        .cell(
            "[pickle.loads(pickle.dumps(P())).who, sys.modules['__main__'].__dict__ is globals()]",
        )
        .returned(json!(["other", true]));
    one.cell("pickle.loads(pickle.dumps(P(3))).x")
        .returned(json!(3));
}

/// Tracebacks lacked the source lines of earlier cells: python/cpython#110805.
#[test]
fn a_traceback_shows_the_lines_of_every_cell_it_passes() {
    let turn = turn();
    let (session, other) = (turn.python(), turn.python());
    session
        .cell("# divides\ndef f(a):\n    return a / 0")
        .succeeded();
    other
        .cell("# another first cell\n\ndef f(a):\n    return a / 'text'")
        .succeeded();
    let outcome = session.cell("x = 1\nf(x) + 1");
    let error = outcome.raised("ZeroDivisionError");
    assert_eq!(
        (error.line, error.message.as_str()),
        (Some(2), "division by zero")
    );
    let traceback = error.traceback.as_deref().unwrap();
    let lines: Vec<&str> = traceback.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 8, "{traceback}");
    assert_eq!(lines[0], "Traceback (most recent call last):");
    assert!(
        lines[1].contains("<cell 2>") && lines[1].ends_with(", line 2, in <module>"),
        "{traceback}"
    );
    assert_eq!((lines[2], lines[3]), ("f(x) + 1", "^^^^"));
    assert!(
        lines[4].contains("<cell 1>") && lines[4].ends_with(", line 3, in f"),
        "{traceback}"
    );
    assert_eq!((lines[5], lines[6]), ("return a / 0", "~~^~~"));
    assert_eq!(lines[7], "ZeroDivisionError: division by zero");

    let outcome = other.cell("f(1)");
    let traceback = outcome.raised("TypeError").traceback.as_deref().unwrap();
    assert!(traceback.contains("return a / 'text'"), "{traceback}");
    assert!(!traceback.contains("a / 0"), "{traceback}");
}

/// A loop for every call broke clients bound to an earlier one: indexable-inc/index#311.
#[test]
fn the_event_loop_lives_as_long_as_its_session() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import asyncio\nqueue = asyncio.Queue()\n\
             async def work():\n    return await queue.get()\n\
             task = asyncio.create_task(work())\nawait asyncio.sleep(0)",
        )
        .succeeded();
    session.cell("await queue.put('through')").succeeded();
    session.cell("await task").returned(json!("through"));
    session
        .cell("async def main():\n    await asyncio.sleep(0)\n    return 5\nasyncio.run(main())")
        .returned(json!(5));
    session
        .cell("[await main(), queue.empty()]")
        .returned(json!([5, true]));
}

/// Finalizers and `__repr__` ran outside the budget: huggingface/smolagents#2395.
#[test]
fn code_that_the_runtime_calls_is_held_to_the_deadline() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "keep = 41\n\
             class Undying:\n    def __del__(self):\n        while True: pass\n\
             class Unshowable:\n    def __repr__(self):\n        while True: pass\n\
             class Unspeakable(Exception):\n    def __str__(self):\n        while True: pass\n\
             x = Undying()",
        )
        .succeeded();
    for code in ["del x", "Unshowable()", "raise Unspeakable()"] {
        let (took, outcome) = timed(|| session.cell_within(ms(300), code));
        outcome.failed(FailureKind::Timeout);
        assert!(took < ms(1800), "{took:?} for {code}");
        session.cell("keep + 1").returned(json!(42));
    }
}

/// Recursion through C code overflowed a small stack: python/cpython#148443.
#[test]
fn recursion_through_c_code_is_an_exception() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import functools, json, re, copy, pickle\nkeep = 41")
            .succeeded();
        each(
            [
                "@functools.cache\ndef f(n): return f(n + 1)\nf(0)",
                "def key(n): return sorted([1, 2], key=key)\nsorted([1, 2], key=key)",
                "def swap(m): return re.sub('a', swap, 'a')\nre.sub('a', swap, 'a')",
                "deep = []\nfor _ in range(100_000): deep = [deep]\njson.dumps(deep)",
                "class R:\n    def __repr__(self): return repr([self])\nrepr(R())",
                "class G:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nG().a",
                "class A:\n    def __add__(self, other): return sum([self], self)\nA() + 1",
                "class I:\n    def __iter__(self): return iter(list(self))\nlist(I())",
                "class N:\n    def __instancecheck__(self, other): return isinstance(other, N())\nisinstance(1, N())",
                "def m(n): return list(map(m, [n]))\nm(0)",
                "p = functools.partial(lambda f: f(f))\np(p)",
                "copy.deepcopy(deep)",
            ],
            |code| {
                session.cell(code).raised("RecursionError");
                session.cell("keep + 1").returned(json!(42));
            },
        );
        // Objects that nest deeply are also torn down without the stack.
        session.cell("del deep; keep + 1").returned(json!(42));
        let mut source = "1".to_owned();
        for _ in 0..300 {
            source = format!("({source})");
        }
        session.cell(&source).failed(FailureKind::Syntax);
    });
}

/// SystemExit ended the process that embeds: python/cpython#152132.
#[test]
fn asking_to_exit_ends_the_cell_alone() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import sys, asyncio, threading, atexit\nn = 5")
            .succeeded();
        each(
            [
                ("sys.exit(3)", "3"),
                ("sys.exit()", "0"),
                ("sys.exit('no data')", "no data"),
                ("raise SystemExit", "0"),
                ("raise SystemExit(7)", "7"),
                ("exit()", "0"),
                ("quit(2)", "2"),
                ("await asyncio.sleep(0)\nsys.exit(4)", "4"),
                ("def f(): sys.exit(6)\nf()", "6"),
            ],
            |(code, status)| {
                let outcome = session.cell(code);
                let error = outcome.failed(FailureKind::Exit);
                assert!(error.message.contains(status), "{code}: {outcome:#?}");
                session.cell("n").returned(json!(5));
            },
        );
        // What would be called when Python ends never is, since it never ends; it must not hold the host up either.
        session
            .cell("atexit.register(lambda: __import__('time').sleep(1000)); n")
            .returned(json!(5));
        // In a thread it ends the thread.
        session
            .cell("t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join(); n")
            .returned(json!(5));
        session
            .cell("print('alive')")
            .printed("alive\n")
            .succeeded();
    });
}

/// A timeout landed after what it was meant for: python/cpython#139622.
///
/// Each of the report's 10,000 repeats ends within two milliseconds of its deadline, before or after.
#[test]
fn a_cell_that_ends_at_its_deadline_disturbs_nobody() {
    const REPEATS: u64 = 10_000;
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import time\ndef until(end):\n    while time.perf_counter() < end:\n        pass\nruns = 0",
        )
        .succeeded();
    let mut random = Random::new();
    let mut stopped = 0;
    for repeat in 1..=REPEATS {
        let length = random.between(ms(2), ms(3));
        let timeout = random.between(ms(1), length + ms(2));
        let code = format!("until(time.perf_counter() + {})", length.as_secs_f64());
        let outcome = session.cell_within(timeout, &code);
        if !outcome.ok {
            outcome.failed(FailureKind::Timeout);
            stopped += 1;
        }
        let next = session.cell("runs += 1\n[1 + 1, runs]");
        assert!(
            next.ok,
            "repeat {repeat}, seed {}: {next:#?}",
            random.seed()
        );
        next.returned(json!([2, repeat]));
    }
    println!(
        "{stopped} of {REPEATS} cells were stopped, seed {}",
        random.seed()
    );
    assert!(
        stopped > REPEATS / 20 && stopped < REPEATS * 19 / 20,
        "{stopped} of {REPEATS} were stopped"
    );
}
