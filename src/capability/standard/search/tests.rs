//! What is found, and what is left alone.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::LINE_BYTES;
use crate::capabilities;
use crate::capability::{Capability, CapabilityErrorKind};

fn workspace(files: &[(&str, &str)]) -> (TempDir, Capability) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let search = capabilities::search(folder.path()).unwrap();
    (folder, search)
}

/// Where the matches are, as `path:line`.
fn places(answer: &Value) -> Vec<String> {
    let matches = answer["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|found| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]))
        .collect()
}

#[test]
fn lines_come_with_what_is_around_them() {
    let (_folder, search) = workspace(&[
        ("a.txt", "one\ntwo\r\nthree two\nfour\nfive\nsix\nseven two"),
        ("b/c.txt", "TWO"),
    ]);
    let found = search
        .call_blocking("search", &json!({"pattern": "two", "context": 1}))
        .unwrap();
    assert_eq!(
        found,
        json!({"matches": [
            {"path": "a.txt", "line": 2, "text": "two", "before": ["one"], "after": ["three two"]},
            {"path": "a.txt", "line": 3, "text": "three two", "before": ["two"], "after": ["four"]},
            {"path": "a.txt", "line": 7, "text": "seven two", "before": ["six"], "after": []},
        ], "truncated": null, "skipped": []})
    );
    let any_case = json!({"pattern": "^two$", "case_sensitive": false});
    assert_eq!(
        places(&search.call_blocking("search", &any_case).unwrap()),
        ["a.txt:2", "b/c.txt:1"]
    );
}

#[test]
fn ignored_binary_and_linked_files_are_left_out() {
    let (folder, search) = workspace(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/x", "needle"),
        ("x.log", "needle"),
        ("keep.log", "needle"),
        ("src/.gitignore", "/generated.rs\n!wanted.log\n"),
        ("src/generated.rs", "needle"),
        ("src/deep/generated.rs", "needle"),
        ("src/wanted.log", "needle"),
        (".ignore", "ignored\n"),
        ("ignored", "needle"),
        (".git/info/exclude", "excluded\n"),
        (".git/x", "needle"),
        ("excluded", "needle"),
        (".hidden", "needle"),
        ("binary", "needle\0"),
    ]);
    symlink("src", folder.path().join("link")).unwrap();
    symlink("keep.log", folder.path().join("linked")).unwrap();
    let found = search
        .call_blocking("search", &json!({"pattern": "needle"}))
        .unwrap();
    assert_eq!(
        places(&found),
        [
            ".hidden:1",
            "keep.log:1",
            "src/wanted.log:1",
            "src/deep/generated.rs:1"
        ]
    );
    // What is named is looked into, by the rules of the folders above it all the same.
    for (path, expected) in [
        ("target", vec!["target/x:1"]),
        ("x.log", vec!["x.log:1"]),
        ("src", vec!["src/wanted.log:1", "src/deep/generated.rs:1"]),
        ("link", vec!["src/wanted.log:1", "src/deep/generated.rs:1"]),
    ] {
        let found = search
            .call_blocking("search", &json!({"pattern": "needle", "path": path}))
            .unwrap();
        assert_eq!(places(&found), expected, "{path}");
    }
    for (glob, expected) in [
        ("*.rs", vec!["src/deep/generated.rs:1"]),
        (
            "src/**",
            vec!["src/wanted.log:1", "src/deep/generated.rs:1"],
        ),
        ("!*.log", vec![".hidden:1", "src/deep/generated.rs:1"]),
    ] {
        let found = search
            .call_blocking("search", &json!({"pattern": "needle", "glob": glob}))
            .unwrap();
        assert_eq!(places(&found), expected, "{glob}");
    }
}

#[test]
fn much_is_cut_and_says_so() {
    let many = "needle\n".repeat(1000);
    let wide = format!("{}needle{}", "é".repeat(5000), "x".repeat(5000));
    let (_folder, search) = workspace(&[("many", &many), ("wide", &wide), ("z", "last")]);
    let found = search
        .call_blocking("search", &json!({"pattern": "needle"}))
        .unwrap();
    assert_eq!(
        (places(&found).len(), &found["truncated"]),
        (200, &json!("matches"))
    );
    let all = search
        .call_blocking("search", &json!({"pattern": "needle", "limit": 1001}))
        .unwrap();
    assert_eq!(
        (places(&all).len(), &all["truncated"]),
        (1001, &json!(null))
    );
    let text = all["matches"][1000]["text"].as_str().unwrap();
    assert!(text.starts_with("...é") && text.ends_with("x...") && text.contains("needle"));
    assert!(text.len() <= 1006);
    let none = search
        .call_blocking("search", &json!({"pattern": "last", "limit": 0}))
        .unwrap();
    assert_eq!(
        (places(&none).len(), &none["truncated"]),
        (0, &json!("matches"))
    );
}

#[test]
fn files_that_could_not_be_searched_are_named() {
    let (folder, search) = workspace(&[("long", "needle\n"), ("z", "needle")]);
    let mut long = OpenOptions::new()
        .append(true)
        .open(folder.path().join("long"))
        .unwrap();
    for _ in 0..LINE_BYTES >> 20 {
        long.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    let name = OsStr::from_bytes(b"odd\xff");
    fs::write(folder.path().join(name), "needle").unwrap();
    let found = search
        .call_blocking("search", &json!({"pattern": "needle"}))
        .unwrap();
    assert_eq!(places(&found), ["long:1", "z:1"]);
    let skipped = found["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert_eq!(
        skipped[0],
        json!({"path": "long", "reason": "not searched to its end: configured allocation limit (16777216) exceeded"})
    );
    assert_eq!(
        skipped[1],
        json!({"path": "odd\u{fffd}", "reason": "its name is not UTF-8"})
    );
}

#[test]
fn what_does_not_read_is_told() {
    let (_folder, search) = workspace(&[("a", "")]);
    for (arguments, part) in [
        (
            json!({"pattern": "("}),
            "`pattern` is no regular expression: regex parse error",
        ),
        (
            json!({"pattern": "(?:a{1000}){1000}"}),
            "`pattern` is no regular expression: ",
        ),
        (
            json!({"pattern": "a", "glob": "[a"}),
            "`glob` does not read: ",
        ),
        (
            json!({"pattern": "a", "path": "missing"}),
            "cannot search `missing`: no such file or directory",
        ),
        (
            json!({"pattern": "a", "context": -1}),
            "`context` is -1, and must be 0 or more",
        ),
    ] {
        let error = search.call_blocking("search", &arguments).unwrap_err();
        assert_eq!(error.kind, CapabilityErrorKind::Tool);
        assert!(error.message.starts_with(part), "{error}");
    }
    let out = search.call_blocking("search", &json!({"pattern": "a", "path": "../"}));
    assert_eq!(out.unwrap_err().kind, CapabilityErrorKind::Permission);
}

#[test]
fn a_repetition_that_would_blow_up_takes_linear_time() {
    let (_folder, search) = workspace(&[("a", &"a".repeat(100_000))]);
    let found = search
        .call_blocking("search", &json!({"pattern": "(a+)+b"}))
        .unwrap();
    assert_eq!(found["matches"], json!([]));
}
