//! The method `artifact`: parts of what a session has kept, and nothing else.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Program, Server, warmcell};

const INVALID_PARAMS: i64 = -32602;

/// A session with artifacts in that folder.
fn open(server: &mut Server, folder: &std::path::Path) -> String {
    let opened = server.call(
        "open",
        json!({ "language": "python", "artifacts": folder, "limits": { "outputBytes": 1000 } }),
    );
    opened["session"].as_str().unwrap().to_owned()
}

#[test]
fn parts_are_read_by_line_and_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start();
    let session = open(&mut server, folder.path());
    let outcome = server.cell(&session, "for i in range(5000): print('línea', i)");
    let file = outcome["truncated"]["stdout"]["file"]
        .as_str()
        .unwrap()
        .to_owned();
    let whole: String = (0..5000).map(|i| format!("línea {i}\n")).collect();
    assert_eq!(fs::read_to_string(&file).unwrap(), whole);
    let mut read = |more: Value| {
        let mut params = json!({ "session": session, "path": file });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        server.call("artifact", params)
    };
    assert_eq!(
        read(json!({ "offset": 10, "limit": 2 })),
        json!({ "text": "línea 10\nlínea 11\n", "bytes": whole.len(), "nextOffset": 12 })
    );
    let first = read(json!({}));
    assert_eq!(first["text"].as_str().unwrap().lines().count(), 1000);
    assert_eq!(first["nextOffset"], 1000);
    assert_eq!(
        read(json!({ "by": "line", "offset": 4999 })),
        json!({ "text": "línea 4999\n", "bytes": whole.len() })
    );
    // The second byte of a character is left to the next part.
    assert_eq!(
        read(json!({ "by": "byte", "limit": 2 })),
        json!({ "text": "l", "bytes": whole.len(), "nextOffset": 1 })
    );
    assert_eq!(
        read(json!({ "by": "byte", "offset": 2, "limit": 3 })),
        json!({ "base64": "rW5l", "bytes": whole.len(), "nextOffset": 5 })
    );
    let mut text = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let part = read(json!({ "by": "byte", "offset": offset, "limit": 7001 }));
        text.push_str(part["text"].as_str().expect("whole characters"));
        offset = part["nextOffset"].clone();
    }
    assert_eq!(text, whole);
    assert_eq!(server.finish().status, 0);
}

#[test]
fn nothing_else_is_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let mut server = Server::start();
    let session = open(&mut server, folder.path());
    let other = open(&mut server, folder.path());
    let outcome = server.cell(&session, "print('y' * 5000)");
    let file = outcome["truncated"]["stdout"]["file"]
        .as_str()
        .unwrap()
        .to_owned();
    server.cell(&other, "print('z' * 5000)");
    let name = file.rsplit('/').next().unwrap();
    assert_eq!(
        server.call(
            "artifact",
            json!({ "session": session, "path": name, "by": "byte", "limit": 3 })
        )["text"],
        "yyy"
    );
    let refused = |server: &mut Server, params: Value| {
        let (code, message) = server.refusal("artifact", params);
        assert_eq!(code, INVALID_PARAMS, "{message}");
        message
    };
    for path in [
        "/etc/passwd",
        "../secret",
        "",
        &format!("{file}/../../secret"),
        folder.path().join("secret").to_str().unwrap(),
    ] {
        let message = refused(&mut server, json!({ "session": session, "path": path }));
        assert!(
            message.contains("which is no artifact of this session"),
            "{message}"
        );
    }
    let message = refused(&mut server, json!({ "session": other, "path": file }));
    assert!(
        message.contains("which is no artifact of this session"),
        "{message}"
    );
    for (params, start) in [
        (json!({}), "`path` is missing"),
        (
            json!({ "path": file, "limit": 0 }),
            "`limit` is 0, which is not between 1 and",
        ),
        (
            json!({ "path": file, "by": "page" }),
            "`by` must be `line` or `byte`",
        ),
        (json!({ "path": file, "offset": -1 }), "`offset` must be"),
        (
            json!({ "path": file, "line": 1 }),
            "`line` is not a field of `artifact`",
        ),
    ] {
        let mut params = params;
        params["session"] = json!(session);
        let message = refused(&mut server, params);
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(server.finish().status, 0);
}

#[test]
fn sessions_that_name_no_folder_have_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = warmcell(["serve", "--artifacts"]);
    command.arg(folder.path());
    let mut server = Server::of(Program::start(command));
    let session = server.python();
    let outcome = server.cell(&session, "return 'y' * 20000");
    let file = outcome["files"]["value"].as_str().unwrap();
    assert!(file.starts_with(folder.path().to_str().unwrap()), "{file}");
    assert_eq!(server.finish().status, 0);
}

#[test]
fn the_other_commands_take_a_folder_too() {
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("code.py");
    fs::write(&code, "print('y' * 2000)\n").unwrap();
    let artifacts = folder.path().join("artifacts");
    let mut command = warmcell(["run", "--output-bytes", "1000", "--artifacts"]);
    command.arg(&artifacts).arg(&code);
    let ended = Program::start(command).finish();
    assert_eq!(
        (ended.status, ended.stdout.len()),
        (0, 2001),
        "{}",
        ended.stderr
    );
    assert_eq!(super::names(&artifacts), ["cell-0001-stdout.txt"]);
}
