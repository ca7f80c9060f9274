//! [`clean_artifacts`]: takes away what sessions of long ago left, so that a folder for everybody's artifacts stays small.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cap_std::fs::Dir;

use super::{SESSION, open_folder};

/// A session's folder that nobody uses.
struct Left {
    name: String,
    changed: SystemTime,
    bytes: u64,
}

/// Takes away the artifacts of sessions that have ended: those unchanged for `age`, and of the rest the oldest until at most
/// `bytes` are left. Gives how many bytes are gone.
///
/// Only folders that sessions have made are touched, and none whose session lives, in whatever process.
///
/// # Errors
///
/// When the folder cannot be read; one that is not there is clean.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let week = Duration::from_secs(7 * 24 * 60 * 60);
/// # let folder = std::env::temp_dir().join("warmcell-doc-of-cleaning");
/// let gone = warmcell::clean_artifacts(&folder, week, 1 << 30)?;
/// assert_eq!(gone, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn clean_artifacts(folder: &Path, age: Duration, bytes: u64) -> io::Result<u64> {
    let parent = match Dir::open_ambient_dir(folder, cap_std::ambient_authority()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        parent => parent?,
    };
    let mut left = Vec::new();
    for entry in parent.entries()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(SESSION)
            && let Some(found) = inspect(&parent, &name)
        {
            left.push(found);
        }
    }
    left.sort_by_key(|found| found.changed);
    let now = SystemTime::now();
    let mut total: u64 = left.iter().map(|found| found.bytes).sum();
    let mut gone = 0;
    for found in left {
        let is_old = now
            .duration_since(found.changed)
            .is_ok_and(|since| since >= age);
        if (is_old || total > bytes) && remove(&parent, &found.name) {
            gone += found.bytes;
            total -= found.bytes;
        }
    }
    Ok(gone)
}

/// Looks at a folder. What is no folder, cannot be read or is gone by now is none of ours.
fn inspect(parent: &Dir, name: &str) -> Option<Left> {
    let folder = open_folder(parent, name).ok()?;
    let changed = folder.metadata().ok()?.modified().ok()?;
    let mut bytes = 0;
    for entry in Dir::from_std_file(folder).entries().ok()? {
        bytes += entry.ok()?.metadata().ok()?.len();
    }
    Some(Left {
        name: name.to_owned(),
        changed,
        bytes,
    })
}

/// Takes a folder away, unless its session lives.
fn remove(parent: &Dir, name: &str) -> bool {
    let Ok(folder) = open_folder(parent, name) else {
        return false;
    };
    folder.try_lock().is_ok() && parent.remove_dir_all(name).is_ok()
}
