//! Flags and `warmcell.toml`: what they choose, and what the file alone may not.

use serde_json::json;

use crate::support::{Program, Protocol, Workspace, each, read, warmcell};

/// What the server says of a workspace that it refuses.
fn refusal(workspace: &Workspace, options: &[&str]) -> (i32, String) {
    let mut command = warmcell(["mcp", "--workspace"]);
    command.arg(workspace.path()).args(options);
    let ended = Program::run(command, "");
    assert_eq!(ended.stdout, "");
    (ended.status, ended.stderr)
}

#[test]
fn the_file_chooses_what_no_flag_does() {
    let workspace = Workspace::with_file(
        "languages = [\"python\"]\ntimeout = 1\nnetwork = false\nsandbox = \"read-only\"\ntext-bytes = 2048\n",
    );
    let mut client = workspace.client(Protocol::Handshake, &[]);
    let tools = client.tools();
    assert_eq!(
        tools[0]["inputSchema"]["properties"]["language"]["enum"],
        json!(["python"])
    );
    assert_eq!(tools[0]["annotations"]["openWorldHint"], false);
    let (is_error, text) = client.run(json!({ "code": "open('x', 'w')" }));
    assert!(is_error && text.contains("PermissionError"), "{text}");
    let (_, text) = client.run(json!({ "code": "while True: pass" }));
    assert!(text.contains("its deadline of 1000 ms"), "{text}");
    let text = client.ok("print('x' * 10_000)");
    assert!(
        text.len() < 2048 && text.contains("cut: stdout, "),
        "{text}"
    );
    client.finish();
    // A flag goes before it.
    let mut client = workspace.client(
        Protocol::Handshake,
        &["--sandbox", "workspace-write", "--timeout", "20"],
    );
    client.ok("open('x', 'w').close()");
    client.finish();
}

/// A cell in a sandbox cannot read what lies outside of its workspace, and the model is told of files there.
#[test]
fn what_a_result_left_out_can_be_read() {
    let workspace = Workspace::new();
    let mut client = workspace.client(Protocol::Handshake, &[]);
    let text = client.ok("for i in range(200_000): print('line', i)");
    let (_, rest) = text.split_once("the whole is in `").expect(&text);
    let path = rest.split('`').next().unwrap();
    let (is_error, text) = read(&client.call(
        "read_output",
        json!({ "path": path, "offset": 100_000, "lines": 2 }),
    ));
    assert_eq!(
        (is_error, text.as_str()),
        (
            false,
            "2288890 bytes in all, after the first 100000 lines; the next part has the `offset` 100002\nline 100000\nline 100001\n"
        )
    );
    let (is_error, text) =
        read(&client.call("read_output", json!({ "path": path, "lines": 10_000 })));
    assert!(!is_error && text.contains("; cut after 16384 bytes: ask for fewer lines\nline 0\n"));
    for (arguments, expected) in [
        (json!({}), "`path` is missing: give one that a result names"),
        (
            json!({ "path": "/etc/passwd" }),
            "\"/etc/passwd\" is no file that a session has written which is alive",
        ),
        (
            json!({ "path": path, "offset": -1 }),
            "`offset` must be a whole number from 0 on, not -1",
        ),
    ] {
        let (is_error, text) = read(&client.call("read_output", arguments));
        assert!(is_error && text.contains(expected), "{text}");
    }
    client.finish();
}

#[test]
fn cells_call_the_capabilities_that_were_chosen_and_the_model_is_told_of_them() {
    let workspace = Workspace::with_file("languages = [\"python\"]\ncapabilities = [\"fs\"]\n");
    let mut client = workspace.client(
        Protocol::Handshake,
        &["--capability", "shell", "--capability", "search"],
    );
    let description = client.tools()[0]["description"].to_string();
    for part in [
        "class fs:",
        "class search:",
        "class shell:",
        "def run(command",
    ] {
        assert!(description.contains(part), "{description}");
    }
    client.ok("fs.write('notes/today', 'tea')");
    let text = client.ok("[fs.read('notes/today'), shell.run('cat notes/today')['stdout'], search.search('tea')['matches'][0]['path']]");
    assert!(text.contains("[\"tea\",\"tea\",\"notes/today\"]"), "{text}");
    let (is_error, text) = client.run(json!({ "code": "fs.read('/etc/passwd')" }));
    assert!(is_error && text.contains("CapabilityError"), "{text}");
    client.finish();
}

/// The file lies where sandboxed cells write: it cannot let them out.
#[test]
fn the_file_cannot_loosen_the_hold() {
    each(
        [
            (
                "sandbox = \"off\"",
                "`sandbox` in `warmcell.toml`: a flag alone can turn the sandbox off: cells may write to this file\nhint: give `--sandbox off` on the command line\n",
            ),
            (
                "placement = \"in-process\"",
                "`placement` in `warmcell.toml`: a flag alone can ask for `in-process`: cells may write to this file\nhint: give `--placement in-process` on the command line\n",
            ),
            (
                "capabilities = [\"shell\"]",
                "`capabilities` in `warmcell.toml`: a flag alone can offer `shell`",
            ),
            (
                "python = \"./py\"",
                "`python` in `warmcell.toml`: a flag alone can name a python",
            ),
            (
                "sandbox = \"read-only\"\ncapabilities = [\"fs\"]",
                "a flag alone can offer `fs` beside the sandbox `read-only`",
            ),
            ("languages = [\"ruby\"]", "the languages are `python`"),
            ("env-pass = [\"TOKEN\"]", "unknown field `env-pass`"),
            ("timeout = -1", "`timeout` in `warmcell.toml`"),
            ("timeout =", "is wrong: "),
        ],
        |(text, message)| {
            let (status, stderr) = refusal(&Workspace::with_file(text), &[]);
            assert_eq!(status, 2, "{stderr}");
            assert!(stderr.contains(message), "{stderr}");
        },
    );
}

/// A cell may have put anything there.
#[test]
fn a_file_that_is_none_is_refused() {
    let workspace = Workspace::new();
    let file = workspace.path().join("warmcell.toml");
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    let (status, stderr) = refusal(&workspace, &[]);
    assert_eq!(status, 1, "{stderr}");
    assert!(
        stderr.contains("cannot read `") && !stderr.contains("root:"),
        "{stderr}"
    );
    std::fs::remove_file(&file).unwrap();
    let name = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (status, stderr) = refusal(&workspace, &[]);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("it is not a regular file"), "{stderr}");
}

/// The folder of a session is one of the workspace, whoever names it.
#[test]
fn a_sandboxed_session_cannot_be_opened_elsewhere() {
    let workspace = Workspace::new();
    let inside = workspace.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink("/etc", workspace.path().join("link")).unwrap();
    let mut client = workspace.client(Protocol::Handshake, &[]);
    for (session, cwd) in [("a", "/root"), ("b", "/"), ("c", "link"), ("d", "..")] {
        let given = json!({ "code": "1", "session": session, "cwd": cwd });
        let (is_error, text) = client.run(given);
        assert!(
            is_error && text.contains("lies outside of the workspace"),
            "{cwd}: {text}"
        );
    }
    let (is_error, text) = client.run(json!({ "code": "1", "session": "e", "cwd": "inside" }));
    assert!(!is_error, "{text}");
    client.finish();
}

#[test]
fn a_folder_that_holds_everything_is_no_workspace() {
    let home = tempfile::tempdir().unwrap();
    let mut command = warmcell(["mcp"]);
    command.current_dir(home.path()).env("HOME", home.path());
    let ended = Program::run(command, "");
    assert_eq!(ended.status, 2);
    assert!(
        ended
            .stderr
            .contains("which is too much to be a workspace\nhint: name one with `--workspace`"),
        "{}",
        ended.stderr
    );
    let mut command = warmcell(["mcp"]);
    command.current_dir("/");
    assert_eq!(Program::run(command, "").status, 2);
}

/// A sandbox that is asked for is kept or refused, never left out.
#[test]
fn a_sandbox_that_cannot_be_had_is_refused() {
    let workspace = Workspace::new();
    let options = ["--placement", "in-process", "--sandbox", "read-only"];
    let mut client = workspace.client(Protocol::Handshake, &options);
    let (is_error, text) = client.run(json!({ "code": "1" }));
    assert!(is_error);
    assert!(
        text.starts_with("`sandbox` needs a process of its own"),
        "{text}"
    );
    client.finish();
}

/// Nobody is there: the server leaves as well.
#[test]
fn a_client_that_says_nothing_is_no_failure() {
    let (status, stderr) = refusal(&Workspace::new(), &[]);
    assert_eq!((status, stderr.as_str()), (0, ""));
}
