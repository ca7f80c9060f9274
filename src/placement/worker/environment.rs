//! What a worker sees of its host's environment: an allow-list, since the rest holds keys and passwords.

use std::env;

/// The variables that programs need to find things, and libraries to be set up.
const PASSED: [&str; 32] = [
    "ALL_PROXY",
    "COLUMNS",
    "CONDA_PREFIX",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "PYTHONPATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The beginnings of the names of others.
const PASSED_PREFIXES: [&str; 4] = ["CUDA_", "LC_", "OMP_", "XDG_"];

/// The host's variables, parted.
pub(super) struct Environment {
    pub(super) passed: Vec<(String, String)>,
    /// The names of those that are not.
    pub(super) withheld: Vec<String>,
}

impl Environment {
    /// Passes what is on the list, and what is named. A variable that is not text is left out: no message has a word for it.
    pub(super) fn of_this_process(named: &[String]) -> Self {
        let mut passed = Vec::new();
        let mut withheld = Vec::new();
        for (name, value) in env::vars_os() {
            let Ok(name) = name.into_string() else {
                continue;
            };
            match value.into_string() {
                Ok(value) if is_passed(&name) || named.contains(&name) => {
                    passed.push((name, value));
                }
                _ => withheld.push(name),
            }
        }
        Self { passed, withheld }
    }
}

fn is_passed(name: &str) -> bool {
    PASSED.binary_search(&name).is_ok()
        || PASSED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_need_is_passed_and_keys_are_not() {
        for name in PASSED {
            assert!(is_passed(name), "{name}");
        }
        for name in [
            "LC_ALL",
            "XDG_CACHE_HOME",
            "OMP_NUM_THREADS",
            "CUDA_VISIBLE_DEVICES",
        ] {
            assert!(is_passed(name), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "PATHS",
            "LC",
            "SSH_AUTH_SOCK",
            "",
        ] {
            assert!(!is_passed(name), "{name}");
        }
    }
}
