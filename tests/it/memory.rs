//! The memory budget: what is over it raises MemoryError, the cell says so, and the session goes on.

use serde_json::json;
use warmcell::{FailureKind, Language, Limits, Session};

use crate::support::{Cells, Judge, Opened, Turn, each, in_own_process, ms, turn};

const BUDGET_MB: u64 = 192;

fn open(turn: &Turn) -> Opened<'_> {
    let limits = Limits::default()
        .with_memory_mb(BUDGET_MB)
        .with_timeout(ms(20_000));
    turn.open(Session::builder(Language::Python).limits(limits))
}

/// However the memory is asked for: at once, bit by bit, by growing, by copying.
#[test]
fn every_way_to_use_up_memory_ends_in_a_memory_error() {
    in_own_process!(|| {
        let turn = turn();
        let session = open(&turn);
        session.cell("keep = 41").succeeded();
        each(
            [
                "x = [0] * 10**10",
                "x = 'x' * 10**10",
                "x = bytearray(10**10)",
                "x = bytes(10**10)",
                "x = []\nwhile True: x.append('a' * 1_000_000)",
                "x = []\nwhile True: x.append('x' * 1000)",
                "x = []\nwhile True: x.append([])",
                "x = {}\ni = 0\nwhile True:\n    x[i] = i\n    i += 1",
                "x = set()\ni = 0\nwhile True:\n    x.add(i)\n    i += 1",
                "x = 'x'\nwhile True: x += x",
                "x = b'x'\nwhile True: x = x + x",
                "import itertools; x = list(itertools.count())",
                "x = tuple(range(10**9))",
                "x = None\nwhile True: x = (x, x)",
                "x = [[]]\nwhile True: x = x + x",
                "import collections\nx = collections.deque()\nwhile True: x.append('y' * 10_000)",
                "class Node:\n    def __init__(self, last): self.last = last\nx = None\nwhile True: x = Node(x)",
                "x = 1\nwhile True: x = x << 10_000_000",
                "x = []\nawait __import__('asyncio').sleep(0)\nwhile True: x.append('a' * 1_000_000)",
                "def f():\n    x = []\n    while True: x.append('a' * 1_000_000)\nf()",
                "return list(range(10**9))",
            ],
            |code| {
                let outcome = session.cell(code);
                let error = outcome.failed(FailureKind::Memory);
                assert_eq!(
                    error.name.as_deref(),
                    Some("MemoryError"),
                    "{code}: {outcome:#?}"
                );
                // Whatever is left, a cell that frees it can be compiled and run.
                session.cell("x = None").returned_nothing();
                session.cell("keep + 1").returned(json!(42));
            },
        );
        let peak = peak_mb();
        assert!(peak < 2 * BUDGET_MB + 200, "the process took {peak} MiB");
    });
}

/// After the error the list that used everything up is still bound and can be let go: monty, resource limits.
#[test]
fn what_used_the_memory_up_can_be_let_go() {
    in_own_process!(|| {
        let turn = turn();
        let session = open(&turn);
        session.cell("other = {'n': 41}").succeeded();
        for _ in 0..5 {
            session
                .cell("a = []\nwhile True: a.append('x' * 1000)")
                .failed(FailureKind::Memory);
            session
                .cell("print(other['n'] + 1)")
                .printed("42\n")
                .succeeded();
            session.cell("len(a) > 1000").returned(json!(true));
            session.cell("del a").returned_nothing();
            session
                .cell("b = 'x' * 100_000_000; len(b)")
                .returned(json!(100_000_000));
            session.cell("del b").succeeded();
        }
    });
}

/// A cell may catch the error itself.
#[test]
fn a_memory_error_can_be_caught() {
    in_own_process!(|| {
        let turn = turn();
        let session = open(&turn);
        session
            .cell(
                "rows = []\ntry:\n    while True: rows.append('x' * 100_000)\nexcept MemoryError:\n    n = len(rows)\n    rows.clear()\n    print('caught')\nreturn n > 100",
            )
            .printed("caught\n")
            .returned(json!(true));
        // One that is raised by the program without any need is a MemoryError too.
        let outcome = session.cell("raise MemoryError('mine')");
        assert_eq!(
            outcome
                .error
                .as_ref()
                .and_then(|error| error.name.as_deref()),
            Some("MemoryError")
        );
        session.cell("1").returned(json!(1));
    });
}

/// The budget is what the session's limits say; within it nothing is refused.
#[test]
fn what_fits_the_budget_is_granted() {
    in_own_process!(|| {
        let turn = turn();
        let session = open(&turn);
        let most = (BUDGET_MB - 40) << 20;
        for _ in 0..10 {
            session
                .cell(&format!("x = bytearray({most}); len(x)"))
                .returned(json!(most));
            session.cell("x = None").succeeded();
        }
        session
            .cell(&format!("x = bytearray({})", (BUDGET_MB + 40) << 20))
            .failed(FailureKind::Memory);
    });
}

/// Memory of a session that is reset or closed comes back.
#[test]
fn memory_comes_back_after_reset_and_close() {
    in_own_process!(|| {
        let turn = turn();
        let session = open(&turn);
        for _ in 0..5 {
            session
                .cell("x = [bytearray(1 << 20) for _ in range(130)]; len(x)")
                .returned(json!(130));
            session.reset_now();
        }
        drop(session);
        for _ in 0..5 {
            let session = open(&turn);
            session
                .cell("x = [bytearray(1 << 20) for _ in range(130)]; len(x)")
                .returned(json!(130));
        }
    });
}

/// Endless output does not become memory of the host.
#[test]
fn endless_output_takes_bounded_memory() {
    in_own_process!(|| {
        let turn = turn();
        let limits = Limits::default().with_output_bytes(64 << 10);
        let session = turn.open(Session::builder(Language::Python).limits(limits));
        let before = peak_mb();
        let outcome = session.cell_within(
            ms(1500),
            "while True: print('some text that goes on and on')",
        );
        outcome.failed(FailureKind::Timeout);
        let cut = outcome.truncated.stdout.as_ref().expect("cut");
        assert!(cut.bytes > 1 << 20, "only {} bytes", cut.bytes);
        // The last line may lack its end: a print is two writes.
        assert!([0, 29].contains(&(cut.bytes - cut.lines * 30)), "{cut:?}");
        let after = peak_mb();
        assert!(after < before + 16, "from {before} to {after} MiB");
    });
}

/// The most that this process ever had in memory.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes / 1024
}
