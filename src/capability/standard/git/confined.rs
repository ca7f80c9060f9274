//! [`rules`]: what git may reach at all, by landlock.
//!
//! The checks of the repository and the settings of the command line are lists, and lists have gaps: a link somewhere deep in
//! a `.git` folder, a setting that a later git learns. The kernel has none: git reads the workspace and the system's programs,
//! writes nothing, and starts nothing of the workspace's. Where the kernel has no landlock, the lists are what there is.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    path_beneath_rules,
};

/// Where programs and their libraries are, and what the loader and the clock read.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix",
    "/gnu",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/dev/urandom",
];

#[cfg(test)]
std::thread_local! {
    /// For tests of what holds without the kernel's help.
    pub(super) static LISTS_ALONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The rules for a program that reads a workspace; none where the kernel does not take any.
pub(super) fn rules(workspace: &Path, path: &OsStr) -> Option<OwnedFd> {
    #[cfg(test)]
    if LISTS_ALONE.get() {
        return None;
    }
    made(workspace, path).ok().flatten()
}

fn made(workspace: &Path, path: &OsStr) -> Result<Option<OwnedFd>, RulesetError> {
    let looks = AccessFs::ReadFile | AccessFs::ReadDir;
    let devices = AccessFs::ReadFile | AccessFs::WriteFile;
    let system = SYSTEM.iter().map(PathBuf::from);
    let programs: Vec<PathBuf> = system.chain(homes(path)).collect();
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V3))?
        .create()?
        .add_rules(path_beneath_rules(&programs, AccessFs::from_read(ABI::V3)))?
        .add_rules(path_beneath_rules(["/dev/null"], devices))?
        .add_rules(path_beneath_rules([workspace], looks))?;
    Ok(rules.into())
}

/// Where git is installed, if not with the system.
fn homes(path: &OsStr) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    let Some(program) = std::env::split_paths(path)
        .map(|folder| folder.join("git"))
        .find(|program| program.is_file())
    else {
        return homes;
    };
    for program in [program.canonicalize().ok(), Some(program)]
        .into_iter()
        .flatten()
    {
        let Some(folder) = program.parent() else {
            continue;
        };
        homes.push(folder.to_owned());
        let has_parts = |prefix: &&Path| {
            ["libexec/git-core", "lib/git-core"]
                .iter()
                .any(|parts| prefix.join(parts).is_dir())
        };
        homes.extend(folder.parent().filter(has_parts).map(Path::to_owned));
    }
    homes
}
