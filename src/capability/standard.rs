//! Ready-made capabilities: [`fs`], [`shell`], [`git`], [`search`] and, with the feature `http`, [`http`].
//!
//! Each function makes a [`Capability`] that a host hands to its sessions, alone or with others. What an action may reach is
//! decided here and nowhere else: whatever has to do with files goes through `workspace.rs`, whatever starts a
//! program through `program.rs`; no other file of the module opens a path or spawns.
//!
//! A capability is no sandbox of the session itself. Code in process can do what the host can, capabilities or not; a worker
//! with a sandbox can do little more than call them. And [`shell`] runs whatever it is told, with the host's own rights.

mod environment;
mod fs;
mod git;
#[cfg(feature = "http")]
mod http;
mod program;
mod search;
mod shell;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod walk;
mod workspace;

use std::path::Path;
use std::time::Duration;

#[cfg(feature = "http")]
pub use self::http::Http;
use self::workspace::Workspace;
use super::{Call, Capability, CapabilityError, Signature};
use crate::runtime::RuntimeError;

/// Files of a folder: `read`, `write`, `append`, `list`, `stat`, `glob`, `mkdir`, `remove`, `move`.
///
/// Paths are relative to `workspace`, or absolute and inside it. No `..`, no absolute path and no symbolic link leads out of
/// it: such a call fails with the kind `permission`. A hard link to a file outside, or something mounted inside, is what lies
/// in the workspace. Only regular files are read and written. A call reads 16 MiB at most.
///
/// # Errors
///
/// When `workspace` is no folder that can be opened.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// let files = capabilities::fs(std::env::temp_dir())?;
/// assert_eq!(files.name(), "fs");
/// assert!(capabilities::fs("/no/such/folder").is_err());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn fs(workspace: impl AsRef<Path>) -> Result<Capability, RuntimeError> {
    Ok(fs::capability(Workspace::open(workspace.as_ref())?))
}

/// The ready-made capability of a name: `fs`, `shell`, `git` or `search`, in a folder.
///
/// `http` is none of them, since it needs to know which hosts it may reach.
///
/// # Errors
///
/// When there is none of the name, or `workspace` is no folder that can be opened.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// assert_eq!(capabilities::named("search", std::env::temp_dir())?.name(), "search");
/// assert!(capabilities::named("mail", std::env::temp_dir()).is_err());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn named(name: &str, workspace: impl AsRef<Path>) -> Result<Capability, RuntimeError> {
    match name {
        "fs" => fs(workspace),
        "shell" => shell(workspace),
        "git" => git(workspace),
        "search" => search(workspace),
        _ => Err(RuntimeError::InvalidOption(format!(
            "`{name}` alone is no capability\nhint: use `fs`, `shell`, `git` or `search`; `http` is made with the hosts that it may reach"
        ))),
    }
}

/// Commands: `run`.
///
/// A command begins in `workspace` or a folder of it; it can reach everything that the host can. It gets the variables that
/// programs need to find things, and none that may hold a secret, no terminal and, unless `input` is given, no input. It
/// runs in a session of its own, and all of that session's processes are killed when the command itself has ended, at its
/// timeout (60 s by default, a day at most) and when the cell ends; one that starts a session of its own escapes this. 1 MiB
/// of each stream is kept, half from the start and half from the end.
///
/// # Errors
///
/// When `workspace` is no folder that can be opened.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// let shell = capabilities::shell(std::env::temp_dir())?;
/// assert!(shell.action("run").is_some());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn shell(workspace: impl AsRef<Path>) -> Result<Capability, RuntimeError> {
    shell::capability(Workspace::open(workspace.as_ref())?)
}

/// A repository, to look at: `status`, `log`, `diff`, `show`.
///
/// Runs the `git` command. What the repository's own configuration and attributes would have it run (hooks, filters, drivers,
/// monitors, signature checks) is off, and it connects to nothing. A repository whose data lies outside the workspace, as
/// that of a linked worktree does, is refused with the kind `permission`.
///
/// # Errors
///
/// When `workspace` is no folder that can be opened. That git is missing is told by the first call.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// let git = capabilities::git(std::env::temp_dir())?;
/// assert!(git.action("log").is_some());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn git(workspace: impl AsRef<Path>) -> Result<Capability, RuntimeError> {
    Ok(git::capability(Workspace::open(workspace.as_ref())?))
}

/// Text in files: `search`, by ripgrep's regular expressions.
///
/// Honours `.gitignore`, `.ignore` and `.git/info/exclude` of the workspace, and looks into hidden files but not into `.git`.
/// Follows no symbolic link. Binary files are left out.
///
/// # Errors
///
/// When `workspace` is no folder that can be opened.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// let search = capabilities::search(std::env::temp_dir())?;
/// assert!(search.action("search").is_some());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn search(workspace: impl AsRef<Path>) -> Result<Capability, RuntimeError> {
    Ok(search::capability(Workspace::open(workspace.as_ref())?))
}

/// HTTP to hosts of an allow-list: `request`. [`Http`] has the options.
///
/// # Errors
///
/// When the list is empty or one of `hosts` is no host.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities;
///
/// let http = capabilities::http(["api.example.org", "*.example.com"])?;
/// assert_eq!(http.name(), "http");
/// assert!(capabilities::http(["https://example.org/"]).is_err());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
#[cfg(feature = "http")]
pub fn http<I, H>(hosts: I) -> Result<Capability, RuntimeError>
where
    I: IntoIterator<Item = H>,
    H: Into<String>,
{
    Http::new(hosts).build()
}

/// A signature out of a schema that stands in this module.
fn signature(schema: &str) -> Result<Signature, RuntimeError> {
    Signature::from_schema(schema)
        .map_err(|error| RuntimeError::InvalidOption(format!("a schema of warmcell's: {error}")))
}

/// The argument `timeout_seconds`.
fn timeout(call: &Call, default: Duration, most: Duration) -> Result<Duration, CapabilityError> {
    let Some(seconds) = call.argument::<Option<f64>>("timeout_seconds")? else {
        return Ok(default);
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() && timeout <= most => Ok(timeout),
        _ => Err(CapabilityError::tool(format!(
            "`timeout_seconds` is {seconds}, and must be more than 0 and at most {}",
            most.as_secs()
        ))),
    }
}

/// An error of the system's in words, as the end of a message.
fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = match error.raw_os_error() {
        Some(number) => text.trim_end_matches(&format!(" (os error {number})")),
        None => text.as_str(),
    };
    let mut characters = text.chars();
    match characters.next() {
        // Not a word in capitals, such as a name.
        Some(first) if !characters.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}
