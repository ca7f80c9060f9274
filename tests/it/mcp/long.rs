//! Cells that take long: they go on when their call is answered, can be waited for and stopped, and nothing they print is lost.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Program, Protocol, Workspace, eventually, processes, read, timed, warmcell};

const ENDLESS: &str = "print('begun', flush=True)\nwhile True: pass";

/// A cell that waits until a file is there.
fn waiting(file: &str) -> String {
    format!(
        "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('{file}'): time.sleep(0.01)\nprint('done')\nx = 5\n'result'"
    )
}

/// The outer cell hung for an hour (openai/codex#33036), and one that had been given back could not be waited for any more
/// (openai/codex#34122).
#[test]
fn a_cell_that_outlives_its_call_goes_on_and_is_waited_for() {
    for protocol in Protocol::BOTH {
        let workspace = Workspace::new();
        let mut client = workspace.client(protocol, &[]);
        client.ok("x = 1");
        let (took, (is_error, text)) = timed(|| {
            client.run(json!({ "code": waiting("go"), "wait_seconds": 0.5, "timeout_seconds": 60 }))
        });
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert!(!is_error);
        assert!(
            text.starts_with("python, session `default`: the cell still runs after 0.5 s, and goes on\nstdout so far (6 bytes):\nbegun\nhint: do not send it again"),
            "{text}"
        );
        // Other sessions are not held up, and this one says what holds it.
        let (is_error, _) = client.run(json!({ "code": "1", "session": "other" }));
        assert!(!is_error);
        let (is_error, text) = client.run(json!({ "code": "x" }));
        assert!(is_error);
        assert!(
            text.starts_with("session `default` is busy: a cell has been running in it for ")
                && text.contains("this one was not run\nstdout so far (6 bytes):\nbegun\n"),
            "{text}"
        );
        let (is_error, text) = read(&client.call("wait_cell", json!({ "wait_seconds": 0 })));
        assert!(!is_error && text.contains("the cell still runs"), "{text}");
        std::fs::write(workspace.path().join("go"), "").unwrap();
        let (is_error, text) = read(&client.call("wait_cell", json!({})));
        assert!(!is_error);
        assert!(
            text.starts_with("python, session `default`, cell 2: ok in "),
            "{text}"
        );
        assert!(
            text.ends_with(
                "stdout (11 bytes, 2 lines):\nbegun\ndone\nvalue (8 bytes):\n\"result\"\n"
            ),
            "{text}"
        );
        assert_eq!(client.ok("x"), "value (1 byte):\n5\n");
        assert_eq!(
            read(&client.call("wait_cell", json!({}))),
            (
                false,
                "no cell runs in session `default`: every result was told".to_owned()
            )
        );
        let (is_error, text) = read(&client.call("wait_cell", json!({ "session": "nobody" })));
        assert!(is_error);
        assert_eq!(
            text,
            "there is no session \"nobody\": there are `default`, `other`"
        );
        client.finish();
    }
}

/// A client may send several calls at once; those of one session are served in order.
#[test]
fn calls_of_one_session_take_turns() {
    let workspace = Workspace::new();
    let mut client = workspace.client(Protocol::Newest, &[]);
    client.ok("x = 1");
    let first = client.begin("run_code", json!({ "code": waiting("go") }));
    let second = client.begin("run_code", json!({ "code": "x + 1" }));
    let third = client.begin("run_code", json!({ "code": "x + 2", "wait_seconds": 0 }));
    let (is_error, text) = read(&client.about(&third)["result"]);
    assert!(!is_error);
    assert!(
        text.starts_with("python, session `default`: the cell waits for its turn behind another one after 0.0 s, and goes on\n"),
        "{text}"
    );
    std::fs::write(workspace.path().join("go"), "").unwrap();
    for (call, value) in [(first, "\"result\"\n"), (second, "6\n")] {
        let (is_error, text) = read(&client.about(&call)["result"]);
        assert!(!is_error && text.ends_with(value), "{text}");
    }
    let (is_error, text) = read(&client.call("wait_cell", json!({})));
    assert!(!is_error && text.ends_with("7\n"), "{text}");
    client.finish();
}

/// What nobody waited for is told with the next result of that session.
#[test]
fn the_result_of_a_cell_that_nobody_waited_for_is_not_lost() {
    let workspace = Workspace::new();
    let mut client = workspace.client(Protocol::Handshake, &[]);
    client
        .run(json!({ "code": format!("{}\nopen('gone', 'w')", waiting("go")), "wait_seconds": 0 }));
    std::fs::write(workspace.path().join("go"), "").unwrap();
    let gone = workspace.path().join("gone");
    eventually("the cell has ended", || gone.exists());
    // The file is there a moment before the cell's end is known.
    let text = loop {
        let (is_error, text) = client.run(json!({ "code": "x + 1" }));
        if !is_error {
            break text;
        }
        assert!(text.contains("is busy"), "{text}");
    };
    assert!(
        text.starts_with("an earlier cell of this session, whose result nobody waited for:\npython, session `default`, cell 1: ok in "),
        "{text}"
    );
    assert!(text.contains("\nbegun\ndone\n"), "{text}");
    assert!(
        text.contains("\nthis call:\npython, session `default`, cell 2: ok in "),
        "{text}"
    );
    assert!(text.ends_with("\n6\n"), "{text}");
    client.finish();
}

#[test]
fn a_running_cell_is_stopped_and_its_session_lives() {
    let mut client = Workspace::new().client(Protocol::Newest, &[]);
    client.ok("x = 1");
    client.run(json!({ "code": ENDLESS, "wait_seconds": 0.3 }));
    let (is_error, text) = read(&client.call("wait_cell", json!({ "stop": true })));
    assert!(is_error);
    assert!(
        text.starts_with("python, session `default`, cell 2: failed (cancelled) after ")
            && text.contains("\nstdout (6 bytes, 1 line):\nbegun\n"),
        "{text}"
    );
    assert_eq!(client.ok("x"), "value (1 byte):\n1\n");
    // A reset stops what runs, too.
    client.run(json!({ "code": ENDLESS, "wait_seconds": 0.3 }));
    let (is_error, text) = read(&client.call("reset_session", json!({})));
    assert!(!is_error);
    assert!(
        text.contains("failed (cancelled)") && text.contains("is a fresh one"),
        "{text}"
    );
    client.finish();
}

/// A host that hangs could not be ended: hyperlight-dev/hyperlight#192. Here it is C code that looks up for nothing.
#[test]
fn what_nothing_interrupts_is_ended_all_the_same() {
    let mut client = Workspace::new().client(Protocol::Handshake, &[]);
    client.ok("x = 1");
    let (took, (is_error, text)) =
        timed(|| client.run(json!({ "code": "x = 2; sum(range(10**13))", "timeout_seconds": 1 })));
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(is_error);
    assert!(
        text.contains("failed (timeout) after ") && text.contains("state restored\n"),
        "{text}"
    );
    assert!(
        text.contains("hint: do not send this cell again unchanged"),
        "{text}"
    );
    assert_eq!(client.ok("x"), "value (1 byte):\n1\n");
    client.finish();
}

#[test]
fn a_client_that_wants_to_know_hears_of_progress() {
    for protocol in Protocol::BOTH {
        let mut client = Workspace::new().client(protocol, &[]);
        let code = "import time\nfor n in range(3):\n    print('step', n, flush=True)\n    time.sleep(0.8)";
        let call = client.begin_with(
            "run_code",
            json!({ "code": code }),
            json!({ "progress": true }),
        );
        let mut last = 0.0;
        let mut messages = 0;
        loop {
            let message = client.about(&call);
            let Some(progress) = message["progress"].as_f64() else {
                assert!(message["result"].is_object(), "{message}");
                break;
            };
            assert!(progress > last, "{message}");
            assert!(
                message["message"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("step ")),
                "{message}"
            );
            last = progress;
            messages += 1;
        }
        assert!(messages >= 1);
        client.finish();
    }
}

/// The cancellation was honoured and the request never resolved: openai/codex#20925.
#[test]
fn a_call_that_is_taken_back_stops_its_cell_and_leaves_the_session() {
    for protocol in Protocol::BOTH {
        let workspace = Workspace::new();
        let mut client = workspace.client(protocol, &[]);
        client.ok("x = 1");
        let begun = workspace.path().join("begun");
        let call = client.begin(
            "run_code",
            json!({ "code": format!("open('begun', 'w').close()\n{ENDLESS}") }),
        );
        eventually("the cell has begun", || begun.exists());
        client.cancel(&call);
        assert_eq!(client.about(&call)["cancelled"], true);
        let (took, (is_error, text)) = timed(|| client.run(json!({ "code": "x" })));
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert!(!is_error, "{text}");
        assert!(
            text.starts_with("an earlier cell of this session, whose result nobody waited for:\npython, session `default`, cell 2: failed (cancelled)"),
            "{text}"
        );
        assert!(
            text.ends_with("\nthis call:\n") || text.ends_with("value (1 byte):\n1\n"),
            "{text}"
        );
        client.finish();
    }
}

/// A client that gives up by its own clock takes its call back as well.
#[test]
fn a_client_s_own_timeout_stops_the_cell() {
    let mut client = Workspace::new().client(Protocol::Handshake, &[]);
    client.ok("x = 1");
    let call = client.begin_with(
        "run_code",
        json!({ "code": ENDLESS }),
        json!({ "timeout": 0.5 }),
    );
    let message = client.about(&call);
    assert!(message["error"].is_string(), "{message}");
    let (is_error, text) = client.run(json!({ "code": "x" }));
    assert!(!is_error, "{text}");
    assert!(text.contains("failed (cancelled)"), "{text}");
    client.finish();
}

/// A client that was gone left its kernel busy: the same report's twin. Here everything ends with it.
#[test]
fn a_client_that_leaves_takes_its_cells_along() {
    let workspace = Workspace::new();
    let mut command = warmcell(["mcp", "--workspace"]);
    command.arg(workspace.path());
    let mut server = Program::start(command);
    let since = Instant::now();
    use std::io::Write;
    let code = format!(
        "import os, subprocess\nsubprocess.Popen(['sleep', '1000'])\nopen('begun', 'w').close()\n{ENDLESS}"
    );
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "run_code", "arguments": { "code": code } } }),
    ] {
        writeln!(server.stdin(), "{message}").unwrap();
    }
    let begun = workspace.path().join("begun");
    eventually("the cell has begun", || begun.exists());
    let id = server.id() as i32;
    let family = |of: i32| {
        let mut found = vec![of];
        for process in processes::descendants() {
            if found.contains(&process.parent) {
                found.push(process.id);
            }
        }
        found
    };
    let before = family(id);
    assert!(before.len() > 2, "{before:?}");
    let ended = server.finish();
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(since.elapsed() < Duration::from_secs(30));
    eventually("its processes are gone", || {
        before.iter().all(|id| processes::process(*id).is_none())
    });
}
