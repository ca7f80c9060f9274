//! JavaScript and TypeScript through the protocol, on both engines.

use serde_json::{Value, json};

use super::INVALID_PARAMS;
use crate::support::Server;

const ENGINES: [&str; 2] = ["boa", "quickjs"];

fn open(server: &mut Server, params: Value) -> String {
    let answer = server.call("open", params);
    answer["session"].as_str().expect("a session").to_owned()
}

#[test]
fn initialize_lists_every_engine() {
    let mut server = Server::start();
    let hello = server.call("initialize", json!({}));
    let languages = hello["languages"].as_array().expect("a list");
    let listed: Vec<Value> = languages
        .iter()
        .map(|language| json!([language["language"], language["engine"]]))
        .collect();
    assert_eq!(
        listed,
        [
            json!(["python", "python"]),
            json!(["javascript", "boa"]),
            json!(["javascript", "quickjs"]),
            json!(["typescript", "boa"]),
            json!(["typescript", "quickjs"]),
        ]
    );
    for language in languages {
        let version = language["version"].as_str().expect("a version");
        assert!(
            version.starts_with(|first: char| first.is_ascii_digit()),
            "{version}"
        );
    }
}

#[test]
fn a_session_lives_on_either_engine() {
    let mut server = Server::start();
    for engine in ENGINES {
        let session = open(
            &mut server,
            json!({ "language": "typescript", "engine": engine }),
        );
        assert_eq!(
            server.call(
                "bind",
                json!({ "session": session, "name": "rows", "value": [3, 1, 2] })
            ),
            json!({})
        );
        let outcome = server.cell(&session, "const least: number = Math.min(...rows);\nconsole.log('sorting');\nreturn rows.toSorted()");
        assert_eq!(outcome["value"], json!([1, 2, 3]), "{outcome}");
        assert_eq!(outcome["stdout"], "sorting\n");
        assert_eq!(
            server.call("inspect", json!({ "session": session })),
            json!({ "variables": [
                { "name": "rows", "type": "Array", "preview": "[ 3, 1, 2 ]" },
                { "name": "least", "type": "number", "preview": "1" },
            ] })
        );
        assert_eq!(
            server.call("reset", json!({ "session": session })),
            json!({})
        );
        assert_eq!(
            server.cell(&session, "rows")["error"]["name"],
            "ReferenceError"
        );
        assert_eq!(
            server.call("close", json!({ "session": session })),
            json!({})
        );
    }
    assert_eq!(server.finish().status, 0);
}

/// Languages and engines do not see each other's names, nor wait for each other.
#[test]
fn sessions_of_all_engines_run_side_by_side() {
    let mut server = Server::start();
    let python = server.python();
    let boa = open(&mut server, json!({ "language": "javascript" }));
    let quickjs = open(
        &mut server,
        json!({ "language": "javascript", "engine": "quickjs" }),
    );
    let mut running = Vec::new();
    for session in [&boa, &quickjs] {
        let endless = json!({ "session": session, "code": "console.log('begun'); while (true) {}", "stream": true });
        running.push(server.send("execute", endless));
        assert_eq!(server.message()["method"], "output");
    }
    assert_eq!(server.cell(&python, "x = 1\nx")["value"], 1);
    for (session, id) in [&boa, &quickjs].into_iter().zip(running) {
        assert_eq!(
            server.call("interrupt", json!({ "session": session }))["running"],
            true
        );
        let outcome = server.answer(id)["result"].take();
        assert_eq!(
            (&outcome["error"]["kind"], &outcome["state"]),
            (&json!("cancelled"), &json!("kept"))
        );
        assert_eq!(server.cell(session, "typeof x")["value"], "undefined");
    }
}

/// boa is what a session gets that does not say: it alone has Temporal.
#[test]
fn the_engine_is_the_one_that_was_asked_for() {
    let mut server = Server::start();
    for (params, has_temporal) in [
        (json!({ "language": "javascript" }), true),
        (json!({ "language": "javascript", "engine": "boa" }), true),
        (
            json!({ "language": "typescript", "engine": "quickjs" }),
            false,
        ),
    ] {
        let session = open(&mut server, params);
        assert_eq!(
            server.cell(&session, "typeof Temporal === 'object'")["value"],
            has_temporal
        );
    }
}

#[test]
fn wrong_engines_and_options_are_named() {
    let mut server = Server::start();
    for (params, said) in [
        (
            json!({ "language": "javascript", "engine": "v8" }),
            "`engine` must be `boa` or `quickjs`, not \"v8\"",
        ),
        (
            json!({ "language": "typescript", "engine": "python" }),
            "`engine` must be `boa` or `quickjs`, not \"python\"",
        ),
        (
            json!({ "language": "python", "engine": "quickjs" }),
            "`engine` must be `python`, not \"quickjs\"",
        ),
        (
            json!({ "language": "javascript", "python": "/usr" }),
            "`python` is given, and javascript needs none\nhint: leave `python` out",
        ),
        (
            json!({ "language": "typescript", "env": { "A": "1" } }),
            "`env` is given, and typescript cells see no environment\nhint: leave `env` out, and hand values over with `bind`",
        ),
    ] {
        assert_eq!(
            server.refusal("open", params),
            (INVALID_PARAMS, said.to_owned())
        );
    }
    let session = open(&mut server, json!({ "language": "javascript" }));
    let (code, message) = server.refusal(
        "bind",
        json!({ "session": session, "name": "a b", "value": 1 }),
    );
    assert_eq!(code, INVALID_PARAMS);
    assert_eq!(message, "`a b` cannot be the name of a variable");
}
