//! The prompt: from a pipe, and at a terminal.

use std::fs;

use super::assert_ended;
use crate::support::{Program, Talk, warmcell};

#[test]
fn repl_reads_cells_from_a_pipe() {
    let ended = Program::run(
        warmcell(["repl"]),
        "x = 20\nx + 22\ndef f(n):\n    y = n\n\n    return y\nf('a')\nimport sys; print('no newline', end='')\nobject\n:vars\n:reset\nx\n:nonsense\n:quit\nnever\n",
    );
    assert_eq!(ended.status, 1);
    assert_eq!(
        ended.stdout,
        "42\n\"a\"\nno newline\n<class 'object'>\nx: int = 20\nf: function = def f(n)\nsys: module = module sys\n"
    );
    assert!(
        ended
            .stderr
            .contains("NameError: name 'x' is not defined\n"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.ends_with(
            "error: there is no command `:nonsense`\nhint: `:help` lists what there is\n"
        ),
        "{}",
        ended.stderr
    );
    // A child of a cell does not eat the cells to come, and an exit leaves with its status.
    let ended = Program::run(
        warmcell(["repl"]),
        "import subprocess, sys\nsubprocess.run(['cat'])\nprint('still here')\nsys.exit(4)\nnever\n",
    );
    assert_eq!((ended.status, ended.stderr.as_str()), (4, ""));
    assert!(ended.stdout.ends_with("still here\n"), "{}", ended.stdout);
    assert_ended(
        &Program::run(warmcell(["repl"]), "if True:\n    print('rest')"),
        0,
        "rest\n",
        "",
    );
}

#[test]
fn repl_talks_to_a_person() {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = warmcell(["repl"]);
    command
        .env("XDG_STATE_HOME", state.path())
        .env("NO_COLOR", "1");
    let mut talk = Talk::start(command);
    talk.until("`:help` tells what the prompt can do\r\n");
    talk.enter(">>> ", "x = 20");
    talk.enter(">>> ", "x + 22");
    talk.until("\n42\r\n");
    // A block ends with an empty line.
    talk.enter(">>> ", "for n in range(2):");
    talk.enter("... ", "    print('n is', n)");
    talk.enter("... ", "");
    talk.until("\nn is 0\r\nn is 1\r\n");
    // While a cell runs Ctrl-C stops it, and the session stays.
    talk.enter(">>> ", "print('be' + 'gun'); y = 1");
    talk.until("\nbegun\r\n");
    talk.enter(
        ">>> ",
        "while True: print('run' + 'ning') or __import__('time').sleep(600)",
    );
    talk.until("\nrunning\r\n");
    talk.press(CTRL_C);
    talk.until("error: the cell was cancelled\r\n");
    // At the prompt it clears the line.
    talk.until(">>> ");
    talk.press("nonsense");
    talk.until("nonsense");
    talk.press(CTRL_C);
    talk.until("\r\n");
    talk.enter(">>> ", "[x, y]");
    talk.until("\n[20,1]\r\n");
    talk.until(">>> ");
    talk.press(CTRL_D);
    assert_eq!(talk.finish(), 0);
    let history = fs::read_to_string(state.path().join("warmcell/history")).expect("a history");
    assert!(history.starts_with("x = 20\nx + 22\nfor n in"), "{history}");
    assert!(!history.contains("nonsense"), "{history}");
}

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
