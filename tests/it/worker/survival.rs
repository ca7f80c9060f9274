//! The README's table of what each placement survives, made by trying it through the binary.
//!
//! `WARMCELL_TEST_WRITE=1` puts what was found into the README.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What happens to a session that holds `x`, and the cells that make it happen.
const ROWS: [(&str, &[&str]); 10] = [
    ("an exception", &["1 / 0"]),
    ("a loop, stopped at its deadline", &["while True: pass"]),
    (
        "a loop that catches everything",
        &["while True:\n    try:\n        while True: pass\n    except BaseException: pass"],
    ),
    ("more memory than the budget", &["bytearray(1 << 40)"]),
    ("C code that nothing stops", &["sum(range(10**13))"]),
    ("a crash in C code", &["import ctypes\nctypes.string_at(0)"]),
    ("`os._exit`", &["import os\nos._exit(0)"]),
    (
        "SIGKILL, from the kernel's out-of-memory killer for instance",
        &["import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"],
    ),
    (
        "the same while a thread of the program is alive",
        &[
            "import os, signal, threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
            "os.kill(os.getpid(), signal.SIGKILL)",
        ],
    ),
    (
        "the same with over 200 MB of Python objects",
        &[
            "import os, signal\nlarge = [[n] for n in range(4_000_000)]",
            "os.kill(os.getpid(), signal.SIGKILL)",
        ],
    ),
];

const SUPERVISOR: &str = "the supervisor of the workers is killed";

#[test]
fn the_table_in_the_readme_is_what_was_found() {
    let mut table = String::from("| | in process | worker |\n|---|---|---|\n");
    for (name, cells) in ROWS {
        let [here, worker] = ["in-process", "worker"].map(|placement| verdict(placement, cells));
        table.push_str(&format!("| {name} | {here} | {worker} |\n"));
    }
    let killed = "import os, time\nos.kill(os.getppid(), 9); time.sleep(20)";
    let worker = verdict("worker", &[killed]);
    table.push_str(&format!("| {SUPERVISOR} | | {worker} |\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("the README");
    let (before, rest) = readme
        .split_once("<!-- survival -->\n")
        .expect("a place for it");
    let (written, after) = rest.split_once("<!-- /survival -->").expect("its end");
    if std::env::var_os("WARMCELL_TEST_WRITE").is_some() {
        let text = format!("{before}<!-- survival -->\n{table}<!-- /survival -->{after}");
        fs::write(&path, text).expect("the README is written");
        return;
    }
    assert_eq!(written, table);
}

/// What the outcome of the last cell says, and whether that is so.
fn verdict(placement: &str, cells: &[&str]) -> String {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "placement": placement, "limits": { "timeoutMs": 20_000 } }),
    );
    let session = opened.expect("the server lives")["session"].clone();
    let mut run = |code: &str, timeout: u64| {
        let params = json!({ "session": session, "code": code, "timeoutMs": timeout });
        server.call("execute", params)
    };
    assert_eq!(run("x = 1", 20_000).expect("the server lives")["ok"], true);
    let mut state = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let is_last = index + 1 == cells.len();
        let ends_at_deadline = cell.contains("while True") || cell.contains("range(10**13)");
        let timeout = if is_last && ends_at_deadline {
            300
        } else {
            20_000
        };
        let Some(outcome) = run(cell, timeout) else {
            return "the host dies".to_owned();
        };
        state = outcome["state"].as_str().expect("a state").to_owned();
    }
    // A session that hangs for good in process goes on in a worker, without what it held.
    let holds = run("return x", 20_000).expect("the server lives")["value"] == json!(1);
    assert_eq!(holds, state != "lost", "{cells:?} {placement}: {state}");
    format!("`{state}`")
}

/// `warmcell serve`, which may die.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_warmcell"))
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self {
            process,
            input,
            output,
        }
    }

    /// The result; none when the server has died.
    fn call(&mut self, method: &str, params: Value) -> Option<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writeln!(self.input, "{request}").ok()?;
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        let mut answer: Value = serde_json::from_str(&line).ok()?;
        assert!(answer.get("error").is_none(), "{answer}");
        Some(answer["result"].take())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
