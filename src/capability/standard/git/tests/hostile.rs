//! A repository whose configuration names programs, and one whose data is somebody else's.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::{git, repository};
use crate::capabilities;
use crate::capability::standard::git::confined::LISTS_ALONE;
use crate::capability::{Capability, CapabilityErrorKind};

/// Everything that the capability can do, with the kernel's help and without.
fn everything(capability: &Capability) {
    for lists_alone in [true, false] {
        LISTS_ALONE.set(lists_alone);
        for (action, arguments) in [
            ("status", json!({})),
            ("log", json!({})),
            ("log", json!({"path": "a.txt"})),
            ("diff", json!({})),
            ("diff", json!({"staged": true})),
            ("diff", json!({"path": "a.txt"})),
            ("show", json!({"revision": "HEAD"})),
            ("show", json!({"revision": "HEAD:a.txt"})),
        ] {
            if let Err(error) = capability.call_blocking(action, &arguments) {
                panic!("{action} {arguments}: {error}");
            }
        }
    }
}

#[test]
fn nothing_that_the_configuration_names_is_started() {
    let (folder, capability) = repository();
    let root = folder.path();
    let beside = tempfile::tempdir().unwrap();
    let marker = beside.path().join("marker");
    let program = beside.path().join("program");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", marker.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();

    let hooks = beside.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "query-watchman",
        "reference-transaction",
    ] {
        symlink(program, hooks.join(hook)).unwrap();
        symlink(program, root.join(".git/hooks").join(hook)).unwrap();
    }
    for (name, value) in [
        ("core.fsmonitor", program),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.pager", program),
        ("core.editor", program),
        ("core.sshCommand", program),
        ("core.gitProxy", program),
        ("core.askPass", program),
        ("pager.diff", program),
        ("pager.log", program),
        ("pager.show", program),
        ("pager.status", program),
        ("diff.external", program),
        ("diff.evil.command", program),
        ("diff.evil.textconv", program),
        ("filter.evil.clean", program),
        ("filter.evil.smudge", program),
        ("filter.evil.process", program),
        ("filter.evil.required", "true"),
        ("filter.e.v=i l.clean", program),
        ("gpg.program", program),
        ("gpg.ssh.program", program),
        ("log.showSignature", "true"),
        ("credential.helper", program),
        ("alias.status", &format!("!{program}")),
        ("alias.log", &format!("!{program}")),
        ("interactive.diffFilter", program),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", &format!("ext::{program}")),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", program),
        ("protocol.ext.allow", "always"),
    ] {
        git(root, &["config", name, value]);
    }
    let unsigned = std::process::Command::new("git")
        .current_dir(root)
        .args(["cat-file", "commit", "HEAD"])
        .output()
        .unwrap();
    let signed = String::from_utf8(unsigned.stdout).unwrap().replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    std::fs::write(beside.path().join("commit"), signed).unwrap();
    let hashed = std::process::Command::new("git")
        .current_dir(root)
        .args(["hash-object", "-t", "commit", "-w"])
        .arg(beside.path().join("commit"))
        .output()
        .unwrap();
    let hash = String::from_utf8(hashed.stdout).unwrap();
    std::fs::write(root.join(".git/refs/heads/main"), hash).unwrap();
    std::fs::write(
        root.join(".gitattributes"),
        "a.txt filter=evil diff=evil\n*.txt filter=evil\nsub/* filter=e.v=i\n",
    )
    .unwrap();
    // Of the same size, so that git has to look at the content, through the filter.
    std::fs::write(root.join("a.txt"), "two\none\n").unwrap();
    std::fs::write(root.join("sub/b.txt"), "eeb\n").unwrap();
    let _ = std::fs::remove_file(&marker);

    everything(&capability);
    let said = std::fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(said, "");

    // The trap is one: git as it comes falls into it.
    let _ = std::process::Command::new("git")
        .current_dir(root)
        .args(["status", "--porcelain"])
        .output();
    let _ = std::process::Command::new("git")
        .current_dir(root)
        .args(["diff"])
        .output();
    assert!(marker.exists());
}

#[test]
fn a_submodule_is_not_gone_into() {
    let (inner, _) = repository();
    let (folder, capability) = repository();
    let root = folder.path();
    git(
        root,
        &[
            "submodule",
            "--quiet",
            "add",
            inner.path().to_str().unwrap(),
            "module",
        ],
    );
    git(root, &["commit", "--quiet", "-m", "module"]);
    let marker = inner.path().join("marker");
    let command = format!("echo x >> {}; cat", marker.display());
    let module = root.join("module");
    git(&module, &["config", "filter.evil.clean", &command]);
    git(&module, &["config", "core.fsmonitor", &command]);
    git(root, &["config", "diff.submodule", "diff"]);
    git(root, &["config", "status.submoduleSummary", "true"]);
    std::fs::write(module.join(".gitattributes"), "* filter=evil\n").unwrap();
    std::fs::write(module.join("a.txt"), "two\none\n").unwrap();
    let _ = std::fs::remove_file(&marker);
    everything(&capability);
    assert!(!marker.exists());
    // By its own name it is a repository like any other, since its data is in the workspace.
    let status = capability
        .call_blocking("status", &json!({"repository": "module"}))
        .unwrap();
    assert!(!status["changes"].as_array().unwrap().is_empty());
    assert!(!marker.exists());
}

/// A workspace whose `.git` is made by `make`, beside somebody's repository.
fn refused(make: impl FnOnce(&Path, &Path)) -> String {
    let (other, _) = repository();
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), other.path());
    let capability = capabilities::git(folder.path()).unwrap();
    let error = capability
        .call_blocking("show", &json!({"revision": "HEAD"}))
        .unwrap_err();
    assert_eq!(error.kind, CapabilityErrorKind::Permission, "{error}");
    error.message
}

#[test]
fn data_outside_of_the_workspace_is_refused() {
    let expected = "the repository keeps data outside of the workspace, as a linked worktree or a shared clone does";
    let by_file = refused(|root, other| {
        std::fs::write(
            root.join(".git"),
            format!("gitdir: {}/.git\n", other.display()),
        )
        .unwrap();
    });
    let by_link = refused(|root, other| symlink(other.join(".git"), root.join(".git")).unwrap());
    let by_part = refused(|root, other| {
        git(root, &["init", "--quiet"]);
        for part in ["objects", "refs"] {
            std::fs::remove_dir_all(root.join(".git").join(part)).unwrap();
            symlink(other.join(".git").join(part), root.join(".git").join(part)).unwrap();
        }
    });
    let by_alternates = refused(|root, other| {
        git(
            root,
            &["clone", "--quiet", "--shared", other.to_str().unwrap(), "."],
        );
    });
    let by_common = refused(|root, other| {
        git(
            other,
            &[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                root.join("w").to_str().unwrap(),
            ],
        );
        std::fs::rename(root.join("w/.git"), root.join(".git")).unwrap();
    });
    for message in [by_file, by_link, by_part, by_alternates, by_common] {
        assert_eq!(message, expected);
    }
}

#[test]
fn links_deep_in_the_data_lead_nowhere() {
    if !crate::Isolation::of_this_kernel().holds_files() {
        return;
    }
    let (other, _) = repository();
    let (folder, capability) = repository();
    let data = folder.path().join(".git");
    std::fs::remove_dir_all(data.join("refs/heads")).unwrap();
    symlink(
        other.path().join(".git/refs/heads"),
        data.join("refs/heads"),
    )
    .unwrap();
    for entry in std::fs::read_dir(other.path().join(".git/objects")).unwrap() {
        let entry = entry.unwrap();
        // Those two are looked at by name.
        if ["pack", "info"].contains(&entry.file_name().to_str().unwrap()) {
            continue;
        }
        let _ = std::fs::remove_dir_all(data.join("objects").join(entry.file_name()));
        symlink(entry.path(), data.join("objects").join(entry.file_name())).unwrap();
    }
    // It is a trap: without the kernel's rules, git finds everything.
    git(folder.path(), &["show", "HEAD"]);
    for action in ["show", "diff", "log"] {
        let arguments = match action {
            "show" => json!({"revision": "main"}),
            _ => json!({}),
        };
        let text = match capability.call_blocking(action, &arguments) {
            Ok(answer) => answer.to_string(),
            Err(error) => error.message,
        };
        assert!(
            !text.contains("second") && !text.contains("+two"),
            "{action}: {text}"
        );
    }
}

#[test]
fn a_working_tree_elsewhere_and_a_repository_above_are_not_taken() {
    let (folder, capability) = repository();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("a.txt"), "canary\n").unwrap();
    git(
        folder.path(),
        &[
            "config",
            "core.worktree",
            elsewhere.path().to_str().unwrap(),
        ],
    );
    let diff = capability.call_blocking("diff", &json!({})).unwrap();
    assert_eq!(diff, "");
    let below = capabilities::git(folder.path().join("sub")).unwrap();
    let error = below.call_blocking("status", &json!({})).unwrap_err();
    assert_eq!(
        error.message,
        "`.` is not in a git repository of the workspace"
    );
}
