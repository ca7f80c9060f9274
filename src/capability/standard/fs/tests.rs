//! What `fs` does, and what it does not reach.

mod escapes;

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::capabilities;
use crate::capability::{Capability, CapabilityError, CapabilityErrorKind};

fn workspace() -> (TempDir, Capability) {
    let folder = tempfile::tempdir().unwrap();
    let files = capabilities::fs(folder.path()).unwrap();
    (folder, files)
}

fn tool(error: CapabilityError) -> String {
    assert_eq!(error.kind, CapabilityErrorKind::Tool, "{error}");
    error.message
}

#[test]
fn what_is_written_is_read() {
    let (folder, files) = workspace();
    let written = json!({"path": "a/b/c.txt", "content": "héllo\n"});
    assert_eq!(files.call_blocking("write", &written).unwrap(), 7);
    let appended = json!({"path": "a/b/c.txt", "content": "d29ybGQ=", "encoding": "base64"});
    assert_eq!(files.call_blocking("append", &appended).unwrap(), 5);
    let absolute = folder.path().join("a/b/c.txt");
    for path in ["a/b/c.txt", "./a/../a/b/c.txt", absolute.to_str().unwrap()] {
        let read = files.call_blocking("read", &json!({"path": path}));
        assert_eq!(read.unwrap(), "héllo\nworld", "{path}");
    }
    let shorter = json!({"path": "a/b/c.txt", "content": "x"});
    files.call_blocking("write", &shorter).unwrap();
    let bytes = json!({"path": "a/b/c.txt", "encoding": "base64"});
    assert_eq!(files.call_blocking("read", &bytes).unwrap(), "eA==");
}

#[test]
fn windows_side_by_side_are_the_whole_text() {
    let (folder, files) = workspace();
    let text = "aé€😀b".repeat(5);
    std::fs::write(folder.path().join("t"), &text).unwrap();
    for width in 1..8 {
        let mut whole = String::new();
        for offset in (0..text.len()).step_by(width) {
            let window = json!({"path": "t", "offset": offset, "limit": width});
            whole += files
                .call_blocking("read", &window)
                .unwrap()
                .as_str()
                .unwrap();
        }
        assert_eq!(whole, text, "{width}");
    }
    let nothing = json!({"path": "t", "offset": 0, "limit": 0});
    assert_eq!(files.call_blocking("read", &nothing).unwrap(), "");
    let bytes = json!({"path": "t", "offset": 1, "limit": 2, "encoding": "base64"});
    assert_eq!(files.call_blocking("read", &bytes).unwrap(), "w6k=");
}

#[test]
fn failures_say_what_is_wrong_with_which_path() {
    let (folder, files) = workspace();
    std::fs::write(folder.path().join("binary"), b"ab\xff").unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::write(folder.path().join("folder/x"), "").unwrap();
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(17 << 20).unwrap();
    for (action, arguments, message) in [
        (
            "read",
            json!({"path": "missing"}),
            "cannot read `missing`: no such file or directory",
        ),
        (
            "read",
            json!({"path": "folder"}),
            "cannot read `folder`: it is a directory, not a file",
        ),
        (
            "read",
            json!({"path": "folder/x/y"}),
            "cannot read `folder/x/y`: not a directory",
        ),
        ("read", json!({"path": ""}), "`path` is empty"),
        (
            "read",
            json!({"path": "a\0b"}),
            "a path cannot hold a NUL character",
        ),
        (
            "read",
            json!({"path": "binary"}),
            "`binary` is no UTF-8 text, at byte 2: read it with the encoding `base64`",
        ),
        (
            "read",
            json!({"path": "binary", "encoding": "latin-1"}),
            "`encoding` is `latin-1`, and must be `utf-8` or `base64`",
        ),
        (
            "read",
            json!({"path": "binary", "offset": -1}),
            "`offset` is -1, and must be 0 or more",
        ),
        (
            "read",
            json!({"path": "large"}),
            "`large` has 17825792 bytes, and one call reads 16777216: read parts of it with `offset` and `limit`",
        ),
        (
            "write",
            json!({"path": "folder", "content": ""}),
            "cannot write `folder`: it is a directory, not a file",
        ),
        (
            "write",
            json!({"path": "folder/x/y", "content": ""}),
            "cannot make the folders of `folder/x/y`: not a directory",
        ),
        (
            "remove",
            json!({"path": "folder"}),
            "cannot remove `folder`: the folder is not empty, and `recursive` is not given",
        ),
        (
            "list",
            json!({"path": "binary"}),
            "cannot list `binary`: not a directory",
        ),
        (
            "stat",
            json!({"path": "missing"}),
            "cannot look at `missing`: no such file or directory",
        ),
        (
            "move",
            json!({"from": "missing", "to": "new/x"}),
            "cannot move `missing`: no such file or directory",
        ),
        (
            "glob",
            json!({"pattern": "[a"}),
            "the pattern does not read: error parsing glob '[a': unclosed character class; missing ']'",
        ),
    ] {
        let error = files.call_blocking(action, &arguments).unwrap_err();
        assert_eq!(tool(error), message, "{action} {arguments}");
    }
    assert!(!folder.path().join("new").exists());
    let end = json!({"path": "large", "offset": (17 << 20) - 3});
    assert_eq!(files.call_blocking("read", &end).unwrap(), "\0\0\0");
}

#[test]
fn pipes_devices_and_sockets_are_refused_at_once() {
    let (folder, files) = workspace();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    for (name, kind) in [("pipe", "pipe"), ("socket", "socket")] {
        for (action, arguments) in [
            ("read", json!({"path": name})),
            ("write", json!({"path": name, "content": "x"})),
            ("append", json!({"path": name, "content": "x"})),
        ] {
            let message = tool(files.call_blocking(action, &arguments).unwrap_err());
            assert!(
                message.ends_with(&format!("it is a {kind}, not a file")),
                "{message}"
            );
        }
    }
}

#[test]
fn folders_are_listed_made_moved_and_removed() {
    let (folder, files) = workspace();
    files
        .call_blocking("mkdir", &json!({"path": "b/c"}))
        .unwrap();
    files
        .call_blocking("mkdir", &json!({"path": "b/c"}))
        .unwrap();
    files.call_blocking("mkdir", &json!({"path": "."})).unwrap();
    std::fs::write(folder.path().join("a"), "12").unwrap();
    symlink("a", folder.path().join("l")).unwrap();
    let listed = files.call_blocking("list", &json!({})).unwrap();
    let kinds: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["name"], &entry["kind"]))
        .collect();
    assert_eq!(
        serde_json::to_value(kinds).unwrap(),
        json!([["a", "file"], ["b", "directory"], ["l", "symlink"]])
    );
    assert_eq!(listed[0]["size"], 2);
    let facts = files.call_blocking("stat", &json!({"path": "l"})).unwrap();
    assert_eq!(
        (&facts["kind"], &facts["size"]),
        (&json!("file"), &json!(2))
    );
    assert!(facts["modified"].as_f64().unwrap() > 1.6e9);
    files
        .call_blocking("move", &json!({"from": "a", "to": "b/new/a"}))
        .unwrap();
    assert!(folder.path().join("b/new/a").exists());
    files
        .call_blocking("remove", &json!({"path": "b", "recursive": true}))
        .unwrap();
    files
        .call_blocking("remove", &json!({"path": "l"}))
        .unwrap();
    assert_eq!(
        files.call_blocking("list", &json!({"path": ""})).unwrap(),
        json!([])
    );
}

#[test]
fn globs_match_as_in_a_shell() {
    let (folder, files) = workspace();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/deep/d.txt",
        ".git/config",
        ".hidden/e.rs",
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    symlink("src", folder.path().join("link")).unwrap();
    for (pattern, paths) in [
        ("*.rs", json!(["a.rs"])),
        (
            "**/*.rs",
            json!([".hidden/e.rs", "a.rs", "src/b.rs", "src/deep/c.rs"]),
        ),
        ("src/*", json!(["src/b.rs", "src/deep"])),
        (
            "./src/**/*.{txt,rs}",
            json!(["src/b.rs", "src/deep/c.rs", "src/deep/d.txt"]),
        ),
        ("src/deep/c.rs", json!(["src/deep/c.rs"])),
        ("**/config", json!([])),
        (".git/*", json!([".git/config"])),
        ("missing/*", json!([])),
    ] {
        let found = files.call_blocking("glob", &json!({"pattern": pattern}));
        assert_eq!(found.unwrap(), paths, "{pattern}");
    }
    let absolute = json!({"pattern": folder.path().join("*.rs")});
    assert_eq!(
        files.call_blocking("glob", &absolute).unwrap(),
        json!(["a.rs"])
    );
}

#[test]
fn the_workspace_itself_stays() {
    let (_folder, files) = workspace();
    for (action, arguments) in [
        ("remove", json!({"path": ".", "recursive": true})),
        ("remove", json!({"path": "a/..", "recursive": true})),
        ("move", json!({"from": ".", "to": "x"})),
        ("move", json!({"from": "x", "to": "./"})),
    ] {
        let error = files.call_blocking(action, &arguments).unwrap_err();
        assert_eq!(
            error.kind,
            CapabilityErrorKind::Permission,
            "{action} {arguments}"
        );
    }
    assert_eq!(
        files.call_blocking("list", &json!({})).unwrap(),
        Value::Array(Vec::new())
    );
}
