//! What commands see of the host's environment: an allow-list, since the rest may hold keys and passwords.
//!
//! A list of its own, shorter than a worker's: proxies may carry passwords, and a command is no interpreter that is to be set
//! up as the host's is.

use std::env;
use std::ffi::{OsStr, OsString};

/// The variables that programs need to find things.
const PASSED: [&str; 15] = [
    "COLUMNS",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// The beginning of the names of more, which say how things are written.
const PASSED_PREFIX: &str = "LC_";

/// Where programs are looked for when the host does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The host's variables that are passed on, with a `PATH` in any case.
pub(super) fn passed() -> Vec<(OsString, OsString)> {
    let mut passed: Vec<_> = env::vars_os().filter(|(name, _)| is_passed(name)).collect();
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    passed
}

/// Where programs are looked for.
pub(super) fn path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into())
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| PASSED.contains(&name) || name.starts_with(PASSED_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_need_is_passed_and_keys_are_not() {
        for name in ["PATH", "HOME", "LC_ALL", "TZ"] {
            assert!(is_passed(name.as_ref()), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "",
        ] {
            assert!(!is_passed(name.as_ref()), "{name}");
        }
    }
}
