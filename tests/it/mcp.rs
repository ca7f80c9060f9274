//! The MCP server behind the Python SDK of the protocol: what a person's client and its model see.

mod hostile;
mod install;
mod long;
mod settings;
mod wire;

use serde_json::{Value, json};

use crate::support::{Protocol, Workspace, read};

#[test]
fn the_tools_are_few_and_flat() {
    for protocol in Protocol::BOTH {
        let mut client = Workspace::new().client(protocol, &[]);
        let tools = client.tools();
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(
            names,
            ["run_code", "wait_cell", "reset_session", "read_output"]
        );
        let arguments: Vec<Vec<&str>> = tools
            .iter()
            .map(|tool| {
                let properties = tool["inputSchema"]["properties"].as_object().unwrap();
                properties.keys().map(String::as_str).collect()
            })
            .collect();
        assert_eq!(
            arguments,
            [
                vec![
                    "code",
                    "cwd",
                    "language",
                    "reset",
                    "session",
                    "timeout_seconds",
                    "wait_seconds"
                ],
                vec!["session", "stop", "wait_seconds"],
                vec!["language", "session"],
                vec!["lines", "offset", "path"],
            ]
        );
        let required: Vec<&Value> = tools
            .iter()
            .map(|tool| &tool["inputSchema"]["required"])
            .collect();
        assert_eq!(
            required,
            [&json!(["code"]), &json!([]), &json!([]), &json!(["path"])]
        );
        for tool in &tools {
            let text = tool["inputSchema"].to_string();
            for nested in ["oneOf", "anyOf", "$ref", "$defs"] {
                assert!(!text.contains(nested), "{text}");
            }
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            let reads = tool["name"] == "read_output";
            assert_eq!(tool["annotations"]["readOnlyHint"], reads);
        }
        assert_eq!(tools[0]["annotations"]["destructiveHint"], true);
        assert_eq!(tools[1]["annotations"]["destructiveHint"], false);
        let description = tools[0]["description"].as_str().unwrap();
        assert!(
            description.contains("State persists") && description.contains("`wait_cell`"),
            "{description}"
        );
        client.finish();
    }
}

#[test]
fn a_session_keeps_what_its_cells_bind() {
    for protocol in Protocol::BOTH {
        let mut client = Workspace::new().client(protocol, &[]);
        assert_eq!(
            client.ok("x = 41\nprint('hi')\nx + 1"),
            "stdout (3 bytes, 1 line):\nhi\nvalue (2 bytes):\n42\n"
        );
        let (is_error, text) = client.run(json!({ "code": "y = x\n1/0" }));
        assert!(is_error);
        assert!(
            text.starts_with("python, session `default`, cell 2: failed (exception) after "),
            "{text}"
        );
        assert!(text.contains(", state kept\nerror in line 2 ("), "{text}");
        assert!(text.contains("\n    1/0\n"), "{text}");
        assert!(
            text.contains("ZeroDivisionError: division by zero\n"),
            "{text}"
        );
        assert_eq!(client.ok("[x, y]"), "value (7 bytes):\n[41,41]\n");
        client.finish();
    }
}

#[test]
fn sessions_and_languages_are_apart() {
    let mut client = Workspace::new().client(Protocol::Handshake, &[]);
    client.ok("x = 1");
    let (is_error, text) = client.run(json!({ "code": "x", "session": "other" }));
    assert!(is_error && text.contains("NameError"), "{text}");
    #[cfg(feature = "javascript")]
    {
        let code = "const x: number = 5; x";
        let (is_error, text) = client.run(json!({ "code": code, "language": "typescript" }));
        assert!(!is_error, "{text}");
        assert!(
            text.starts_with("typescript, session `default`, cell 1: ok in "),
            "{text}"
        );
    }
    assert_eq!(client.ok("x"), "value (1 byte):\n1\n");
    let reset = client.call("reset_session", json!({ "language": "python" }));
    assert_eq!(
        read(&reset),
        (
            false,
            "session \"default\" (python) is a fresh one: it holds nothing".to_owned()
        )
    );
    assert_eq!(client.ok("'x' in globals()"), "value (5 bytes):\nfalse\n");
    client.ok("x = 2");
    let (_, text) = client.run(json!({ "code": "'x' in globals()", "reset": true }));
    assert!(text.ends_with("\nfalse\n"), "{text}");
    let none = client.call("reset_session", json!({ "session": "nobody" }));
    assert_eq!(
        read(&none),
        (
            false,
            "there is no session \"nobody\": its first cell starts a fresh one".to_owned()
        )
    );
    client.finish();
}

#[test]
fn an_image_is_shown_as_one() {
    let options = ["--image-bytes", "100", "--no-artifacts"];
    let mut client = Workspace::new().client(Protocol::Newest, &options);
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
    let plot = format!(
        "import base64\nclass Plot:\n    def __init__(self, n): self.n = n\n    def __repr__(self): return 'Plot()'\n    \
         def _repr_png_(self): pixel = base64.b64decode('{pixel}'); return pixel[:-12] + b'x' * self.n + pixel[-12:]\n"
    );
    client.ok(&plot);
    let result = client.call("run_code", json!({ "code": "Plot(0)" }));
    let (is_error, text) = read(&result);
    assert!(!is_error);
    assert!(
        text.ends_with("ms\ndisplay 1: image/png (67 bytes), text/plain (6 bytes), attached\n"),
        "{text}"
    );
    let image = &result["content"][1];
    assert_eq!(
        (&image["type"], &image["mimeType"], &image["data"]),
        (&json!("image"), &json!("image/png"), &json!(pixel))
    );
    // One that is over the budget is named and not sent.
    let result = client.call("run_code", json!({ "code": "Plot(200)" }));
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    assert!(
        read(&result)
            .1
            .contains("display 1: image/png (267 bytes), text/plain (6 bytes)\n"),
        "{result}"
    );
    client.finish();
}

#[test]
fn what_is_wrong_with_a_call_is_for_the_model_to_read() {
    let mut client = Workspace::new().client(Protocol::Handshake, &[]);
    for (arguments, message) in [
        (json!({}), "`code` is missing"),
        (
            json!({ "code": "1", "timeout_seconds": 0 }),
            "`timeout_seconds` must be a number of seconds from 1 to 3600, not 0",
        ),
        (
            json!({ "code": "1", "wait_seconds": 3601 }),
            "`wait_seconds` must be a number of seconds from 0 to 3600, not 3601",
        ),
        (
            json!({ "code": "1", "session": "" }),
            "a session's name has 1 to 128 bytes and no control characters",
        ),
        (
            json!({ "code": "1", "timeout": 1 }),
            "`timeout` is not an argument: there are `code`, `language`, `session`, `timeout_seconds`, `reset`, `cwd` and `wait_seconds`",
        ),
    ] {
        assert_eq!(client.run(arguments), (true, message.to_owned()));
    }
    let call = client.begin("run_cell", json!({ "code": "1" }));
    let refused = client.about(&call);
    assert_eq!(refused["code"], -32602, "{refused}");
    client.finish();
}

#[test]
fn a_session_goes_to_another_folder_and_keeps_its_variables() {
    let workspace = Workspace::new();
    let folder = workspace.path().join("sub");
    std::fs::create_dir(&folder).unwrap();
    let mut client = workspace.client(Protocol::Handshake, &[]);
    let here = json!(workspace.path()).to_string();
    client.ok("x = 1; import os");
    let text = client.ok("os.getcwd()");
    assert!(text.ends_with(&format!("\n{here}\n")), "{text}");
    let (_, text) = client.run(json!({ "code": "[x, os.getcwd()]", "cwd": "sub" }));
    let there = json!([1, folder]).to_string();
    assert!(text.ends_with(&format!("\n{there}\n")), "{text}");
    let (is_error, text) = client.run(json!({ "code": "1", "cwd": "missing" }));
    assert!(is_error);
    assert!(
        text.starts_with("cannot change to the folder that was asked for: "),
        "{text}"
    );
    client.finish();
}

/// Data only where a client was set up for it: it costs the model's tokens twice.
#[test]
fn outcomes_are_handed_over_as_data_where_they_are_asked_for() {
    let workspace = Workspace::new();
    let mut client = workspace.client(Protocol::Newest, &["--structured"]);
    let result = client.call("run_code", json!({ "code": "6 * 7" }));
    let data = &result["structuredContent"];
    assert_eq!(
        (
            &data["session"],
            &data["language"],
            &data["outcome"]["value"],
            &data["outcome"]["state"]
        ),
        (
            &json!("default"),
            &json!("python"),
            &json!(42),
            &json!("kept")
        )
    );
    client.finish();
    let mut client = workspace.client(Protocol::Newest, &[]);
    let result = client.call("run_code", json!({ "code": "6 * 7" }));
    assert!(result.get("structuredContent").is_none(), "{result}");
    client.finish();
}

/// The one that was closed to make room is missed where its name comes back; one that runs is never closed.
#[test]
fn no_more_sessions_live_than_may() {
    let mut client = Workspace::new().client(Protocol::Handshake, &["--sessions", "1"]);
    client.ok("x = 1");
    client.run(json!({ "code": "1", "session": "other" }));
    let (_, text) = client.run(json!({ "code": "'x' in globals()" }));
    assert!(
        text.contains("\nnotice: this session was closed to make room for another, since no more than 1 live: its variables are gone\n"),
        "{text}"
    );
    assert!(text.ends_with("\nfalse\n"), "{text}");
    let endless = json!({ "code": "while True: pass", "wait_seconds": 0 });
    client.run(endless);
    let (is_error, text) = client.run(json!({ "code": "1", "session": "other" }));
    assert!(is_error);
    assert!(
        text.starts_with("all 1 sessions are in use (`default` (python))"),
        "{text}"
    );
    client.finish();
}
