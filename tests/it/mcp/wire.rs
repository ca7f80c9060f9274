//! The wire itself, without a client's library: lines that cannot be read, and signals that end the server.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::processes::is_alive;
use crate::support::{Program, Workspace, each, warmcell};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

fn start(workspace: &Workspace, options: &[&str]) -> Program {
    let mut command = warmcell(["mcp", "--language", "python", "--workspace"]);
    command.arg(workspace.path()).args(options);
    let mut program = Program::start(command);
    send(&mut program, INITIALIZE.as_bytes());
    assert_eq!(answer(&mut program)["id"], "first");
    send(
        &mut program,
        br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    program
}

fn send(program: &mut Program, line: &[u8]) {
    let stdin = program.stdin();
    stdin.write_all(line).unwrap();
    stdin.write_all(b"\n").unwrap();
}

fn answer(program: &mut Program) -> Value {
    serde_json::from_str(&program.line()).unwrap()
}

fn call(id: &str, code: &str) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "run_code", "arguments": { "code": code } } });
    message.to_string().into_bytes()
}

/// The SDK passes over them in silence, and whoever sent one waited for ever.
#[test]
fn a_line_that_cannot_be_read_is_answered_under_its_id() {
    let mut program = start(&Workspace::new(), &[]);
    let half = br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"run_code","arguments":{"code":"\ud83d"}}}"#;
    let mut bytes = call("x", "1");
    bytes.splice(bytes.len() - 4.., *b"\xff\"}}}");
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"run_code","arguments":{{"code":{}{}}}}}}}"#,
        "[".repeat(300),
        "]".repeat(300)
    );
    let long = call("x", &"1 ".repeat(40 << 20));
    each(
        [
            (&half[..], "the line is not JSON"),
            (&bytes, "the line is not JSON"),
            (
                deep.as_bytes(),
                "the line is not JSON: recursion limit exceeded",
            ),
            (
                &long,
                "the line has more than 67108864 bytes, and was skipped",
            ),
        ],
        |(line, message)| {
            send(&mut program, line);
            let answered = answer(&mut program);
            assert_eq!(answered["id"], "x", "{answered}");
            let said = answered["error"]["message"].as_str().unwrap();
            assert!(said.starts_with(message), "{said}");
        },
    );
    send(&mut program, b"no JSON at all");
    send(&mut program, &call("y", "6 * 7"));
    assert_eq!(answer(&mut program)["id"], "y");
    let ended = program.finish();
    assert_eq!(ended.status, 0);
    assert!(
        ended
            .stderr
            .contains("warmcell mcp: ignored a message: the line is not JSON"),
        "{}",
        ended.stderr
    );
}

/// What runs for a cell in the host, a command for instance, must not outlive a server that is told to end.
#[test]
fn a_signal_ends_the_server_with_all_it_started() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        let workspace = Workspace::new();
        let mut program = start(&workspace, &["--capability", "shell"]);
        send(
            &mut program,
            &call(
                "x",
                "shell.run('echo $$ > id.new; mv id.new id; exec sleep 1000')",
            ),
        );
        let id = workspace.path().join("id");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !id.exists() {
            assert!(Instant::now() < deadline, "the command does not start");
            // Nothing else tells of a file without a library for it.
            std::thread::sleep(Duration::from_millis(5));
        }
        let command: i32 = fs::read_to_string(&id).unwrap().trim().parse().unwrap();
        program.signal(signal);
        let status = program.wait(deadline);
        let wanted = if signal == libc::SIGKILL { -signal } else { 0 };
        assert_eq!(status, wanted, "signal {signal}");
        while is_alive(command) {
            assert!(Instant::now() < deadline, "the command lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
