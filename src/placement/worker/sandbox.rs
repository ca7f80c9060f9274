//! The sandbox of a worker: what a session asks for, what its process may reach, and what this kernel can hold it to.
//!
//! What is asked for is enforced or refused, never weakened: [`Isolation::check`] is asked when a session is opened, and the
//! worker itself ends when a rule cannot be made (see [`confine`](super::child)).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::runtime::{RuntimeError, SessionBuilder};

/// The landlock ABI that holds all writing, `truncate` included.
const LANDLOCK_NEEDED: i32 = 3;

/// The landlock ABI that keeps signals inside.
const LANDLOCK_SIGNALS: i32 = 6;

/// Which files a worker's cells reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Sandbox {
    /// Those that the host's user does.
    #[default]
    Off,
    /// The workspace and a temporary folder of the session's own; of the rest, the system and the interpreter can be read.
    WorkspaceWrite,
    /// The same, and nothing but the temporary folder can be written.
    ReadOnly,
}

/// What a sandboxed process may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confinement {
    /// None when files are not held.
    pub(super) files: Option<Files>,
    pub(super) network: bool,
}

/// The folders that can be reached, besides the system's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
}

impl Confinement {
    /// What a session asks for; none when nothing is to be held.
    pub(super) fn of(builder: &SessionBuilder, reads: &[PathBuf], here: &Path) -> Option<Self> {
        if builder.sandbox == Sandbox::Off && builder.network {
            return None;
        }
        let files = (builder.sandbox != Sandbox::Off).then(|| {
            let workspace = builder.workspace.as_deref().or(builder.cwd.as_deref());
            let workspace = here.join(workspace.unwrap_or(here));
            let mut read = reads.to_vec();
            let mut write = Vec::new();
            match builder.sandbox {
                Sandbox::WorkspaceWrite => write.push(workspace),
                Sandbox::ReadOnly | Sandbox::Off => read.push(workspace),
            }
            Files { read, write }
        });
        Some(Self {
            files,
            network: builder.network,
        })
    }
}

/// Whether a folder is in another one, whatever links lead there. One that is not there is nowhere.
fn is_within(folder: &Path, whole: &Path) -> bool {
    match (folder.canonicalize(), whole.canonicalize()) {
        (Ok(folder), Ok(whole)) => folder.starts_with(whole),
        // Opening the session says what is wrong with it.
        _ => true,
    }
}

/// What this kernel can hold a worker to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Isolation {
    /// The version of landlock's interface, which holds files; none where the kernel lacks it or has it turned off.
    pub landlock: Option<i32>,
    /// Whether the kernel filters system calls, which holds the network.
    pub seccomp: bool,
}

impl Isolation {
    /// Asks the kernel.
    pub fn of_this_kernel() -> Self {
        // SAFETY: asks for a number; neither call changes anything.
        let (abi, mode) = unsafe {
            (
                libc::syscall(
                    libc::SYS_landlock_create_ruleset,
                    std::ptr::null::<libc::c_void>(),
                    0_usize,
                    1_u32,
                ),
                libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0),
            )
        };
        Self {
            landlock: i32::try_from(abi).ok().filter(|abi| *abi > 0),
            seccomp: mode >= 0,
        }
    }

    /// Whether files can be held.
    pub fn holds_files(&self) -> bool {
        self.landlock.is_some_and(|abi| abi >= LANDLOCK_NEEDED)
    }

    /// Whether a cell's signals can be kept from processes that are not the session's.
    pub fn holds_signals(&self) -> bool {
        self.landlock.is_some_and(|abi| abi >= LANDLOCK_SIGNALS)
    }

    /// Refuses what a session asks for and the kernel cannot enforce.
    pub(super) fn check(self, builder: &SessionBuilder) -> Result<(), RuntimeError> {
        let refused = |text: String| Err(RuntimeError::Unavailable(text));
        if builder.sandbox != Sandbox::Off && !self.holds_files() {
            let found = match self.landlock {
                Some(abi) => format!("has version {abi} of it"),
                None => "does not offer it".to_owned(),
            };
            return refused(format!(
                "`sandbox` needs landlock of version {LANDLOCK_NEEDED} to hold files, and this kernel {found}\nhint: run on Linux 6.2 or newer with landlock among its security modules, or leave `sandbox` out"
            ));
        }
        if builder.sandbox != Sandbox::Off
            && let (Some(workspace), Some(cwd)) = (&builder.workspace, &builder.cwd)
            && !is_within(cwd, workspace)
        {
            return Err(RuntimeError::InvalidOption(format!(
                "`cwd` is `{}`, which lies outside of the workspace `{}`: a sandboxed session is held to that\nhint: name a folder in the workspace",
                cwd.display(),
                workspace.display()
            )));
        }
        let asks = builder.sandbox != Sandbox::Off || !builder.network;
        if asks && !self.seccomp {
            return refused(
                "`sandbox` and `network` need filters of system calls, which this kernel does not offer\nhint: run on a kernel with seccomp, or leave both out"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Language;

    fn isolation(landlock: Option<i32>, seccomp: bool) -> Isolation {
        Isolation { landlock, seccomp }
    }

    fn problem(isolation: Isolation, sandbox: Sandbox, network: bool) -> String {
        let builder = SessionBuilder::new(Language::Python)
            .sandbox(sandbox)
            .network(network);
        isolation
            .check(&builder)
            .map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn what_the_kernel_cannot_enforce_is_refused_by_name() {
        let files = problem(isolation(None, true), Sandbox::ReadOnly, true);
        assert!(files.contains("needs landlock of version 3"), "{files}");
        assert!(files.contains("does not offer it"), "{files}");
        let old = problem(isolation(Some(2), true), Sandbox::WorkspaceWrite, true);
        assert!(old.contains("has version 2 of it"), "{old}");
        let calls = problem(isolation(Some(7), false), Sandbox::Off, false);
        assert!(calls.contains("filters of system calls"), "{calls}");
        assert_eq!(problem(isolation(None, false), Sandbox::Off, true), "none");
        assert_eq!(
            problem(isolation(Some(3), true), Sandbox::ReadOnly, false),
            "none"
        );
    }
}
