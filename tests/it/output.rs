//! What cells print: exact, in whose name, within budgets whose counts are exact, and live for those who watch.

use std::time::Duration;

use serde_json::{Value, json};
use warmcell::{Background, Cell, Event, Events, FailureKind, Language, Limits, Session, Stream};

use crate::support::{
    Cells, Judge, Opened, Turn, check_cut, in_own_process, ms, settle, timed, turn,
};

fn with_output(turn: &Turn, bytes: usize) -> Opened<'_> {
    let limits = Limits::default().with_output_bytes(bytes);
    turn.open(Session::builder(Language::Python).limits(limits))
}

/// The standard streams have the whole surface of text streams.
#[test]
fn the_streams_are_text_streams() {
    let turn = turn();
    let session = turn.python();
    for stream in ["stdout", "stderr"] {
        let outcome = session.cell(&format!(
            "import io, sys\nout = sys.{stream}\n\
             answers = [out.write('é\\n'), out.writelines(['a', 'b\\n']), out.flush(), out.isatty(), out.readable(), out.writable(), out.seekable(),\n\
             out.closed, out.encoding.lower(), out.errors, out.name, out.mode, out.newlines, isinstance(out, io.TextIOBase),\n\
             out.buffer.write(b'bytes\\n'), out.buffer.writable(), out.buffer.flush(), out.reconfigure(line_buffering=True)]\n\
             for refused in ('fileno', 'read', 'readline', 'seek', 'tell', 'truncate', 'detach'):\n\
             \x20   try: getattr(out, refused)(*([0] if refused == 'seek' else []))\n\
             \x20   except io.UnsupportedOperation: answers.append(refused)\n\
             try: out.write(b'not text')\n\
             except TypeError: answers.append('TypeError')\n\
             with out as same: print('in with', file=same)\n\
             print('still open', file=out, flush=True)\n\
             return answers"
        ));
        let errors = if stream == "stdout" {
            "strict"
        } else {
            "backslashreplace"
        };
        outcome.succeeded();
        let answers: Vec<Value> = outcome.value.as_ref().unwrap().parse().unwrap();
        assert_eq!(
            answers[..9],
            [
                json!(2),
                json!(null),
                json!(null),
                json!(false),
                json!(false),
                json!(true),
                json!(false),
                json!(false),
                json!("utf-8")
            ],
            "{stream}"
        );
        assert!(
            answers[9] == errors || answers[9] == "backslashreplace",
            "{stream}: {answers:?}"
        );
        assert_eq!(answers[10], format!("<{stream}>"));
        assert_eq!(
            answers[13..18],
            [json!(true), json!(6), json!(true), json!(null), json!(null)],
            "{stream}"
        );
        assert_eq!(
            answers[18..],
            [
                "fileno",
                "read",
                "readline",
                "seek",
                "tell",
                "truncate",
                "detach",
                "TypeError"
            ]
            .map(|name| json!(name)),
            "{stream}"
        );
        let text = if stream == "stdout" {
            &outcome.stdout
        } else {
            &outcome.stderr
        };
        assert_eq!(text, "é\nab\nbytes\nin with\nstill open\n", "{stream}");
    }
}

/// What a program does with the streams' names is its own affair, and undone or not, `print` works.
#[test]
fn streams_can_be_redirected() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as caught:\n    print('caught')\nprint('through')\ncaught.getvalue()")
        .printed("through\n")
        .returned(json!("caught\n"));
    session
        .cell(
            "import sys\nsys.__stdout__.write('by the original\\n')\nsys.__stderr__.write('e\\n');",
        )
        .printed("by the original\n")
        .succeeded();
}

#[test]
fn text_that_is_not_unicode_is_replaced() {
    let turn = turn();
    let session = turn.python();
    let outcome = session.cell(
        "import sys\nsys.stdout.buffer.write(b'a\\xff\\xc3');sys.stdout.buffer.write(b'\\xa9\\n');",
    );
    outcome.printed("a\u{fffd}é\n").succeeded();
    session
        .cell("print('a\\udc80b')")
        .printed("a\\udc80b\n")
        .succeeded();
    session
        .cell("print('nul \\0 and \\x1b[31mred')")
        .printed("nul \0 and \x1b[31mred\n")
        .succeeded();
}

/// Five megabytes through a budget of one: head, tail, and what is missing, to the byte. openai/codex#35421.
#[test]
fn a_cut_is_counted_exactly() {
    let turn = turn();
    let session = with_output(&turn, 1_000_000);
    let outcome = session.cell("import sys\nfor i in range(250_000):\n    print(f'line {i:06} of text')\n    if i % 2: print('e', i, file=sys.stderr)");
    outcome.succeeded();
    let stdout: String = (0..250_000)
        .map(|i| format!("line {i:06} of text\n"))
        .collect();
    let stderr: String = (0..250_000)
        .filter(|i| i % 2 == 1)
        .map(|i| format!("e {i}\n"))
        .collect();
    assert_eq!(stdout.len(), 5_000_000);
    check_cut(
        &stdout,
        &outcome.stdout,
        outcome.truncated.stdout.as_ref(),
        1_000_000,
    );
    check_cut(
        &stderr,
        &outcome.stderr,
        outcome.truncated.stderr.as_ref(),
        1_000_000,
    );
    assert_eq!(outcome.truncated.background_stdout, None);
    // The next cell has the whole budget.
    session.cell("print('x')").printed("x\n").succeeded();
}

/// Endless printing froze everything; one huge text used up all memory: jupyter/notebook#2364.
#[test]
fn endless_printing_is_stopped_and_counted() {
    let turn = turn();
    let session = with_output(&turn, 10_000);
    let (took, outcome) = timed(|| session.cell_within(ms(300), "while True: print(1)"));
    outcome.failed(FailureKind::Timeout);
    assert!(took < ms(800), "{took:?}");
    let cut = outcome.truncated.stdout.as_ref().expect("cut");
    // The last line may have been stopped between its text and its end.
    assert!(cut.bytes / 2 == cut.lines, "{cut:?}");
    let whole = "1\n".repeat(cut.lines as usize) + if cut.bytes % 2 == 1 { "1" } else { "" };
    check_cut(&whole, &outcome.stdout, Some(cut), 10_000);
    session.cell("print('fine')").printed("fine\n").succeeded();
}

#[test]
fn a_gigabyte_in_one_print_is_bounded() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        let outcome = session.cell("print('x' * 10**9)");
        outcome.succeeded();
        let cut = outcome.truncated.stdout.as_ref().expect("cut");
        assert_eq!((cut.bytes, cut.lines), (1_000_000_001, 1));
        assert!(outcome.stdout.len() <= 1 << 20);
        assert!(outcome.stdout.starts_with("xxx") && outcome.stdout.ends_with("xxx\n"));
    });
}

/// What a thread prints after its cell is nobody else's: ipython/ipykernel#1186.
#[test]
fn threads_that_print_late_speak_in_the_background() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import sys, threading, time\ngo = threading.Event()\ndef late():\n    print('in time', flush=True)\n    started.set()\n    go.wait()\n    print('late')\n    print('late error', file=sys.stderr)\n\
             started = threading.Event()\nthread = threading.Thread(target=late); thread.start()\nstarted.wait();",
        )
        .printed("in time\n")
        .succeeded();
    let outcome = session.cell("print('mine')\ngo.set(); thread.join()\nprint('mine too')");
    outcome.printed("mine\nmine too\n").succeeded();
    assert_eq!(outcome.stderr, "");
    assert_eq!(
        (
            outcome.background.stdout.as_str(),
            outcome.background.stderr.as_str()
        ),
        ("late\n", "late error\n")
    );
    let outcome = session.cell("print('after')");
    outcome.printed("after\n").succeeded();
    assert_eq!(outcome.background, Background::default(), "delivered once");
}

/// Text printed between two cells is in the next outcome, and not in another session's.
#[test]
fn late_output_belongs_to_its_session() {
    let turn = turn();
    let (one, other) = (turn.python(), turn.python());
    one.cell(
        "import threading\ngo, done = threading.Event(), threading.Event()\n\
         def late():\n    go.wait()\n    for i in range(100): print('late', i)\n    done.set()\n\
         threading.Thread(target=late).start()",
    )
    .succeeded();
    // The other session's cell lets the first one's thread go on, and waits for it.
    other
        .cell("import threading\nlate = [t for t in threading.enumerate() if getattr(t, '_target', None) and t._target.__name__ == 'late'][0]\nlate._target.__globals__['go'].set()\nlate._target.__globals__['done'].wait(5)\nprint('mine')")
        .printed("mine\n")
        .succeeded();
    let outcome = other.cell("1");
    assert_eq!(outcome.background, Background::default());
    let outcome = one.cell("print('own')");
    outcome.printed("own\n").succeeded();
    let late: String = (0..100).map(|i| format!("late {i}\n")).collect();
    assert_eq!(outcome.background.stdout, late);
}

/// Tasks and timers of earlier cells speak in the background too, also while another cell of theirs prints.
#[test]
fn tasks_that_print_late_speak_in_the_background() {
    let turn = turn();
    let session = turn.python();
    session
        .cell(
            "import asyncio\nasync def work():\n    print('task starts')\n    await go.wait()\n    print('task late')\n\
             go = asyncio.Event()\ntask = asyncio.create_task(work())\nawait asyncio.sleep(0)\nprint('cell')\n\
             asyncio.get_running_loop().call_later(0.01, print, 'timer late');",
        )
        .printed("task starts\ncell\n")
        .succeeded();
    let outcome = session
        .cell("print('before')\ngo.set()\nawait task\nawait asyncio.sleep(0.05)\nprint('after')");
    outcome.printed("before\nafter\n").succeeded();
    let mut late: Vec<&str> = outcome.background.stdout.lines().collect();
    late.sort_unstable();
    assert_eq!(late, ["task late", "timer late"], "{outcome:#?}");
    // A task that this cell starts is this cell's.
    session
        .cell("async def now():\n    print('now')\nawait asyncio.create_task(now())\nawait asyncio.gather(now(), now())")
        .printed("now\nnow\nnow\n")
        .succeeded();
}

/// Handlers that one cell made speak in the cell that uses them.
#[test]
fn logging_and_warnings_speak_in_the_cell_that_uses_them() {
    let turn = turn();
    let session = turn.python();
    session
        .cell("import logging, sys, warnings\nlog = logging.getLogger('case')\nhandler = logging.StreamHandler()\nhandler.setFormatter(logging.Formatter('%(levelname)s %(message)s'))\nlog.addHandler(handler); log.propagate = False\nout = logging.StreamHandler(sys.stdout); other = logging.getLogger('other'); other.addHandler(out); other.propagate = False\nsaved = print")
        .succeeded();
    for cell in 1..4 {
        let outcome = session.cell(&format!(
            "log.warning('in {cell}'); other.error('out {cell}'); saved('saved {cell}')"
        ));
        outcome
            .printed(&format!("out {cell}\nsaved {cell}\n"))
            .succeeded();
        assert_eq!(outcome.stderr, format!("WARNING in {cell}\n"));
        assert_eq!(outcome.background, Background::default());
    }
    let outcome = session.cell("warnings.warn('careful')");
    outcome.succeeded();
    assert!(
        outcome.stderr.contains("UserWarning: careful"),
        "{outcome:#?}"
    );
}

/// Output arrives while the cell runs, whole lines or what was flushed, and stands in the outcome all the same.
#[test]
fn output_streams_while_the_cell_runs() {
    let turn = turn();
    let session = turn.python();
    let (cell, mut events) = Cell::from(
        "import sys, time\nprint('a', 'b')\nprint('half', end='', flush=True)\nprint('e', file=sys.stderr)\n{1}\nwhile True: time.sleep(1)",
    )
    .with_timeout(ms(20_000))
    .with_events(64);
    let execution = session.start(cell);
    assert_eq!(settle(events.next()), Some(text(Stream::Stdout, "a b\n")));
    assert_eq!(settle(events.next()), Some(text(Stream::Stdout, "half")));
    assert_eq!(settle(events.next()), Some(text(Stream::Stderr, "e\n")));
    assert_eq!(
        events.try_next(),
        None,
        "the cell runs and has nothing more to say"
    );
    execution.canceller().cancel();
    let outcome = settle(execution);
    outcome.printed("a b\nhalf").failed(FailureKind::Cancelled);
    assert_eq!(outcome.stderr, "e\n");
    assert_eq!(settle(events.next()), None);

    let (cell, events) = Cell::from("print('shown next')\n{1}").with_events(64);
    let outcome = settle(session.start(cell));
    let [first, second] = all(events).try_into().expect("two events");
    assert_eq!(first, text(Stream::Stdout, "shown next\n"));
    assert_eq!(second, Event::Display(outcome.display[0].clone()));
}

/// A slow reader never holds the cell up; it gets up to 1 MiB at once, and what it missed is counted to the byte.
#[test]
fn a_slow_reader_is_told_what_it_missed() {
    let turn = turn();
    let session = turn.python();
    for (capacity, lines) in [(1, 1000), (2, 3), (7, 50_000), (100, 10), (7, 300_000)] {
        let (cell, events) =
            Cell::new(format!("for i in range({lines}): print(i)")).with_events(capacity);
        let (took, outcome) = timed(|| settle(session.start(cell)));
        outcome.succeeded();
        assert!(took < Duration::from_secs(5), "{took:?}");
        let whole: String = (0..lines).map(|i| format!("{i}\n")).collect();
        let (mut before, mut missed, mut after) = (String::new(), 0, String::new());
        let mut count = 0;
        for event in all(events) {
            count += 1;
            match event {
                Event::Output { text, .. } if missed == 0 => before.push_str(&text),
                Event::Output { text, .. } => after.push_str(&text),
                Event::Gap { bytes, .. } => missed += bytes,
                other => panic!("{other:?}"),
            }
        }
        assert!(whole.starts_with(&before) && whole.ends_with(&after));
        assert_eq!(
            (before.len() + after.len()) as u64 + missed,
            whole.len() as u64,
            "{lines} lines, {capacity} events"
        );
        assert_eq!(missed > 0, whole.len() > 1 << 20);
        assert!(count <= capacity + 3);
    }
}

/// A reader that goes away costs nothing.
#[test]
fn a_reader_that_is_gone_is_not_waited_for() {
    let turn = turn();
    let session = turn.python();
    let (cell, events) = Cell::from("for i in range(1000): print(i)").with_events(1);
    drop(events);
    settle(session.start(cell)).succeeded();
}

/// Only so many entries are shown, and the rest is counted.
#[test]
fn the_number_of_shown_entries_is_bounded() {
    let turn = turn();
    let limits = Limits::default().with_display_entries(0);
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    let outcome = session.cell("{1}");
    outcome.returned_nothing();
    assert!(outcome.display.is_empty());
    assert_eq!(outcome.truncated.displays_left_out, 1);
}

fn text(stream: Stream, text: &str) -> Event {
    Event::Output {
        stream,
        text: text.to_owned(),
    }
}

fn all(mut events: Events) -> Vec<Event> {
    std::iter::from_fn(|| settle(events.next())).collect()
}
