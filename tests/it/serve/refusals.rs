//! What the server refuses, under which code, and in which words.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{INVALID_PARAMS, INVALID_REQUEST};
use crate::support::{Server, refusal_in};

const PARSE_ERROR: i64 = -32700;
const UNKNOWN_METHOD: i64 = -32601;

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
            "`language` must be `python`, `javascript` or `typescript`, not \"cobol\"",
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
            json!({ "language": "python", "backup": "always" }),
            "`backup` must be `off`, `last` or `undo`, not \"always\"",
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
            json!({ "language": "python", "capabilities": ["mail"] }),
            "`capabilities`: `mail` alone is no capability",
        ),
        (
            json!({ "language": "python", "limits": 5 }),
            "`limits` must be an object, not 5",
        ),
        (
            json!({ "language": "python", "limits": { "memory": 5 } }),
            "`memory` is not a field of `limits`, which takes `timeoutMs`, `cpuMs`, `memoryMb`, `processes`, `openFiles`, `fileMb`, `outputBytes`, `valueBytes`, `imageBytes`, `displayBytes`, `displayEntries` and `artifactBytes`",
        ),
        (
            json!({ "language": "python", "limits": { "memoryMb": 1 } }),
            "`memoryMb` is 1, which is not between 16 and 1048576",
        ),
        (
            json!({ "language": "python", "placement": "in-process", "limits": { "cpuMs": 100 } }),
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
