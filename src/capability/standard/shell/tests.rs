//! How commands run, what they see and how they end.

use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::capabilities;
use crate::capability::standard::testing::runtime;
use crate::capability::{Capability, CapabilityErrorKind};

fn workspace() -> (TempDir, Capability) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let shell = capabilities::shell(folder.path()).unwrap();
    (folder, shell)
}

/// Whether a process that wrote its number into a file is still there.
fn is_alive(folder: &TempDir, file: &str) -> bool {
    let number = std::fs::read_to_string(folder.path().join(file)).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
    // One that nobody has reaped yet is as good as gone.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn assert_ends(folder: &TempDir, file: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while is_alive(folder, file) {
        assert!(
            Instant::now() < until,
            "the process of `{file}` is still there"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_line_and_a_list_run_and_say_how_they_ended() {
    let (folder, shell) = workspace();
    let line = json!({"command": "echo out; echo err >&2; exit 3"});
    assert_eq!(
        shell.call_blocking("run", &line).unwrap(),
        json!({"exit_code": 3, "signal": null, "stdout": "out\n", "stderr": "err\n", "truncated": null})
    );
    let list = json!({"command": ["printf", "%s|", "a b", "$HOME"]});
    assert_eq!(
        shell.call_blocking("run", &list).unwrap()["stdout"],
        "a b|$HOME|"
    );
    let killed = shell
        .call_blocking("run", &json!({"command": "kill -TERM $$"}))
        .unwrap();
    assert_eq!(
        (&killed["exit_code"], &killed["signal"]),
        (&json!(143), &json!(15))
    );
    let root = folder.path().canonicalize().unwrap();
    for (cwd, expected) in [
        (json!(null), root.clone()),
        (json!("sub"), root.join("sub")),
        (json!("sub/.."), root),
    ] {
        let answer = shell
            .call_blocking("run", &json!({"command": "pwd", "cwd": cwd}))
            .unwrap();
        assert_eq!(answer["stdout"], format!("{}\n", expected.display()));
    }
}

#[test]
fn input_is_empty_unless_it_is_given() {
    let (_folder, shell) = workspace();
    assert_eq!(
        shell
            .call_blocking("run", &json!({"command": "cat"}))
            .unwrap()["stdout"],
        ""
    );
    let long = "line\n".repeat(100_000);
    let echoed = shell
        .call_blocking("run", &json!({"command": "cat", "input": long}))
        .unwrap();
    assert_eq!(echoed["stdout"], long);
    let unread = shell
        .call_blocking("run", &json!({"command": "true", "input": long}))
        .unwrap();
    assert_eq!(unread["exit_code"], 0);
}

#[test]
fn what_cannot_run_says_so() {
    let (_folder, shell) = workspace();
    for (arguments, message) in [
        (
            json!({"command": ["no-such-program"]}),
            "cannot run `no-such-program`: no such file or directory",
        ),
        (json!({"command": []}), "`command` names no program"),
        (
            json!({"command": [1]}),
            "`command` must be a string, or a list of strings",
        ),
        (
            json!({"command": "a\0"}),
            "`command` cannot hold a NUL character",
        ),
        (
            json!({"command": "true", "timeout_seconds": 0}),
            "`timeout_seconds` is 0, and must be more than 0 and at most 86400",
        ),
        (
            json!({"command": "true", "cwd": "missing"}),
            "cannot begin in `missing`: no such file or directory",
        ),
    ] {
        let error = shell.call_blocking("run", &arguments).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (CapabilityErrorKind::Tool, message)
        );
    }
    let out = json!({"command": "true", "cwd": ".."});
    let error = shell.call_blocking("run", &out).unwrap_err();
    assert_eq!(error.kind, CapabilityErrorKind::Permission);
}

#[test]
fn a_timeout_ends_children_and_their_children_and_tells_what_was_said() {
    let (folder, shell) = workspace();
    let command =
        "echo begun; sh -c 'sleep 600 & echo $! > grandchild; wait' & echo $! > child; wait";
    let begun = Instant::now();
    let error = shell
        .call_blocking("run", &json!({"command": command, "timeout_seconds": 0.5}))
        .unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(error.kind, CapabilityErrorKind::Timeout);
    assert!(
        error
            .message
            .ends_with("was still running after 0.5 s, and was killed"),
        "{error}"
    );
    let data: serde_json::Value = error.data.unwrap().parse().unwrap();
    assert_eq!(data["stdout"], "begun\n");
    assert_ends(&folder, "child");
    assert_ends(&folder, "grandchild");
}

#[test]
fn what_is_left_in_the_background_ends_with_the_command() {
    let (folder, shell) = workspace();
    let begun = Instant::now();
    let answer = shell
        .call_blocking(
            "run",
            &json!({"command": "sleep 600 & echo $! > background; echo done"}),
        )
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(
        (&answer["stdout"], &answer["exit_code"]),
        (&json!("done\n"), &json!(0))
    );
    assert_ends(&folder, "background");
}

#[test]
fn a_stray_that_left_the_group_holds_nobody_up() {
    let (folder, shell) = workspace();
    let command = "setsid sh -c 'echo $$ > stray; exec sleep 20' & while [ ! -s stray ]; do sleep 0.01; done; echo done";
    let begun = Instant::now();
    let answer = shell
        .call_blocking("run", &json!({"command": command}))
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(answer["stdout"], "done\n");
    let stray = std::fs::read_to_string(folder.path().join("stray")).unwrap();
    let _ = std::process::Command::new("kill")
        .args(["-9", stray.trim()])
        .status();
}

#[test]
fn dropping_the_call_kills_the_group() {
    let (folder, shell) = workspace();
    let command = json!({"command": "sh -c 'echo $$ > child; exec sleep 600' & wait"});
    runtime().block_on(async {
        let call = tokio::task::spawn_blocking({
            let shell = shell.clone();
            move || {
                let action = shell.action("run").unwrap();
                let crate::capability::action::Handler::Async(handler) = &action.handler else {
                    unreachable!("`run` is async");
                };
                handler(crate::capability::Call {
                    arguments: std::sync::Arc::new(crate::Json::of(&command).unwrap()),
                    cancelled: Default::default(),
                })
            }
        })
        .await
        .unwrap();
        let ended = tokio::time::timeout(Duration::from_millis(500), call).await;
        assert!(ended.is_err());
    });
    assert_ends(&folder, "child");
}

#[test]
fn ten_megabytes_of_each_stream_are_cut_in_the_middle() {
    let (_folder, shell) = workspace();
    let command = "(echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo last) & head -c 10000000 /dev/zero | tr '\\0' y >&2; wait";
    let answer = shell
        .call_blocking("run", &json!({"command": command}))
        .unwrap();
    let stdout = answer["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("first\nxx") && stdout.ends_with("xlast\n"));
    assert!(stdout.len() <= 1 << 20);
    let left = answer["truncated"]["stdout"]["bytes_left_out"]
        .as_u64()
        .unwrap();
    let marker = stdout.lines().find(|line| line.starts_with('[')).unwrap();
    assert_eq!(answer["truncated"]["stdout"]["bytes"], 10_000_011);
    assert!(marker.starts_with(&format!("[{left} bytes")), "{marker}");
    assert_eq!(answer["truncated"]["stderr"]["bytes"], 10_000_000);
}

#[test]
fn commands_see_neither_keys_nor_descriptors_nor_a_terminal() {
    let (_folder, shell) = workspace();
    // Cargo's own variables stand for those of a host.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let environment = shell
        .call_blocking("run", &json!({"command": "env"}))
        .unwrap();
    let environment = environment["stdout"].as_str().unwrap();
    assert!(environment.contains("PATH="));
    assert!(!environment.contains("CARGO_"), "{environment}");

    let file = std::fs::File::open("/dev/zero").unwrap();
    // SAFETY: a flag of a descriptor that is ours.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&file), libc::F_SETFD, 0) };
    let descriptors = json!({"command": "ls -l /proc/$$/fd"});
    let listed = shell.call_blocking("run", &descriptors).unwrap();
    assert!(
        !listed["stdout"].as_str().unwrap().contains("/dev/zero"),
        "{listed}"
    );

    let terminal = json!({"command": "(: < /dev/tty) 2>/dev/null && echo there"});
    assert_eq!(shell.call_blocking("run", &terminal).unwrap()["stdout"], "");
}
