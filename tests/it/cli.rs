//! The commands, as a shell sees them: data on one stream, messages on the other, a status.

mod console;
#[cfg(all(feature = "javascript", feature = "quickjs"))]
mod javascript;
mod repl;
mod report;
mod scripts;

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Exited, Program, terminal, venv, warmcell};

fn ran<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Exited {
    Program::run(warmcell(arguments), "")
}

#[track_caller]
fn assert_ended(ended: &Exited, status: i32, stdout: &str, stderr: &str) {
    let wanted = Exited {
        status,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    };
    assert_eq!(*ended, wanted);
}

/// A folder of files for `run`.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).expect("a file");
        path
    }
}

#[test]
fn exec_prints_values_as_json_and_output_as_it_comes() {
    let ended = ran([
        "exec",
        "import sys\nrows = [3, 1, 2]",
        "print('sorting'); print('quietly', file=sys.stderr); sorted(rows)",
        "print('no newline', end=''); 'é'",
        "return None",
        "object",
    ]);
    assert_ended(
        &ended,
        0,
        "sorting\n[1,2,3]\nno newline\n\"é\"\nnull\n<class 'object'>\n",
        "quietly\n",
    );
}

#[test]
fn exec_stops_at_the_first_failure() {
    let ended = ran(["exec", "1", "def f():\n    return {}['no']\nf()", "3"]);
    assert_ended(
        &ended,
        1,
        "1\n",
        "Traceback (most recent call last):\n  File \"<cell 2>\", line 3, in <module>\n    f()\n  File \"<cell 2>\", line 2, in f\n    return {}['no']\n           ~~^^^^^^\nKeyError: 'no'\n",
    );
    let ended = ran(["exec", "return [float('nan')]"]);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
}

#[test]
fn exec_prints_outcomes_and_nothing_else() {
    let ended = ran([
        "exec",
        "--json",
        "import os, sys\nos.write(1, b'raw')\nprint('shown')\nreturn {'b': 1, 'a': 2}",
        "1/0",
        "never",
    ]);
    assert_eq!(ended.status, 1);
    let outcomes: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(outcomes.len(), 2, "{}", ended.stdout);
    assert_eq!(outcomes[0]["stdout"], "shown\n");
    assert!(ended.stdout.contains(r#""value":{"b":1,"a":2}"#));
    assert_eq!(outcomes[1]["error"]["name"], "ZeroDivisionError");
    assert_eq!(outcomes[1]["executionCount"], 2);
    assert_eq!(ended.stderr, "raw");
}

#[test]
fn exec_holds_cells_to_limits() {
    let ended = ran(["exec", "--timeout", "0.2", "while True: pass"]);
    assert_ended(
        &ended,
        1,
        "",
        "Traceback (most recent call last):\n  File \"<cell 1>\", line 1, in <module>\n    while True: pass\nerror: the cell was stopped at its deadline of 200 ms\n",
    );
    let ended = ran(["exec", "--json", "--memory", "64", "x = bytearray(1 << 30)"]);
    assert!(
        ended.stdout.contains(r#""kind":"memory""#),
        "{}",
        ended.stdout
    );
    let ended = ran(["exec", "--json", "--value-bytes", "20", "return 'x' * 50"]);
    assert!(
        ended.stdout.contains(r#""kind":"output-limit""#),
        "{}",
        ended.stdout
    );
    let ended = ran([
        "exec",
        "--json",
        "--output-bytes",
        "600",
        "print('x' * 5000)",
    ]);
    assert!(ended.stdout.contains(r#""bytes":5001"#), "{}", ended.stdout);
}

#[test]
fn run_makes_files_the_cells_of_one_session() {
    let files = Files::new();
    let first = files.file("first.py", "\u{feff}import sys\nx = 20\nprint('first')\nx");
    let blank = files.file("blank.py", "\n");
    let second = files.file("second.py", "print(x + 22); print('late', file=sys.stderr)");
    let ended = ran([
        OsStr::new("run"),
        first.as_ref(),
        blank.as_ref(),
        second.as_ref(),
    ]);
    assert_ended(&ended, 0, "first\n42\n", "late\n");
    let from_stdin = Program::run(
        warmcell([OsStr::new("run"), first.as_ref(), "-".as_ref()]),
        "print(x)",
    );
    assert_ended(&from_stdin, 0, "first\n20\n", "");
}

#[test]
fn run_ends_with_the_status_its_files_ask_for() {
    let files = Files::new();
    let never = files.file("never.py", "print('never')");
    for (code, status, stderr) in [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(0)", 0, ""),
        ("import sys; sys.exit(-1)", 255, ""),
        ("import sys; sys.exit(256 + 7)", 7, ""),
        ("exit(True)", 1, ""),
        (
            "import sys; sys.exit('the data is gone')",
            1,
            "the data is gone\n",
        ),
        ("raise SystemExit(5)", 5, ""),
    ] {
        let file = files.file("exit.py", code);
        let ended = ran([OsStr::new("run"), file.as_ref(), never.as_ref()]);
        assert_ended(&ended, status, "", stderr);
    }
    let endless = files.file("endless.py", "print('begun')\nwhile True: pass");
    let ended = ran([
        OsStr::new("run"),
        "--timeout".as_ref(),
        "0.2".as_ref(),
        endless.as_ref(),
    ]);
    assert_eq!((ended.status, ended.stdout.as_str()), (124, "begun\n"));
    let failing = files.file("failing.py", "1/0");
    let ended = ran([OsStr::new("run"), failing.as_ref(), never.as_ref()]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert!(
        ended
            .stderr
            .contains("ZeroDivisionError: division by zero\n"),
        "{}",
        ended.stderr
    );
    assert!(
        ended
            .stderr
            .ends_with("failing.py` is <cell 1>, and nothing after it was run\n"),
        "{}",
        ended.stderr
    );
}

const EXTENSIONS: &str = "hint: name the language with `--language`, or use one of `.py`, `.js`, `.mjs`, `.cjs`, `.ts`, `.mts`, `.cts`\n";

#[test]
fn what_cannot_be_run_is_named_before_anything_runs() {
    let files = Files::new();
    let good = files.file("good.py", "print('ran')");
    files.file("notes.txt", "print(1)");
    files.file("bare", "print(1)");
    files.file("latin.py", b"name = '\xe9'");
    for (name, said, hint) in [
        (
            "missing.py",
            "cannot read `{}`: No such file or directory (os error 2)",
            "",
        ),
        (
            "notes.txt",
            "cannot tell the language of `{}`: the extension `.txt` is no language's",
            EXTENSIONS,
        ),
        (
            "bare",
            "cannot tell the language of `{}`: it has no extension",
            EXTENSIONS,
        ),
        (
            "latin.py",
            "`{}` is not UTF-8 text from its byte 8",
            "hint: save it as UTF-8\n",
        ),
    ] {
        let file = files.path().join(name);
        let said = said.replace("{}", &file.display().to_string());
        let ended = ran([OsStr::new("run"), good.as_ref(), file.as_ref()]);
        assert_ended(&ended, 2, "", &format!("error: {said}\n{hint}"));
    }
    let notes = files.path().join("notes.txt");
    let named = ran([
        OsStr::new("run"),
        "--language".as_ref(),
        "python".as_ref(),
        notes.as_ref(),
    ]);
    assert_ended(&named, 0, "1\n", "");
}

#[test]
fn options_out_of_range_are_named() {
    for (arguments, said) in [
        (
            ["--memory", "1"],
            "error: `--memory` is 1, which is not between 16 and 1048576\n",
        ),
        (
            ["--output-bytes", "1"],
            "error: `--output-bytes` is 1, which is not between 512 and 1073741824\n",
        ),
        (
            ["--value-bytes", "1"],
            "error: `--value-bytes` is 1, which is not between 16 and 1073741824\n",
        ),
        (
            ["--timeout", "604801"],
            "error: `--timeout` is 604801000 ms, which is not between 1 and 604800000\n",
        ),
        (
            ["--cwd", "/no/such"],
            "error: `cwd` is `/no/such`, which does not exist\n",
        ),
    ] {
        let ended = ran(["exec", "1"].into_iter().chain(arguments));
        assert_ended(&ended, 2, "", said);
    }
    for timeout in ["0", "-1", "nan", "soon", "inf"] {
        let ended = ran(["exec", "1", "--timeout", timeout]);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
        let said = format!("error: invalid value '{timeout}' for '--timeout <SECONDS>': ");
        assert!(ended.stderr.starts_with(&said), "{}", ended.stderr);
    }
    let ended = ran(["exec", "1", "--language", "cobol"]);
    assert!(
        ended
            .stderr
            .contains("the languages are `python`, `javascript`, `typescript`"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.status, 2);
}

#[test]
fn a_venv_that_is_none_is_named() {
    let files = Files::new();
    let folder = files.path().display();
    let ended = ran(["exec", "1", "--python", &folder.to_string()]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    let said = format!("error: cannot open a python session: `{folder}` is no python: ");
    assert!(ended.stderr.starts_with(&said), "{}", ended.stderr);
    assert!(ended.stderr.contains("\nhint: "), "{}", ended.stderr);
    let ended = ran(["doctor", "--python", &folder.to_string()]);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.starts_with(&said), "{}", ended.stderr);
}

#[test]
fn doctor_tells_what_cells_run_on() {
    let venv = venv();
    let arguments = [
        OsStr::new("doctor"),
        "--json".as_ref(),
        "--python".as_ref(),
        venv.as_ref(),
    ];
    let ended = ran(arguments);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let found: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(found["isolation"]["seccomp"], true);
    let findings = &found["engines"];
    let facts = &findings[0]["facts"];
    assert_eq!(facts["language"], "python");
    assert_eq!(facts["environment"], json!(venv));
    assert_eq!(facts["executable"], json!(venv.join("bin/python")));
    assert_eq!(facts["chosen"], "asked for");
    let library = facts["library"].as_str().expect("a path");
    assert!(Path::new(library).is_file(), "{library}");
    let asked = ran([
        "exec",
        "import sys\n'.'.join(map(str, sys.version_info[:3]))",
    ]);
    assert_eq!(asked.stdout.trim_end(), facts["version"].to_string());
    let armed: Vec<&str> = facts["limits"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|limit| limit["armed"] == true)
        .filter_map(|limit| limit["limit"].as_str())
        .collect();
    assert_eq!(
        armed,
        ["timeoutMs", "memoryMb", "outputBytes", "valueBytes"]
    );
    assert!(
        findings[0]["cellMs"]
            .as_f64()
            .is_some_and(|took| took < 1000.0)
    );
    let told = Program::run(warmcell(["doctor"]), "");
    assert_eq!(told.status, 0);
    for name in [
        "python ",
        "executable ",
        "library ",
        "chosen ",
        "timeoutMs ",
        "memoryMb ",
        "cells ",
    ] {
        assert!(
            told.stdout
                .lines()
                .any(|line| line.trim_start().starts_with(name)),
            "{}",
            told.stdout
        );
    }
}

/// All of a program's output arrives however slowly it is read: nothing is dropped as too fast.
#[test]
fn no_output_is_lost_in_a_slow_pipe() {
    const LINES: usize = 300_000;
    let code = format!("for n in range({LINES}): print(n)");
    let mut child = warmcell(["exec", &code])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut text = String::new();
    let mut piece = [0; 512];
    loop {
        // Small reads, far slower than the program prints.
        match stdout.read(&mut piece).expect("a readable pipe") {
            0 => break,
            read => text.push_str(std::str::from_utf8(&piece[..read]).expect("digits")),
        }
    }
    let wanted: String = (0..LINES).map(|n| format!("{n}\n")).collect();
    assert!(
        text == wanted,
        "{} bytes in place of {}",
        text.len(),
        wanted.len()
    );
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in [
        ["exec", "n = 0\nwhile True:\n    print(n); n += 1"].as_slice(),
        &[
            "exec",
            "--json",
            "print('x' * 100_000)",
            "return 'x' * 1_000_000",
            "return 'x' * 1_000_000",
        ],
        &["doctor"],
    ] {
        let mut child = warmcell(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let mut said = String::new();
        child
            .stderr
            .take()
            .expect("a pipe")
            .read_to_string(&mut said)
            .expect("read");
        assert_eq!(
            (child.wait().expect("an end").code(), said.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let mut child = warmcell(["exec", "1"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut said = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut said)
        .expect("read");
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    assert_eq!(
        said,
        "error: cannot write to standard output: No space left on device (os error 28)\n"
    );
}

#[test]
fn the_process_ends_whatever_threads_are_left() {
    let since = Instant::now();
    let ended = ran([
        "exec",
        "import threading, time\nfor daemon in (True, False):\n    threading.Thread(target=time.sleep, args=(600,), daemon=daemon).start()",
        "def spin():\n    while True: pass\nthreading.Thread(target=spin).start()",
        "print('done')",
    ]);
    assert_ended(&ended, 0, "done\n", "");
    assert!(
        since.elapsed() < Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
}

/// A script ends as a script does: its threads end first, what it registered is called, its files are written.
#[test]
fn a_script_ends_as_it_would_alone() {
    let folder = Files::new();
    let threads = folder.file(
        "threads.py",
        "import threading, time\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n\
         def job(i):\n    time.sleep(0.05)\n    print('job', i)\n\
         for i in range(2): pool.submit(job, i)\n\
         def last():\n    time.sleep(0.3)\n    print('thread')\n\
         threading.Thread(target=last).start()\nprint('main')",
    );
    let written = folder.file("written.txt", "");
    let end = folder.file(
        "end.py",
        format!("import atexit, sys\natexit.register(print, 'registered')\nfile = open({written:?}, 'w')\nfile.write('all of it')\nsys.exit(3)"),
    );
    for placement in ["in-process", "worker"] {
        let ended = ran([
            "run",
            "--placement",
            placement,
            threads.to_str().expect("a name"),
        ]);
        assert_eq!(ended.status, 0);
        assert_eq!(ended.stdout, "main\njob 0\njob 1\nthread\n");
        let ended = ran([
            "run",
            "--placement",
            placement,
            end.to_str().expect("a name"),
        ]);
        assert_ended(&ended, 3, "registered\n", "");
        assert_eq!(fs::read_to_string(&written).expect("a file"), "all of it");
        fs::write(&written, "").expect("a file");
        let code = format!("file = open({written:?}, 'w')\nfile.write('all')");
        let ended = ran(["exec", "--placement", placement, &code]);
        assert_ended(&ended, 0, "3\n", "");
        assert_eq!(fs::read_to_string(&written).expect("a file"), "all");
    }
}

#[test]
fn what_threads_print_late_is_shown() {
    let ended = ran([
        "exec",
        "import threading\ngo, gone = threading.Event(), threading.Event()\ndef late():\n    go.wait(); print('late'); gone.set()\nthreading.Thread(target=late).start()",
        "go.set(); gone.wait(); print('on time')",
    ]);
    assert_eq!(ended.status, 0);
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["late", "on time"]);
}

#[test]
fn ctrl_c_stops_the_cell_with_its_cleanup() {
    for (arguments, code) in [
        (
            "exec",
            "try:\n    print('begun', flush=True)\n    while True:\n        pass\nfinally:\n    print('cleaned up')",
        ),
        (
            "exec",
            "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(600)\nfinally:\n    print('cleaned up')",
        ),
    ] {
        let mut program = Program::start(warmcell([arguments, code, "print('never')"]));
        assert_eq!(program.line(), "begun\n");
        program.signal(libc::SIGINT);
        let ended = program.finish();
        assert_eq!(
            (ended.status, ended.stdout.as_str()),
            (130, "begun\ncleaned up\n")
        );
        assert!(
            ended.stderr.ends_with("error: the cell was cancelled\n"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_second_ctrl_c_ends_the_process() {
    let code = "print('begun', flush=True)\nsum(range(10**13))";
    let mut program = Program::start(warmcell(["exec", code]));
    assert_eq!(program.line(), "begun\n");
    let since = Instant::now();
    program.signal(libc::SIGINT);
    // The first one is on its way while the second comes: signals of one kind do not queue.
    while program.wait_briefly().is_none() {
        program.signal(libc::SIGINT);
    }
    assert_eq!(program.finish().status, 130);
    assert!(
        since.elapsed() < Duration::from_millis(1400),
        "{:?}",
        since.elapsed()
    );
}

#[test]
fn colour_is_for_terminals_alone() {
    let plain = ran(["exec", "1", "--memory", "1"]);
    assert!(!plain.stderr.contains('\x1b'), "{:?}", plain.stderr);
    let shown = |no_colour: bool| {
        let mut command = warmcell(["exec", "1", "--memory", "1"]);
        command.env("TERM", "xterm");
        if no_colour {
            command.env("NO_COLOR", "1");
        }
        let (mut ours, theirs) = terminal();
        let mut child = command.stderr(theirs).spawn().expect("the command starts");
        assert_eq!(child.wait().expect("an end").code(), Some(2));
        drop(command);
        let mut bytes = Vec::new();
        // The end of a terminal is an error once its other side is closed.
        let _ = ours.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("text")
    };
    assert!(
        shown(false).starts_with("\x1b[1;31merror:\x1b[0m `--memory` is 1"),
        "{:?}",
        shown(false)
    );
    assert!(
        shown(true).starts_with("error: `--memory` is 1"),
        "{:?}",
        shown(true)
    );
}
