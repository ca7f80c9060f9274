//! What a cell costs a client over MCP, beside the same cell over `serve`: both on pipes, both with a worker, taken in turns so
//! that a busy machine is busy for both. The client is a thread that writes a line and reads one.
//!
//! The target is a ratio: a call over MCP takes at most twice what it takes over `serve`.
//! `cargo bench --bench mcp`.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How many calls each of them serves.
const CALLS: usize = 2000;

/// What an agent needs at least between two cells; the backup is made meanwhile.
const THINKING: Duration = Duration::from_millis(2);

fn main() {
    let folder = std::env::temp_dir().join(format!("warmcell-bench-mcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let workspace = folder.to_str().expect("text");
    let mut serve = Server::start(&["serve"]);
    let opened = serve.call("open", json!({ "language": "python" }));
    let session = opened["result"]["session"].clone();
    // Without a sandbox, as `serve` is.
    let mut mcp = Server::start(&["mcp", "--sandbox", "off", "--workspace", workspace]);
    mcp.call(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } }),
    );
    mcp.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let execute = json!({ "session": session, "code": "1+1" });
    let run_code = json!({ "name": "run_code", "arguments": { "code": "1+1" } });
    println!("{:<34} {:>10} {:>10} {:>10}", "", "least", "p50", "p95");
    for (name, pause) in [
        ("nothing between", Duration::ZERO),
        ("2 ms between", THINKING),
    ] {
        let (mut over_serve, mut over_mcp) = (Vec::new(), Vec::new());
        for _ in 0..CALLS {
            over_serve.push(serve.timed("execute", &execute, pause));
            over_mcp.push(mcp.timed("tools/call", &run_code, pause));
        }
        let one = row(&format!("`1+1` over serve, {name}"), &mut over_serve);
        let other = row(&format!("`1+1` over mcp, {name}"), &mut over_mcp);
        let ratio = other.as_secs_f64() / one.as_secs_f64();
        println!("{:<34} {ratio:>10.2}  target 2", "  ratio of the medians");
    }
    drop((serve, mcp));
    let _ = std::fs::remove_dir(&folder);
}

/// Prints a row, and returns the median.
fn row(name: &str, took: &mut [Duration]) -> Duration {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    let [least, middle, tail] = [at(0.0), at(0.5), at(0.95)].map(|took| format!("{took:.1?}"));
    println!("{name:<34} {least:>10} {middle:>10} {tail:>10}");
    at(0.5)
}

/// A server and its only client.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_warmcell"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        Self {
            process,
            input,
            output,
            next_id: 0,
        }
    }

    fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).expect("it reads");
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    }

    fn timed(&mut self, method: &str, params: &Value, pause: Duration) -> Duration {
        thread::sleep(pause);
        let started = Instant::now();
        let answer = self.call(method, params.clone());
        let took = started.elapsed();
        assert!(answer["result"].is_object(), "{answer}");
        took
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
