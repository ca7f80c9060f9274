//! The prompt: from a pipe, and at a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;

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

/// A prompt without colours whose history lies in the folder.
fn prompt(state: &tempfile::TempDir) -> Talk {
    let mut command = warmcell(["repl"]);
    command
        .env("XDG_STATE_HOME", state.path())
        .env("NO_COLOR", "1");
    Talk::start(command)
}

#[test]
fn repl_talks_to_a_person() {
    let state = tempfile::tempdir().expect("a folder");
    let mut talk = prompt(&state);
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
    talk.until("\n[20, 1]\r\n");
    talk.until(">>> ");
    talk.press(CTRL_D);
    assert_eq!(talk.finish(), 0);
    let file = state.path().join("warmcell/history");
    let mode = fs::metadata(&file).expect("a history").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let history = fs::read_to_string(&file).expect("a history");
    assert!(history.starts_with("x = 20\nx + 22\nfor n in"), "{history}");
    assert!(!history.contains("nonsense"), "{history}");
}

#[test]
fn commands_work_through_a_pipe_too() {
    let ended = Program::run(
        warmcell(["repl"]),
        "x = 1\nx = 2\n:undo\nx\n:undo now\n:quit\n",
    );
    assert_ended(&ended, 1, "1\n", "error: `:undo` takes nothing behind it\n");
    // One cell can be taken back, and a session in this process none.
    let ended = Program::run(
        warmcell(["repl", "--placement", "in-process"]),
        "x = 1\n:undo\nx",
    );
    assert_ended(
        &ended,
        1,
        "1\n",
        "error: a session in this process cannot be undone\nhint: open it in a worker, with `backup` set to `undo`\n",
    );
    let ended = Program::run(warmcell(["repl"]), ":help\n:lang\n");
    assert_eq!(ended.status, 1);
    for word in [
        ":help",
        ":vars",
        ":undo",
        ":reset",
        ":lang LANGUAGE",
        ":quit",
    ] {
        assert!(
            ended.stdout.lines().any(|line| line.starts_with(word)),
            "{}",
            ended.stdout
        );
    }
}

#[cfg(all(feature = "javascript", feature = "quickjs"))]
#[test]
fn each_language_has_a_session_of_its_own() {
    for placement in ["in-process", "worker"] {
        let ended = Program::run(
            warmcell(["repl", "--placement", placement]),
            "x = 1\n:lang javascript\nlet x = 'js'; x\nif (x) {\n  x + 1\n}\n:lang python\nx\n:lang javascript\nx\n:lang typescript\nlet n: number = 3; n\n:lang cobol\n",
        );
        assert_ended(
            &ended,
            1,
            "\"js\"\n\"js1\"\n1\n\"js\"\n3\n",
            "error: the languages are `python`, `javascript`, `typescript`\n",
        );
    }
}

#[test]
fn names_complete_and_the_history_is_there_the_next_time() {
    let state = tempfile::tempdir().expect("a folder");
    let mut talk = prompt(&state);
    talk.enter(">>> ", "text_of_mine = 'a b'");
    talk.until(">>> ");
    talk.press("text_o\t.splitl\t()\r");
    talk.until("\n[\"a b\"]\r\n");
    // Inside of a string there are no names.
    talk.until(">>> ");
    talk.press("'text_o\t', len(text_o\t)\r");
    talk.until("\n[\"text_o\", 3]\r\n");
    talk.until(">>> ");
    talk.press(":he\t\r");
    talk.until("what you read\r\n");
    talk.until(">>> ");
    talk.press(CTRL_D);
    assert_eq!(talk.finish(), 0);
    let mut talk = prompt(&state);
    talk.until(">>> ");
    // Up past the command and the cells that need the name.
    talk.press("\x1b[A\x1b[A\x1b[A\x1b[A\r");
    talk.until("text_of_mine = 'a b'\r\n");
    talk.enter(">>> ", "text_of_mine");
    talk.until("\n\"a b\"\r\n");
    talk.until(">>> ");
    talk.press(CTRL_D);
    assert_eq!(talk.finish(), 0);
}

/// What is typed while a cell runs, in the terminal's ordinary mode, is run when it is over.
#[test]
fn what_is_typed_ahead_is_run() {
    let state = tempfile::tempdir().expect("a folder");
    let mut talk = prompt(&state);
    let waits = "print('be' + 'gun'); __import__('time').sleep(1)";
    talk.enter(">>> ", waits);
    talk.until("\nbegun\r\n");
    talk.press("x = ['L1']; x\rfor n in range(2):\r\tx.append(n)\r\rx\r:vars\rx + ['re");
    talk.until("\n[\"L1\"]\r\n");
    talk.until("\n[\"L1\", 0, 1]\r\n");
    talk.until("│ n    │ int  │ 1            │\r\n└──────┴──────┴──────────────┘\r\n");
    talk.until(">>> x + ['re");
    talk.press("st']\r");
    talk.until("\n[\"L1\", 0, 1, \"rest\"]\r\n");
    // The same at the prompt, in one piece.
    talk.until(">>> ");
    talk.press("if x:\n    y = 5\n\ny + 1\ny + 2\n");
    talk.until("\n6\r\n");
    talk.until("\n7\r\n");
    // Whoever stops a cell stops what was to come.
    talk.until(">>> ");
    let waits = waits.replace("sleep(1)", "sleep(600)");
    talk.press(&format!("{waits}\nprint('ne' + 'ver')\n"));
    talk.until("\nbegun\r\n");
    talk.press(CTRL_C);
    talk.until("error: the cell was cancelled\r\n");
    talk.enter(">>> ", "print('af' + 'ter')");
    talk.until("\nafter\r\n");
    talk.until(">>> ");
    talk.press(CTRL_D);
    let seen = talk.seen();
    assert_eq!(talk.finish(), 0);
    assert!(!seen.contains("\nnever"), "{seen}");
    let history = fs::read_to_string(state.path().join("warmcell/history")).expect("a history");
    assert!(history.contains("\nx + ['rest']\n"), "{history}");
}

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
