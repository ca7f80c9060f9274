//! Sessions that share the interpreter, and what one of them does to what they share.

use serde_json::json;
use warmcell::{FailureKind, Json, Language, Limits, Session};

use crate::support::{Cells, Judge, Opened, each, in_own_process, ms, settle, timed, turn};

fn bind(session: &Opened<'_>, name: &str, value: &str) -> Result<(), warmcell::RuntimeError> {
    settle(session.bind(name, Json::new(value).unwrap()))
}

/// A finaliser that never ends, or a key that compares for ever, is code of the program's wherever it runs.
#[test]
fn binding_a_name_ends_in_time_whatever_stood_there() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "class Undying:\n    def __del__(self):\n        while True: pass\n\
             class Key(str):\n    def __hash__(self): return hash('key')\n    def __eq__(self, other):\n        while True: pass\n\
             held = Undying()\nglobals()[Key('key')] = 3\nkeep = 41",
        )
        .succeeded();
    for name in ["held", "key"] {
        let (took, _) = timed(|| bind(&session, name, "1"));
        assert!(took < ms(6_000), "{took:?} for {name}");
        session.cell("keep + 1").returned(json!(42));
    }
}

#[test]
fn only_names_that_code_can_read_are_bound() {
    let turn = turn();
    let session = turn.python();
    for name in [
        "",
        "a b",
        "1x",
        "class",
        "__builtins__",
        "__debug__",
        "a.b",
        "\u{e9}\u{0}",
    ] {
        assert!(bind(&session, name, "1").is_err(), "{name:?}");
    }
    // As Python itself reads the name: the ligature is two letters.
    bind(&session, "\u{fb01}rst", "[1]").unwrap();
    session.cell("first").returned(json!([1]));
}

/// A package whose import was stopped half-way is imported well the next time.
#[test]
fn a_stopped_import_can_be_done_again() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        for timeout in [5, 15, 25, 35, 50, 70, 90, 120, 150] {
            session.cell_within(ms(timeout), "import asyncio");
            session.cell_within(
                ms(timeout),
                "import xml.dom.minidom, email.mime.text, concurrent.futures",
            );
        }
        session
            .cell("import asyncio, xml.dom.minidom, email.mime.text, concurrent.futures\nreturn await asyncio.sleep(0, 5)")
            .returned(json!(5));
        session
            .cell("async def main(): return 7\nasyncio.run(main()) if False else await main()")
            .returned(json!(7));
    });
}

/// The loop's own start is not the cell's to lose.
#[test]
fn a_deadline_while_the_loop_is_made_leaves_a_whole_loop() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session.cell_within(ms(20), "await None");
        session
            .cell("import asyncio\nreturn await asyncio.sleep(0, 5)")
            .returned(json!(5));
    });
}

/// One session has used up what they share: another one's cell that frees memory can still be compiled and run.
#[test]
fn memory_can_be_freed_when_another_session_has_used_it_up() {
    in_own_process!(|| {
        let turn = turn();
        let limits = Limits::default().with_memory_mb(64);
        let small = turn.open(Session::builder(Language::Python).limits(limits));
        let large = turn.python();
        small
            .cell("held = []\ntry:\n    while True: held.append(bytearray(1000))\nexcept MemoryError: pass")
            .succeeded();
        large.cell("held = bytearray(10**8)").succeeded();
        small.cell("1 + 1").returned(json!(2));
        small
            .cell("more = bytearray(10**7)")
            .failed(FailureKind::Memory);
        let long: String = (0..40_000).map(|n| format!("x{n} = {n}\n")).collect();
        small.cell(&long).failed(FailureKind::Memory);
        small.cell("del held").succeeded();
        large.cell("del held").succeeded();
        small.cell("more = bytearray(10**7)").succeeded();
    });
}

/// The parser's own limit is no want of memory.
#[test]
fn source_that_is_nested_too_deeply_says_so() {
    let turn = turn();
    let session = turn.python();
    for code in [
        format!("{}1", "-".repeat(100_000)),
        "lambda:".repeat(3_000) + "1",
    ] {
        let outcome = session.cell(&code);
        let error = outcome.failed(FailureKind::Syntax);
        assert!(error.message.contains("nested too deeply"), "{error:?}");
    }
}

#[test]
fn what_one_session_does_to_the_process_stays_with_it() {
    let turn = turn();
    let one = turn.python();
    let other = turn.open(Session::builder(Language::Python).env("OTHERS", "own"));
    other.cell("import os, sys, subprocess").succeeded();
    each(
        [
            (
                "import sys\nsys.settrace(lambda *a: 1/0)",
                "1 + 1",
                json!(2),
            ),
            (
                "sys.setprofile(print)",
                "sys.getprofile() is None",
                json!(true),
            ),
            (
                "import os\nos.environ = {'HACKED': '1'}",
                "[os.environ['OTHERS'], 'HACKED' in os.environ]",
                json!(["own", false]),
            ),
            (
                "os.putenv('RAW', '1')",
                "subprocess.run(['sh', '-c', 'echo \"[$RAW]\"'], capture_output=True, text=True).stdout",
                json!("[]\n"),
            ),
            ("import builtins\ndel builtins.str", "1 + 1", json!(2)),
            ("builtins.len = None", "'x'.upper()", json!("X")),
        ],
        |(harm, code, wanted)| {
            one.cell(harm);
            other.cell(code).returned(wanted).printed("");
            one.reset_now();
            one.cell("import os, sys, builtins").succeeded();
        },
    );
}

/// Asking for input ends the cell also where the program only shows something.
#[test]
fn a_repr_that_asks_for_input_ends_its_cell() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("class Asks:\n    def __repr__(self): return input('who? ')")
        .succeeded();
    session.cell("Asks()").failed(FailureKind::Stdin);
}
