//! What is read of a repository, and what a hostile one does not get done.

mod hostile;

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::capabilities;
use crate::capability::{Capability, CapabilityErrorKind};

/// Runs git as a person would.
fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .args([
            "-c",
            "user.name=Ann",
            "-c",
            "user.email=ann@example.org",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A repository with two commits.
fn repository() -> (TempDir, Capability) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(root.join("a.txt"), "one\n").unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/b.txt"), "bee\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(root.join("a.txt"), "one\ntwo\n").unwrap();
    git(
        root,
        &[
            "commit",
            "--quiet",
            "-am",
            "second\n\nwith a body\nof two lines",
        ],
    );
    let capability = capabilities::git(root).unwrap();
    (folder, capability)
}

#[test]
fn status_tells_each_change() {
    let (folder, capability) = repository();
    let root = folder.path();
    let clean = capability.call_blocking("status", &json!({})).unwrap();
    assert_eq!(
        (&clean["branch"], &clean["changes"]),
        (&json!("main"), &json!([]))
    );
    assert_eq!(clean["head"].as_str().unwrap().len(), 40);
    assert_eq!(
        (&clean["upstream"], &clean["ahead"]),
        (&json!(null), &json!(null))
    );

    git(root, &["mv", "sub/b.txt", "sub/c d.txt"]);
    std::fs::write(root.join("a.txt"), "changed\n").unwrap();
    std::fs::write(root.join("neü\nline"), "").unwrap();
    let status = capability.call_blocking("status", &json!({})).unwrap();
    assert_eq!(
        status["changes"],
        json!([
            {"path": "a.txt", "staged": null, "unstaged": "modified", "original": null},
            {"path": "sub/c d.txt", "staged": "renamed", "unstaged": null, "original": "sub/b.txt"},
            {"path": "neü\nline", "staged": null, "unstaged": "untracked", "original": null},
        ])
    );
    assert!(root.join(".git/index").exists());
}

#[test]
fn log_tells_commits_in_fields() {
    let (folder, capability) = repository();
    let commits = capability.call_blocking("log", &json!({})).unwrap();
    let second = &commits[0];
    assert_eq!(commits.as_array().unwrap().len(), 2);
    assert_eq!(
        (&second["subject"], &second["body"]),
        (&json!("second"), &json!("with a body\nof two lines"))
    );
    assert_eq!(
        (&second["author"], &second["email"]),
        (&json!("Ann"), &json!("ann@example.org"))
    );
    assert_eq!(second["parents"], json!([commits[1]["hash"]]));
    for (arguments, count) in [
        (json!({"limit": 1}), 1),
        (json!({"path": "sub"}), 1),
        (json!({"path": folder.path().join("a.txt")}), 2),
        (json!({"revision": "HEAD~1"}), 1),
        (json!({"repository": "sub"}), 2),
    ] {
        let commits = capability.call_blocking("log", &arguments).unwrap();
        assert_eq!(commits.as_array().unwrap().len(), count, "{arguments}");
    }
    let empty = tempfile::tempdir().unwrap();
    git(empty.path(), &["init", "--quiet"]);
    let none = capabilities::git(empty.path())
        .unwrap()
        .call_blocking("log", &json!({}));
    assert_eq!(none.unwrap(), json!([]));
}

#[test]
fn diff_and_show_are_text() {
    let (folder, capability) = repository();
    std::fs::write(folder.path().join("a.txt"), "staged\n").unwrap();
    git(folder.path(), &["add", "."]);
    std::fs::write(folder.path().join("sub/b.txt"), "unstaged\n").unwrap();
    for (arguments, has, has_not) in [
        (json!({}), "+unstaged", "+staged"),
        (json!({"staged": true}), "+staged", "+unstaged"),
        (json!({"path": "sub"}), "+unstaged", "+staged"),
    ] {
        let text = capability.call_blocking("diff", &arguments).unwrap();
        let text = text.as_str().unwrap();
        assert!(
            text.contains(has) && !text.contains(has_not),
            "{arguments}: {text}"
        );
    }
    let nothing = capability
        .call_blocking("diff", &json!({"path": "a.txt"}))
        .unwrap();
    assert_eq!(nothing, "");
    let shown = capability
        .call_blocking("show", &json!({"revision": "HEAD"}))
        .unwrap();
    assert!(shown.as_str().unwrap().contains("+two"), "{shown}");
    let file = capability
        .call_blocking("show", &json!({"revision": "HEAD~1:sub/b.txt"}))
        .unwrap();
    assert_eq!(file, "bee\n");
}

#[test]
fn a_long_patch_is_cut_and_says_so() {
    let (folder, capability) = repository();
    std::fs::write(folder.path().join("a.txt"), "long\n".repeat(1_000_000)).unwrap();
    let text = capability.call_blocking("diff", &json!({})).unwrap();
    let text = text.as_str().unwrap();
    assert!(text.len() <= 2 << 20 && text.contains(" lines left out]\n"));
}

#[test]
fn what_git_cannot_do_is_told() {
    let (_folder, capability) = repository();
    for (action, arguments, kind, part) in [
        (
            "show",
            json!({"revision": "nope"}),
            CapabilityErrorKind::Tool,
            "git: fatal: ",
        ),
        (
            "show",
            json!({"revision": "--output=x"}),
            CapabilityErrorKind::Permission,
            "`revision` is `--output=x`, which git would read as an option",
        ),
        (
            "log",
            json!({"revision": "-n1"}),
            CapabilityErrorKind::Permission,
            "`revision` is ",
        ),
        (
            "diff",
            json!({"path": "--no-index"}),
            CapabilityErrorKind::Permission,
            "`path` is ",
        ),
        (
            "diff",
            json!({"path": "../x"}),
            CapabilityErrorKind::Permission,
            "`../x` leads out",
        ),
        (
            "status",
            json!({"repository": "/"}),
            CapabilityErrorKind::Permission,
            "`/` leads out",
        ),
        (
            "status",
            json!({"repository": "missing"}),
            CapabilityErrorKind::Tool,
            "cannot find a repository in `missing`: no such file",
        ),
    ] {
        let error = capability.call_blocking(action, &arguments).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with(part), "{error}");
    }
    let none = tempfile::tempdir().unwrap();
    let error = capabilities::git(none.path())
        .unwrap()
        .call_blocking("diff", &json!({}))
        .unwrap_err();
    assert_eq!(
        error.message,
        "`.` is not in a git repository of the workspace"
    );
}
