//! The stdio host protocol, seen from the other end of the pipes.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Server, refusal_in, warmcell};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
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

#[test]
fn what_is_no_request_is_answered_by_the_book() {
    let mut server = Server::start();
    let frames: [(&[u8], Value, i64, &str); 10] = [
        (b"nonsense", Value::Null, PARSE_ERROR, "the line is not JSON: "),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"clientInfo\":NaN}}", Value::Null, PARSE_ERROR, "the line is not JSON: "),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", Value::Null, PARSE_ERROR, "the line is not UTF-8 from its byte 34"),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]", Value::Null, INVALID_REQUEST, "a batch is not taken"),
        (b"7", Value::Null, INVALID_REQUEST, "a message is a JSON object, not 7"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", json!(1), INVALID_REQUEST, "`method` is missing"),
        (b"{\"id\":\"a\",\"method\":\"initialize\"}", json!("a"), INVALID_REQUEST, "`jsonrpc` must be \"2.0\""),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"initialize\"}", Value::Null, INVALID_REQUEST, "`id` must be a string or a number, not null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":7}", json!(2), INVALID_REQUEST, "`method` must be a string, not 7"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\",\"params\":[1]}", json!(3), INVALID_PARAMS, "`params` must be an object"),
    ];
    for (line, id, code, said) in frames {
        server.send_line(line);
        let answer = server.message();
        assert_eq!(answer["id"], id, "{answer}");
        let (given, message) = refusal_in(&answer);
        assert_eq!(given, code, "{message}");
        assert!(message.starts_with(said), "{message}");
    }
    let (code, message) = server.refusal("evaluate", json!({}));
    assert_eq!(code, UNKNOWN_METHOD);
    assert!(
        message.starts_with("there is no method `evaluate`: use `initialize`, `open`"),
        "{message}"
    );
    // None of it did any harm.
    let session = server.python();
    assert_eq!(server.cell(&session, "1 + 1")["value"], 2);
    assert_eq!(server.finish().status, 0);
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut server = Server::start();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..70 {
        server
            .program()
            .stdin()
            .write_all(&piece)
            .expect("the server reads");
    }
    server.send_line("");
    let (code, message) = refusal_in(&server.message());
    assert_eq!(code, INVALID_REQUEST);
    assert_eq!(
        message,
        "the line has more than 67108864 bytes, and was skipped"
    );
    let session = server.python();
    assert_eq!(server.cell(&session, "1 + 1")["value"], 2);
}

#[test]
fn wrong_parameters_are_named_with_what_is_allowed() {
    let mut server = Server::start();
    let cases = [
        (json!({}), "`language` is missing"),
        (
            json!({ "language": "cobol" }),
            "`language` must be `python`, not \"cobol\"",
        ),
        (
            json!({ "language": "python", "engine": "boa" }),
            "`engine` must be `python`, not \"boa\"",
        ),
        (
            json!({ "language": "python", "placement": "moon" }),
            "`placement` must be `in-process` or `worker`, not \"moon\"",
        ),
        (
            json!({ "language": "python", "placement": "worker" }),
            "`placement` is `worker`, and this version of warmcell has no workers",
        ),
        (
            json!({ "language": "python", "cwd": 7 }),
            "`cwd` must be a string of text, not 7",
        ),
        (
            json!({ "language": "python", "cwd": "/no/such" }),
            "`cwd` is `/no/such`, which does not exist",
        ),
        (
            json!({ "language": "python", "env": { "A": 1 } }),
            "`env` must be an object whose values are strings, not {\"A\":1}",
        ),
        (
            json!({ "language": "python", "env": { "A=B": "" } }),
            "`env` holds the name \"A=B\"",
        ),
        (
            json!({ "language": "python", "integers": "big" }),
            "`integers` must be `exact` or `safe`, not \"big\"",
        ),
        (
            json!({ "language": "python", "python": "/no/such" }),
            "`python`: `/no/such` does not exist",
        ),
        (
            json!({ "language": "python", "capabilities": ["fs"] }),
            "`capabilities` is given, and this version",
        ),
        (
            json!({ "language": "python", "functions": [{ "name": "f" }] }),
            "`functions` is given, and this version",
        ),
        (
            json!({ "language": "python", "limits": 5 }),
            "`limits` must be an object, not 5",
        ),
        (
            json!({ "language": "python", "limits": { "memory": 5 } }),
            "`memory` is not a field of `limits`, which takes `timeoutMs`, `cpuMs`, `memoryMb`, `outputBytes` and `valueBytes`",
        ),
        (
            json!({ "language": "python", "limits": { "memoryMb": 1 } }),
            "`memoryMb` is 1, which is not between 16 and 1048576",
        ),
        (
            json!({ "language": "python", "limits": { "cpuMs": 100 } }),
            "`cpuMs` needs a process of its own",
        ),
        (
            json!({ "language": "python", "timeout": 5 }),
            "`timeout` is not a field of `open`, which takes `language`, `engine`, ",
        ),
    ];
    for (params, said) in cases {
        let (code, message) = server.refusal("open", params);
        assert_eq!(code, INVALID_PARAMS, "{message}");
        assert!(message.starts_with(said), "{message}");
    }
    let session = server.python();
    let cases = [
        (
            "execute",
            json!({ "session": session }),
            "`code` is missing",
        ),
        ("execute", json!({ "code": "1" }), "`session` is missing"),
        (
            "execute",
            json!({ "session": 1, "code": "1" }),
            "`session` must be a string of text, not 1",
        ),
        (
            "execute",
            json!({ "session": session, "code": "1", "stream": 1 }),
            "`stream` must be `true` or `false`, not 1",
        ),
        (
            "bind",
            json!({ "session": session, "name": "x" }),
            "`value` is missing",
        ),
        (
            "interrupt",
            json!({ "session": "session-9" }),
            "`session` is \"session-9\", which is not open",
        ),
        (
            "initialize",
            json!({ "client": {} }),
            "`client` is not a field of `initialize`, which takes `clientInfo`",
        ),
    ];
    for (method, params, said) in cases {
        let (code, message) = server.refusal(method, params);
        assert_eq!(code, INVALID_PARAMS, "{message}");
        assert!(message.starts_with(said), "{message}");
    }
    let (code, message) = server.refusal(
        "bind",
        json!({ "session": session, "name": "not a name", "value": 1 }),
    );
    assert_eq!(code, INVALID_PARAMS, "{message}");
    assert!(message.contains("not a name"), "{message}");
    assert_eq!(server.cell(&session, "1 + 1")["value"], 2);
}

/// `timeout=0` became a second, without a word: can1357/oh-my-pi#5250.
#[test]
fn a_timeout_is_taken_as_it_is_or_refused() {
    let mut server = Server::start();
    let session = server.python();
    let cases = [
        (
            "0",
            "`timeoutMs` is 0, which is not between 1 and 604800000",
        ),
        (
            "604800001",
            "`timeoutMs` is 604800001, which is not between 1 and 604800000",
        ),
        ("-1", "`timeoutMs` must be a positive whole number, not -1"),
        (
            "0.5",
            "`timeoutMs` must be a positive whole number, not 0.5",
        ),
        (
            "1e300",
            "`timeoutMs` must be a positive whole number, not 1e300",
        ),
        (
            "null",
            "`timeoutMs` must be a positive whole number, not null",
        ),
        (
            "\"5\"",
            "`timeoutMs` must be a positive whole number, not \"5\"",
        ),
    ];
    for (timeout, said) in cases {
        for (method, params) in [
            (
                "execute",
                format!(
                    r#"{{"session": "{session}", "code": "ran = True", "timeoutMs": {timeout}}}"#
                ),
            ),
            (
                "open",
                format!(r#"{{"language": "python", "limits": {{"timeoutMs": {timeout}}}}}"#),
            ),
        ] {
            server.send_line(format!(
                r#"{{"jsonrpc": "2.0", "id": 0, "method": "{method}", "params": {params}}}"#
            ));
            assert_eq!(
                refusal_in(&server.message()),
                (INVALID_PARAMS, said.to_owned())
            );
        }
    }
    assert_eq!(server.cell(&session, "'ran' in globals()")["value"], false);
    let since = Instant::now();
    let outcome = server.call(
        "execute",
        json!({ "session": session, "code": "while True: pass", "timeoutMs": 200.0 }),
    );
    assert_eq!(outcome["error"]["kind"], "timeout");
    assert!((Duration::from_millis(200)..Duration::from_millis(1900)).contains(&since.elapsed()));
}

/// User output entered the protocol's stream: espressif/esp-idf#19087 and its like. Here it has no way in.
#[test]
fn nothing_a_cell_writes_is_taken_for_a_message() {
    let mut server = Server::start();
    let session = server.python();
    let fake = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let code = format!(
        "import os, subprocess, ctypes\nfake = {fake:?} + '\\n'\nos.write(1, b'raw ' + fake.encode())\nsubprocess.run(['echo', 'child ' + fake.strip()])\nctypes.CDLL(None).puts(b'c ' + fake.encode())\nctypes.CDLL(None).fflush(None)\nprint(fake, end='')\nreturn os.read(0, 1).decode()"
    );
    let outcome = server.cell(&session, &code);
    assert_eq!(outcome["value"], "", "{outcome}");
    assert_eq!(outcome["stdout"], format!("{fake}\n"));
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
        assert!(
            ended.stderr.contains(&format!("{origin} {fake}\n")),
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

/// A client that does not read holds up nobody but itself, and costs a bounded amount of memory.
#[test]
fn a_slow_reader_is_told_what_it_missed() {
    const LINES: usize = 400_000;
    // Nothing of this is read until the named pipe says that the cell has ended.
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("ended");
    let code = format!(
        "import os\nos.mkfifo({pipe:?})\nfor n in range({LINES}):\n    print('x' * 99)\nopen({pipe:?}, 'w').write('ended')"
    );
    let mut slow = warmcell(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut input = slow.stdin.take().expect("a pipe");
    let mut output = BufReader::new(slow.stdout.take().expect("a pipe"));
    let mut message = || -> Value {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    };
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":1,"method":"open","params":{{"language":"python"}}}}"#
    )
    .expect("written");
    let session = message()["result"]["session"]
        .as_str()
        .expect("a name")
        .to_owned();
    let request = json!({ "jsonrpc": "2.0", "id": 2, "method": "execute", "params": { "session": session, "code": code, "stream": true } });
    writeln!(input, "{request}").expect("written");
    // The first message shows that the cell has begun, and the pipe that it has ended: it did not wait for us.
    let first = message();
    let mut said = String::new();
    fs::File::open(&pipe)
        .expect("the cell's pipe")
        .read_to_string(&mut said)
        .expect("read");
    assert_eq!(said, "ended");
    let status = fs::read_to_string(format!("/proc/{}/status", slow.id())).expect("a status");
    let resident: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|text| text.trim().strip_suffix(" kB"))
        .and_then(|text| text.parse().ok())
        .expect("a size");
    assert!(
        resident < 200 << 10,
        "{resident} kB, of output that nobody reads"
    );
    let (mut shown, mut missed) = (0, 0);
    let mut next = first;
    while next["method"] == "output" {
        let params = &next["params"];
        shown += params["text"].as_str().map_or(0, str::len);
        missed += params["gap"]["bytes"].as_u64().unwrap_or(0) as usize;
        next = message();
    }
    assert_eq!(next["id"], 2);
    assert!(missed > 0);
    assert_eq!(shown + missed, LINES * 100);
    assert_eq!(next["result"]["truncated"]["stdout"]["bytes"], LINES * 100);
    drop(input);
    assert_eq!(slow.wait().expect("an end").code(), Some(0));
}

#[test]
fn the_end_of_input_ends_everything() {
    for code in [
        ENDLESS,
        // It ignores being stopped.
        "print('begun', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
        // Nothing can stop it.
        "print('begun', flush=True)\nsum(range(10**13))",
        // It leaves threads behind.
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nprint('begun', flush=True)\nwhile True: pass",
    ] {
        let mut server = Server::start();
        let session = server.python();
        server.send(
            "execute",
            json!({ "session": session, "code": code, "stream": true }),
        );
        assert_eq!(server.message()["params"]["text"], "begun\n");
        let ended = server.finish();
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let last = ended.stdout.lines().last().expect("an answer");
        assert!(last.contains("\"kind\":\"cancelled\""), "{last}");
    }
}

#[test]
fn a_request_without_a_newline_at_the_end_of_input_is_served() {
    let mut server = Server::start();
    server
        .program()
        .stdin()
        .write_all(br#"{"jsonrpc":"2.0","id":5,"method":"initialize"}"#)
        .expect("written");
    let ended = server.finish();
    assert!(
        ended
            .stdout
            .starts_with(r#"{"jsonrpc":"2.0","id":5,"result":{"#),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.status, 0);
}

#[test]
fn a_client_that_is_gone_is_no_error() {
    let mut server = warmcell(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    drop(server.stdout.take());
    let mut input = server.stdin.take().expect("a pipe");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"}}"#).expect("written");
    // The input stays open: it is the answer that finds nobody.
    let mut said = String::new();
    server
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut said)
        .expect("read");
    assert_eq!(server.wait().expect("an end").code(), Some(0), "{said}");
    assert_eq!(said, "");
    drop(input);
}
