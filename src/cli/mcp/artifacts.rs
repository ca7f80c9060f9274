//! Where the server keeps artifacts when nobody says: the user's state directory, which it cleans when it starts.

use std::env;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use warmcell::clean_artifacts;

/// How long the artifacts of a session that has ended are kept.
const AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How much of them is kept.
const BYTES: u64 = 2 << 30;

/// The folder, and what there is to say of it. One that is named is for the session to refuse, and the user's to clean.
pub(super) fn folder(named: Option<PathBuf>) -> (Option<PathBuf>, Option<String>) {
    if named.is_some() {
        return (named, None);
    }
    let Some(folder) = default(|name| env::var_os(name).map(PathBuf::from)) else {
        return (None, None);
    };
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&folder);
    match made.and_then(|()| clean_artifacts(&folder, AGE, BYTES)) {
        Ok(_) => (Some(folder), None),
        Err(error) => {
            let folder = folder.display();
            let notice = format!(
                "what is too large for a result is not kept: `{folder}` cannot be used: {error}"
            );
            (None, Some(notice))
        }
    }
}

/// `warmcell/artifacts` in the state directory of the XDG base directories, which must be absolute.
fn default(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let is_absolute = |path: &PathBuf| Path::is_absolute(path);
    let state = variable("XDG_STATE_HOME").filter(is_absolute).or_else(|| {
        let home = variable("HOME").filter(is_absolute)?;
        Some(home.join(".local/state"))
    })?;
    Some(state.join("warmcell/artifacts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_directory_is_the_users() {
        let with = |state: Option<&str>, home: Option<&str>| {
            default(|name| match name {
                "XDG_STATE_HOME" => state.map(PathBuf::from),
                _ => home.map(PathBuf::from),
            })
        };
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(
            with(Some("/s"), Some("/h")),
            expected("/s/warmcell/artifacts")
        );
        for relative in [None, Some("s"), Some("")] {
            assert_eq!(
                with(relative, Some("/h")),
                expected("/h/.local/state/warmcell/artifacts")
            );
            assert_eq!(with(relative, None), None);
        }
    }
}
