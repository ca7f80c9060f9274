//! The stdio host protocol, seen from the other end of the pipes.

#[cfg(all(feature = "javascript", feature = "quickjs"))]
mod functions;
mod javascript;
mod pipes;
mod refusals;

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Server, refusal_in};

const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// Runs for ever, and says when it has begun.
const ENDLESS: &str = "print('begun', flush=True)\nwhile True:\n    pass";

#[test]
fn a_session_lives_from_open_to_close() {
    let mut server = Server::start();
    let hello = server.call("initialize", json!({ "clientInfo": { "name": "test" } }));
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let python = &hello["languages"][0];
    assert_eq!(
        (&python["language"], &python["engine"]),
        (&json!("python"), &json!("python"))
    );
    assert!(
        python["executable"]
            .as_str()
            .is_some_and(|path| path.starts_with('/')),
        "{python}"
    );

    let session = server.python();
    assert_eq!(
        server.call(
            "bind",
            json!({ "session": session, "name": "rows", "value": [3, 1, 2] })
        ),
        json!({})
    );
    let outcome = server.cell(&session, "print('sorting')\nreturn sorted(rows)");
    assert_eq!(outcome["value"], json!([1, 2, 3]));
    assert_eq!(outcome["stdout"], "sorting\n");
    assert_eq!(
        (
            &outcome["ok"],
            &outcome["state"],
            &outcome["executionCount"]
        ),
        (&json!(true), &json!("kept"), &json!(1))
    );
    assert_eq!(
        server.call("inspect", json!({ "session": session })),
        json!({ "variables": [{ "name": "rows", "type": "list", "preview": "[3, 1, 2]" }] })
    );
    assert_eq!(
        server.call("reset", json!({ "session": session })),
        json!({})
    );
    assert_eq!(server.cell(&session, "rows")["error"]["name"], "NameError");
    assert_eq!(
        server.call("close", json!({ "session": session })),
        json!({})
    );
    let (code, message) = server.refusal("execute", json!({ "session": session, "code": "1" }));
    assert_eq!(code, INVALID_PARAMS);
    assert!(
        message.starts_with("`session` is \"session-1\", which is not open"),
        "{message}"
    );
    assert_eq!(server.finish().status, 0);
}

/// User output entered the protocol's stream: espressif/esp-idf#19087 and its like. Here it has no way in.
#[test]
fn nothing_a_cell_writes_is_taken_for_a_message() {
    for placement in ["in-process", "worker"] {
        nothing_of_a_cell_is_a_message(placement);
    }
}

fn nothing_of_a_cell_is_a_message(placement: &str) {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "placement": placement }),
    );
    let session = opened["session"].as_str().expect("a name").to_owned();
    let fake = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let code = format!(
        "import os, subprocess, ctypes\nfake = {fake:?} + '\\n'\nos.write(1, b'raw ' + fake.encode())\nsubprocess.run(['echo', 'child ' + fake.strip()])\nctypes.CDLL(None).puts(b'c ' + fake.encode())\nctypes.CDLL(None).fflush(None)\nprint(fake, end='')\nreturn os.read(0, 1).decode()"
    );
    let outcome = server.cell(&session, &code);
    assert_eq!(outcome["value"], "", "{outcome}");
    let is_captured = placement == "worker";
    let native = match is_captured {
        true => format!("raw {fake}\nchild {fake}\nc {fake}\n\n"),
        false => String::new(),
    };
    assert_eq!(outcome["stdout"], format!("{native}{fake}\n"));
    // The descriptors that carry the protocol do not reach a child.
    let listed = server.cell(
        &session,
        "return subprocess.run(['ls', '-l', '/proc/self/fd'], stdout=subprocess.PIPE, text=True, close_fds=False).stdout",
    );
    let listed = listed["value"].as_str().expect("a list");
    assert!(listed.contains(" 0 -> /dev/null\n"), "{listed}");
    for pipe in &server.program().pipes {
        assert!(!listed.contains(pipe), "{listed}");
    }
    let ended = server.finish();
    assert_eq!(ended.status, 0);
    for origin in ["raw", "child", "c"] {
        assert_eq!(
            ended.stderr.contains(&format!("{origin} {fake}\n")),
            !is_captured,
            "{}",
            ended.stderr
        );
    }
}

/// A cell that asked for input hung and could not be interrupted: jupyterlab/jupyterlab#6196.
#[test]
fn asking_for_input_fails_at_once_and_every_time() {
    let mut server = Server::start();
    let session = server.python();
    for _ in 0..2 {
        let outcome = server.cell(&session, "x = input()");
        assert_eq!(outcome["error"]["kind"], "stdin", "{outcome}");
        assert_eq!(outcome["state"], "kept");
    }
    assert_eq!(server.cell(&session, "1 + 1")["value"], 2);
}

/// A failed cell took its bindings with it: openai/codex#13482.
#[test]
fn a_failed_cell_keeps_what_it_had_bound() {
    let mut server = Server::start();
    let session = server.python();
    assert_eq!(
        server.cell(&session, "a = 1\n1/0\nb = 2")["error"]["line"],
        2
    );
    assert_eq!(
        server.cell(&session, "[a, 'b' in globals()]")["value"],
        json!([1, false])
    );
}

/// What was cut could not be told from what was not: openai/codex#35421.
#[test]
fn output_over_its_budget_is_counted() {
    let mut server = Server::start();
    let session = server.python();
    let outcome = server.cell(&session, "for n in range(500_000):\n    print(f'{n:09}')");
    let stdout = outcome["stdout"].as_str().expect("text");
    let cut = &outcome["truncated"]["stdout"];
    assert!(
        stdout.starts_with("000000000\n000000001\n") && stdout.ends_with("000499998\n000499999\n")
    );
    assert_eq!(
        (&cut["bytes"], &cut["lines"]),
        (&json!(5_000_000), &json!(500_000))
    );
    let left_out = cut["bytesLeftOut"].as_u64().expect("a number");
    let kept = stdout.len() as u64
        - stdout
            .lines()
            .find(|line| line.starts_with('['))
            .expect("a mark")
            .len() as u64
        - 1;
    assert!(
        (kept + left_out).abs_diff(5_000_000) <= 1,
        "{kept} and {left_out}"
    );
}

#[test]
fn a_value_crosses_as_it_was_written() {
    let mut server = Server::start();
    let session = server.python();
    server.send("execute", json!({ "session": session, "code": "return {'b': 18446744073709551615, 'a': 1.0, 'z': None, 'e': 'é\\u2028'}" }));
    let line = server.line();
    assert!(
        line.contains(
            "\"value\":{\"b\":18446744073709551615,\"a\":1.0,\"z\":null,\"e\":\"é\u{2028}\"}"
        ),
        "{line}"
    );
    // In the other direction too: the order of keys, and the digits.
    server.send_line(format!(r#"{{"jsonrpc":"2.0","id":"b","method":"bind","params":{{"session":"{session}","name":"row","value":{{"z":18446744073709551615,"a":[1.0,null]}}}}}}"#));
    assert_eq!(server.message()["result"], json!({}));
    assert_eq!(
        server.cell(&session, "return repr(row)")["value"],
        "{'z': 18446744073709551615, 'a': [1.0, None]}"
    );
    // An absent value is not null, and null is not absent.
    assert_eq!(
        server.cell(&session, "return None").get("value"),
        Some(&Value::Null)
    );
    assert_eq!(server.cell(&session, "x = 1").get("value"), None);
}

#[test]
fn requests_of_one_session_are_served_in_their_order() {
    let mut server = Server::start();
    let session = server.python();
    let mut ids = vec![server.send(
        "bind",
        json!({ "session": session, "name": "rows", "value": [] }),
    )];
    for n in 0..100 {
        ids.push(server.send(
            "execute",
            json!({ "session": session, "code": format!("rows.append({n})") }),
        ));
        if n % 10 == 9 {
            ids.push(server.send(
                "bind",
                json!({ "session": session, "name": "bound", "value": n }),
            ));
            ids.push(server.send(
                "execute",
                json!({ "session": session, "code": "return [bound, len(rows)]" }),
            ));
        }
    }
    ids.push(server.send("reset", json!({ "session": session })));
    ids.push(server.send(
        "execute",
        json!({ "session": session, "code": "'rows' in globals()" }),
    ));
    // An answer comes when it is ready, and says by its id what it answers.
    let mut answers: HashMap<u64, Value> = HashMap::new();
    for _ in &ids {
        let mut answer = server.message();
        let id = answer["id"].as_u64().expect("a number");
        answers.insert(id, answer["result"]["value"].take());
    }
    let values: Vec<&Value> = ids.iter().map(|id| &answers[id]).collect();
    let pairs: Vec<&Value> = values
        .iter()
        .copied()
        .filter(|value| value.is_array())
        .collect();
    let wanted: Vec<Value> = (0..10)
        .map(|tens| json!([tens * 10 + 9, tens * 10 + 10]))
        .collect();
    assert_eq!(pairs, wanted.iter().collect::<Vec<_>>());
    assert_eq!(values.last(), Some(&&json!(false)));
}

#[test]
fn other_requests_are_served_while_a_cell_runs() {
    let mut server = Server::start();
    let session = server.python();
    let running = server.send(
        "execute",
        json!({ "session": session, "code": ENDLESS, "stream": true }),
    );
    assert_eq!(server.message()["method"], "output");
    assert_eq!(server.call("initialize", json!({}))["protocolVersion"], 1);
    assert_eq!(
        server.call("interrupt", json!({ "session": session })),
        json!({ "running": true })
    );
    assert_eq!(
        server.answer(running)["result"]["error"]["kind"],
        "cancelled"
    );
    assert_eq!(
        server.call("interrupt", json!({ "session": session })),
        json!({ "running": false })
    );
    assert_eq!(server.cell(&session, "1 + 1")["value"], 2);
}

/// By the clock its grace had gone when the host went on.
#[test]
fn a_host_that_was_paused_gives_up_no_cell() {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "placement": "in-process" }),
    );
    let session = opened["session"].as_str().expect("a name").to_owned();
    let a_third_of_a_second = "import time\nbegun = time.monotonic(); sum(range(1_000_000))\nlength = int(300_000 / (time.monotonic() - begun))";
    assert_eq!(server.cell(&session, a_third_of_a_second)["ok"], true);
    let deaf = server.send(
        "execute",
        json!({ "session": session, "code": "print('deaf')\nsum(range(length))", "stream": true }),
    );
    assert_eq!(server.message()["method"], "output");
    server.call("interrupt", json!({ "session": session }));
    server.program().signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    server.program().signal(libc::SIGCONT);
    let outcome = server.answer(deaf)["result"].take();
    let ended = (&outcome["error"]["kind"], &outcome["state"]);
    assert_eq!(ended, (&json!("cancelled"), &json!("kept")), "{outcome}");
    assert_eq!(server.cell(&session, "length > 0")["value"], true);
    server.finish();
}

/// One that comes right behind its cell does not miss it, whether the cell has begun or not.
#[test]
fn an_interrupt_stops_a_cell_that_has_not_begun() {
    let mut server = Server::start();
    let session = server.python();
    for _ in 0..20 {
        let running = server.send("execute", json!({ "session": session, "code": ENDLESS }));
        let stopped = server.send("interrupt", json!({ "session": session }));
        assert_eq!(server.answer(stopped)["result"], json!({ "running": true }));
        assert_eq!(
            server.answer(running)["result"]["error"]["kind"],
            "cancelled"
        );
    }
}

#[test]
fn a_cancelled_cell_is_stopped_and_one_that_waits_never_runs() {
    let mut server = Server::start();
    let session = server.python();
    let running = server.send(
        "execute",
        json!({ "session": session, "code": ENDLESS, "stream": true }),
    );
    let waiting = server.send(
        "execute",
        json!({ "session": session, "code": "ran = True" }),
    );
    let output = server.message();
    assert_eq!(
        output["params"],
        json!({ "id": running, "stream": "stdout", "text": "begun\n" })
    );
    server.notify("$/cancelRequest", json!({ "id": waiting }));
    let outcome = server.answer(waiting)["result"].take();
    assert_eq!(
        (&outcome["error"]["kind"], &outcome["state"]),
        (&json!("cancelled"), &json!("kept"))
    );
    server.notify("$/cancelRequest", json!({ "id": running }));
    let outcome = server.answer(running)["result"].take();
    assert_eq!(
        (&outcome["error"]["kind"], &outcome["state"]),
        (&json!("cancelled"), &json!("kept"))
    );
    assert_eq!(outcome["stdout"], "begun\n");
    // Too late, unknown: no mistake, and no answer.
    server.notify("$/cancelRequest", json!({ "id": running }));
    server.notify("$/cancelRequest", json!({ "id": "never" }));
    assert_eq!(server.cell(&session, "'ran' in globals()")["value"], false);
}

#[test]
fn an_id_is_used_once_at_a_time() {
    let mut server = Server::start();
    let session = server.python();
    let running = server.send(
        "execute",
        json!({ "session": session, "code": ENDLESS, "stream": true }),
    );
    assert_eq!(server.message()["method"], "output");
    server
        .send_line(json!({ "jsonrpc": "2.0", "id": running, "method": "initialize" }).to_string());
    let (code, message) = refusal_in(&server.answer(running));
    assert_eq!(
        (code, message),
        (
            INVALID_REQUEST,
            format!("`id` {running} belongs to a request that has no answer yet")
        )
    );
    server.notify("$/cancelRequest", json!({ "id": running }));
    assert_eq!(
        server.answer(running)["result"]["error"]["kind"],
        "cancelled"
    );
}

#[test]
fn a_notification_has_no_answer() {
    let mut server = Server::start();
    let session = server.python();
    server.notify("execute", json!({ "session": session, "code": "x = 1" }));
    server.notify("no/such", json!({}));
    server.send_line(r#"{"jsonrpc":"2.0","id":77,"result":"to nothing"}"#);
    server.send_line("");
    assert_eq!(server.cell(&session, "x")["value"], 1);
    let ended = server.finish();
    assert!(
        ended
            .stderr
            .contains("the notification `no/such` was refused"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_streams_stands_in_the_outcome_too() {
    let mut server = Server::start();
    let session = server.python();
    let code = "import sys\nfor n in range(3):\n    print('line', n)\nprint('oops', file=sys.stderr)\nprint('no newline', end='')\nobject";
    let id = server.send(
        "execute",
        json!({ "session": session, "code": code, "stream": true }),
    );
    let (mut stdout, mut stderr, mut entries) = (String::new(), String::new(), Vec::new());
    let outcome = loop {
        let mut message = server.message();
        if message["method"] != "output" {
            assert_eq!(message["id"], id);
            break message["result"].take();
        }
        let params = &mut message["params"];
        assert_eq!(params["id"], id);
        match (params["stream"].as_str(), params["text"].as_str()) {
            (Some("stdout"), Some(text)) => stdout.push_str(text),
            (Some("stderr"), Some(text)) => stderr.push_str(text),
            (None, None) => entries.push(params["entry"].take()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (stdout.as_str(), stderr.as_str()),
        ("line 0\nline 1\nline 2\nno newline", "oops\n")
    );
    assert_eq!(
        (&outcome["stdout"], &outcome["stderr"]),
        (&json!(stdout), &json!(stderr))
    );
    assert_eq!(outcome["display"], Value::Array(entries));
    assert_eq!(
        outcome["display"][0]["data"]["text/plain"],
        "<class 'object'>"
    );
}
