//! `warmcell mcp install`: a client's configuration has this server in it, and everything that was there before.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Exited, Program, Workspace, warmcell};

fn install(home: &Path, arguments: &[&str]) -> Exited {
    let mut command = warmcell(["mcp", "install"]);
    command
        .args(arguments)
        .env("HOME", home)
        .env_remove("CODEX_HOME");
    Program::run(command, "")
}

fn binary() -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_warmcell"));
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_client_is_set_up_and_keeps_what_it_had() {
    let home = Workspace::new();
    let workspace = Workspace::new();
    let folder = workspace.path().to_str().unwrap().to_owned();
    let file = home.path().join(".claude.json");
    fs::write(
        &file,
        "{\"zeta\": 1.50, \"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"alpha\": {}}",
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let ended = install(
        &home.path(),
        &["--client", "claude", "--workspace", &folder],
    );
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(
        ended.stdout,
        format!("wrote `warmcell` into {}\n", file.display())
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("{\n  \"zeta\": 1.50,\n  \"mcpServers\": {\n"),
        "{text}"
    );
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written["mcpServers"],
        json!({
            "other": { "command": "x" },
            "warmcell": { "type": "stdio", "command": binary(), "args": ["mcp", "--workspace", folder] },
        })
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
    // Nothing is left beside it, and a second time nothing changes.
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    install(
        &home.path(),
        &["--client", "claude", "--workspace", &folder],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_file_keeps_its_ends_of_lines() {
    let home = Workspace::new();
    for (client, file, before) in [
        (
            "claude",
            ".claude.json",
            "{\r\n  \"a\": [\r\n    1\r\n  ]\r\n}\r\n",
        ),
        ("codex", ".codex/config.toml", "# mine\r\nmodel = \"x\"\r\n"),
    ] {
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, before).unwrap();
        let ended = install(&home.path(), &["--client", client]);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("warmcell") && text.ends_with("\r\n"),
            "{text:?}"
        );
        assert!(!text.replace("\r\n", "").contains('\n'), "{text:?}");
    }
}

#[test]
fn a_client_that_has_no_configuration_gets_one() {
    let home = Workspace::new();
    for (client, file) in [
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let dry = install(&home.path(), &["--client", client, "--dry-run"]);
        assert_eq!(dry.status, 0, "{}", dry.stderr);
        let path = home.path().join(file);
        assert!(!path.exists());
        let ended = install(&home.path(), &["--client", client]);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            dry.stdout,
            format!("would write into {}:\n{text}\n", path.display())
        );
        assert!(text.contains(&binary()), "{text}");
    }
    let codex = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
    let parsed: toml::Table = codex.parse().unwrap();
    assert_eq!(
        parsed["mcp_servers"]["warmcell"]["args"],
        toml::Value::from(vec!["mcp"])
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_touched() {
    let home = Workspace::new();
    let file = home.path().join(".claude.json");
    fs::write(&file, "{ // mine\n}").unwrap();
    let ended = install(&home.path(), &["--client", "claude"]);
    assert_eq!(ended.status, 2);
    assert!(
        ended
            .stderr
            .contains("is left as it is: it is not the JSON it should be"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ // mine\n}");
    // A device, or a pipe that never ends.
    let pipe = home.path().join("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let ended = install(
        &home.path(),
        &["--client", "claude", "--config", pipe.to_str().unwrap()],
    );
    assert_eq!(ended.status, 2);
    let message = "is not a regular file, and is left as it is";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
}
