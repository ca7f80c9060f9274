//! What holds of all ready-made capabilities.

use serde_json::json;

use super::testing::runtime;
use crate::capabilities;
use crate::capability::{Capability, offer, stubs};
use crate::runtime::Language;

fn all() -> Vec<Capability> {
    let folder = std::env::temp_dir();
    vec![
        capabilities::fs(&folder).unwrap(),
        capabilities::shell(&folder).unwrap(),
        capabilities::git(&folder).unwrap(),
        capabilities::search(&folder).unwrap(),
        #[cfg(feature = "http")]
        capabilities::http(["example.org"]).unwrap(),
    ]
}

#[test]
fn every_action_and_every_parameter_is_described_in_one_line() {
    let offered = offer(&all()).unwrap();
    for capability in &offered {
        assert!(!capability.description.is_empty(), "{}", capability.name);
        for action in &capability.actions {
            let name = format!("{}.{}", capability.name, action.name);
            assert!(!action.description.is_empty(), "{name}");
            assert!(!action.description.contains('\n'), "{name}");
            for parameter in action.signature.parameters() {
                assert!(!parameter.sorts.is_empty(), "{name}: {parameter:?}");
                assert!(!parameter.description.is_empty(), "{name}: {parameter:?}");
            }
        }
    }
    let stubs = stubs(Language::Python, &offered);
    assert!(
        stubs.contains("def run(command: str | list, cwd: str = ..."),
        "{stubs}"
    );
}

#[test]
fn the_host_keeps_its_signals() {
    let caught = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
    };
    let shell = capabilities::shell(std::env::temp_dir()).unwrap();
    let _held = runtime();
    shell
        .call_blocking("run", &json!({"command": "true"}))
        .unwrap();
    assert_eq!(caught() & (1 << (libc::SIGCHLD - 1)), 0);
}

#[test]
fn a_workspace_that_is_none_is_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (path, end) in [
        (
            std::path::Path::new("/no/such/folder"),
            "cannot be opened: no such file or directory",
        ),
        (file.path(), "cannot be opened: not a directory"),
    ] {
        let error = capabilities::fs(path).unwrap_err().to_string();
        assert!(
            error.starts_with("the workspace `") && error.ends_with(end),
            "{error}"
        );
    }
}
