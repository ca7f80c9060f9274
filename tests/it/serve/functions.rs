//! Functions of the client's: what cells call, as requests to the client, in parallel, cancelled with their cell.

use serde_json::{Value, json};

use crate::support::Server;

fn functions() -> Value {
    json!([
        {
            "namespace": "shop",
            "name": "price",
            "description": "What an article costs.",
            "inputSchema": {
                "type": "object",
                "properties": { "article": { "type": "string" }, "count": { "type": "integer" } },
                "required": ["article"],
            },
        },
        { "namespace": "shop", "name": "close" },
    ])
}

/// Opens a session with the functions, for each way to run cells.
fn everywhere(test: impl Fn(&mut Server, &str, &dyn Fn(&str) -> String)) {
    let python = |call: &str| format!("return {call}");
    let javascript = |call: &str| format!("return await {call}");
    for placement in ["in-process", "worker"] {
        for (language, engine) in [
            ("python", "python"),
            ("javascript", "boa"),
            ("typescript", "quickjs"),
        ] {
            let mut server = Server::start();
            let opened = server.call(
                "open",
                json!({ "language": language, "engine": engine, "placement": placement, "functions": functions() }),
            );
            let session = opened["session"].as_str().unwrap().to_owned();
            let code: &dyn Fn(&str) -> String = match language {
                "python" => &python,
                _ => &javascript,
            };
            test(&mut server, &session, code);
            server.call("close", json!({ "session": session }));
        }
    }
}

fn answer(server: &mut Server, id: &Value, result: &Value) {
    server.send_line(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
}

#[test]
fn a_cell_calls_the_client_and_gets_its_answer() {
    everywhere(|server, session, code| {
        let request = server.send(
            "execute",
            json!({ "session": session, "code": code("shop.price('tea', 3)") }),
        );
        let call = server.message();
        assert_eq!(call["method"], "call");
        assert_eq!(
            call["params"],
            json!({
                "session": session,
                "namespace": "shop",
                "name": "price",
                "arguments": { "article": "tea", "count": 3 },
            })
        );
        answer(server, &call["id"], &json!({ "total": [7.5, null] }));
        let outcome = server.answer(request)["result"].take();
        assert_eq!(
            outcome["value"],
            json!({ "total": [7.5, null] }),
            "{outcome}"
        );
    });
}

#[test]
fn an_error_of_the_clients_is_raised_in_the_cell() {
    everywhere(|server, session, code| {
        let request = server.send(
            "execute",
            json!({ "session": session, "code": code("shop.price('tea')") }),
        );
        let call = server.message();
        let error = json!({
            "code": 7,
            "message": "no such article",
            "data": { "kind": "permission", "retryable": true, "article": "tea" },
        });
        server.send_line(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }).to_string());
        let outcome = server.answer(request)["result"].take();
        assert_eq!(outcome["error"]["name"], "CapabilityError", "{outcome}");
        assert_eq!(outcome["error"]["message"], "no such article");
        let refused = server.cell(session, &code("shop.price(1)"));
        assert_eq!(refused["error"]["name"], "TypeError");
        assert_eq!(
            refused["error"]["message"],
            "shop.price() takes a string as `article`, not an integer"
        );
    });
}

#[test]
fn a_call_is_taken_back_when_its_cell_is_cancelled_or_late() {
    everywhere(|server, session, code| {
        let request = server.send(
            "execute",
            json!({ "session": session, "code": code("shop.close()"), "timeoutMs": 200 }),
        );
        let call = server.message();
        let mut messages = [server.message(), server.message()];
        messages.sort_by_key(|message| message.get("method").is_none());
        let [cancel, outcome] = messages;
        assert_eq!(cancel["method"], "$/cancelRequest");
        assert_eq!(cancel["params"], json!({ "id": call["id"] }));
        assert_eq!(outcome["id"], request);
        assert_eq!(outcome["result"]["error"]["kind"], "timeout", "{outcome}");
        assert_eq!(outcome["result"]["state"], "kept");
        // An answer that comes all the same disturbs nobody.
        answer(server, &call["id"], &json!(1));
        let after = server.cell(session, &code("1 + 1"));
        assert_eq!(after["value"], 2);
    });
}

#[test]
fn an_answer_that_is_late_is_told_from_one_that_nobody_asked_for() {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "functions": functions() }),
    );
    let request = server.send(
        "execute",
        json!({ "session": opened["session"], "code": "shop.close()", "timeoutMs": 100 }),
    );
    let call = server.message();
    let messages = [server.message(), server.message()];
    assert!(
        messages.iter().any(|message| message["id"] == request),
        "{messages:?}"
    );
    answer(&mut server, &call["id"], &json!(1));
    answer(&mut server, &json!("call-2"), &json!(1));
    let ended = server.finish();
    let wanted = "ignored an answer to a request that was never sent\n";
    assert!(ended.stderr.ends_with(wanted), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("ignored").count(),
        1,
        "{}",
        ended.stderr
    );
}

#[test]
fn calls_go_out_together_and_come_back_in_any_order() {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "functions": functions() }),
    );
    let session = opened["session"].as_str().unwrap().to_owned();
    let code =
        "import asyncio\nreturn await asyncio.gather(*[shop.price.aio(str(n)) for n in range(10)])";
    let request = server.send("execute", json!({ "session": session, "code": code }));
    let mut calls: Vec<Value> = (0..10).map(|_| server.message()).collect();
    calls.reverse();
    for call in calls {
        let article = call["params"]["arguments"]["article"].clone();
        answer(&mut server, &call["id"], &article);
    }
    let outcome = server.answer(request)["result"].take();
    let wanted: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(outcome["value"], json!(wanted), "{outcome}");
    let stubs = server.call("stubs", json!({ "session": session }));
    let stubs = stubs["stubs"].as_str().unwrap();
    assert!(
        stubs.contains(
            "    def price(article: str, count: int = ...): ...  # What an article costs.\n"
        ),
        "{stubs}"
    );
}

#[test]
fn functions_that_cannot_be_are_refused_by_name() {
    let mut server = Server::start();
    for (functions, part) in [
        (json!([{ "name": "f" }]), "missing field `namespace`"),
        (
            json!([{ "namespace": "print", "name": "f" }]),
            "would hide what cells have",
        ),
        (
            json!([{ "namespace": "a", "name": "f", "inputSchema": { "type": "string" } }]),
            "`inputSchema` of `a.f`",
        ),
        (
            json!([{ "namespace": "a", "name": "f" }, { "namespace": "a", "name": "f" }]),
            "two actions of the capability `a` are named `f`",
        ),
    ] {
        let (code, message) = server.refusal(
            "open",
            json!({ "language": "python", "functions": functions }),
        );
        assert_eq!(code, -32602);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn ready_made_capabilities_work_in_the_workspace() {
    let folder =
        std::env::temp_dir().join(format!("warmcell-test-workspace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("data.csv"), "a,b\n1,2\n").expect("a file");
    for (language, code) in [
        (
            "python",
            "found = search.search('1,2')['matches'][0]['path']\nran = shell.run('echo $((40 + 2))')['stdout']\ntry:\n    fs.read('../../etc/passwd')\nexcept CapabilityError as error:\n    return [fs.read('data.csv'), found, ran, error.kind]",
        ),
        (
            "javascript",
            "const found = (await search.search('1,2')).matches[0].path; const ran = (await shell.run('echo $((40 + 2))')).stdout; try { await fs.read('../../etc/passwd') } catch (error) { return [await fs.read('data.csv'), found, ran, error.kind] }",
        ),
    ] {
        for sandbox in ["off", "read-only"] {
            let mut server = Server::start();
            let opened = server.call(
                "open",
                json!({ "language": language, "workspace": folder, "sandbox": sandbox, "capabilities": ["fs", "shell", "search", { "http": { "hosts": ["example.org"] } }] }),
            );
            let session = opened["session"].as_str().unwrap().to_owned();
            let outcome = server.cell(&session, code);
            assert_eq!(
                outcome["value"],
                json!(["a,b\n1,2\n", "data.csv", "42\n", "permission"]),
                "{outcome}"
            );
        }
    }
    std::fs::remove_dir_all(&folder).expect("it goes");
}

/// A client that answers wrongly has its call fail, and no cell waits for the rest of its time.
#[test]
fn an_answer_that_is_none_fails_the_call() {
    everywhere(|server, session, code| {
        for (member, message) in [
            (
                "\"x\":1",
                "the client answered with neither a `result` nor an `error`",
            ),
            (
                "\"error\":null",
                "the client answered with neither a `result` nor an `error`",
            ),
            (
                "\"error\":{\"message\":null}",
                "the client's error has no `message`",
            ),
            (
                "\"error\":{\"message\":7,\"data\":{\"retryable\":\"x\"}}",
                "7",
            ),
        ] {
            let request = server.send(
                "execute",
                json!({ "session": session, "code": code("shop.price('tea')"), "timeoutMs": 20_000 }),
            );
            let call = server.message();
            server.send_line(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},{member}}}",
                call["id"]
            ));
            let outcome = server.answer(request);
            let error = &outcome["result"]["error"];
            assert_eq!(error["message"], message, "{outcome}");
            assert_eq!(error["kind"], "exception", "{outcome}");
        }
    });
}

/// An error larger than a frame's header cost the session.
#[test]
fn a_large_error_is_cut() {
    everywhere(|server, session, code| {
        let request = server.send(
            "execute",
            json!({ "session": session, "code": code("shop.price('tea')") }),
        );
        let call = server.message();
        let error = json!({ "message": "m".repeat(9 << 20), "data": { "kind": "permission", "text": "d".repeat(9 << 20) } });
        server.send_line(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }).to_string());
        let outcome = server.answer(request);
        let message = outcome["result"]["error"]["message"].as_str().unwrap();
        assert!(message.len() < 100 << 10, "{} bytes", message.len());
        assert_eq!(outcome["result"]["state"], "kept");
    });
}

/// What the interpreter keeps of a session does not keep the server.
#[test]
fn a_server_with_functions_ends_when_its_input_does() {
    let mut server = Server::start();
    server.call(
        "open",
        json!({ "language": "python", "placement": "in-process", "functions": functions() }),
    );
    let started = std::time::Instant::now();
    assert_eq!(server.finish().status, 0);
    assert!(started.elapsed() < std::time::Duration::from_secs(4));
}
