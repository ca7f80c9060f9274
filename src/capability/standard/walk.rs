//! [`walk`]: everything below a folder, without following symbolic links and without ever leaving the workspace.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, FileType};

/// What a walk is for.
pub(super) trait Visitor {
    /// What is known of a folder when its entries are visited.
    type Level: Clone;

    /// Whether the walk goes into a folder.
    fn descends(&mut self, path: &Path, level: &Self::Level) -> bool;

    /// The walk is in a folder now.
    fn enter(&mut self, folder: &Dir, path: &Path, parent: &Self::Level) -> Self::Level;

    /// An entry, a folder included; breaking ends the walk.
    fn visit(&mut self, path: &Path, kind: FileType, level: &Self::Level) -> ControlFlow<()>;
}

/// Visits what is below `start`, a path of the workspace: the entries of a folder by name, then its folders' entries.
///
/// A folder is opened from the workspace's handle each time: few descriptors are held, and one that has become a symbolic
/// link meanwhile leads nowhere outside. What cannot be opened is passed over.
pub(super) fn walk<V: Visitor>(
    workspace: &Dir,
    start: &Path,
    level: V::Level,
    visitor: &mut V,
) -> ControlFlow<()> {
    let mut pending = vec![(start.to_owned(), level)];
    while let Some((path, parent)) = pending.pop() {
        let Ok(folder) = workspace.open_dir(name_of(&path)) else {
            continue;
        };
        let Ok(entries) = folder.entries() else {
            continue;
        };
        let level = visitor.enter(&folder, &path, &parent);
        let mut entries: Vec<_> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
            .collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut folders = Vec::new();
        for (name, kind) in entries {
            let path = path.join(name);
            visitor.visit(&path, kind, &level)?;
            if kind.is_dir() && visitor.descends(&path, &level) {
                folders.push((path, level.clone()));
            }
        }
        pending.extend(folders.into_iter().rev());
    }
    ControlFlow::Continue(())
}

/// The workspace itself has the empty path here, so that what is below it is named without a `./`.
fn name_of(path: &Path) -> PathBuf {
    match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    }
}
