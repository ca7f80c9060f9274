//! [`Repository`]: where a repository of the workspace keeps its data, and the check that all of it is in the workspace.
//!
//! Found here and not by git, which would go on above the workspace, and follow what a `.git` file, a `core.worktree` or a
//! symbolic link says to wherever it leads.

use std::io::Read;
use std::path::{Path, PathBuf};

use cap_std::fs::OpenOptions;

use crate::capability::CapabilityError;
use crate::capability::standard::workspace::{Inside, Workspace};

/// What is read of a file that names a folder.
const MOST_BYTES: u64 = 64 * 1024;

pub(super) struct Repository {
    pub(super) workspace: Workspace,
    /// The top of the working tree, a path of the workspace; empty for the workspace itself.
    pub(super) folder: PathBuf,
    /// Where its data is: a path of the workspace as well.
    pub(super) data: PathBuf,
}

impl Repository {
    /// The repository that a folder of the workspace belongs to.
    pub(super) fn find(workspace: &Workspace, folder: &Inside) -> Result<Self, CapabilityError> {
        let start = workspace
            .folder()
            .canonicalize(&folder.path)
            .map_err(|error| folder.failed("find a repository in", &error))?;
        for folder in start.ancestors() {
            let folder: PathBuf = folder.components().filter(is_named).collect();
            let marker = folder.join(".git");
            let Ok(metadata) = workspace.folder().symlink_metadata(&marker) else {
                continue;
            };
            let data = match metadata.is_file() {
                false => marker,
                true => named_by(workspace, &marker, &folder, "gitdir:")?,
            };
            let data = canonical(workspace, &data)?;
            let repository = Self {
                workspace: workspace.clone(),
                folder,
                data,
            };
            repository.check()?;
            return Ok(repository);
        }
        Err(CapabilityError::tool(format!(
            "`{}` is not in a git repository of the workspace",
            folder.written()
        )))
    }

    /// That nothing of its data is elsewhere.
    fn check(&self) -> Result<(), CapabilityError> {
        let common = self.data.join("commondir");
        let common = match self.workspace.folder().symlink_metadata(&common) {
            Err(_) => self.data.clone(),
            Ok(_) => canonical(
                &self.workspace,
                &named_by(&self.workspace, &common, &self.data, "")?,
            )?,
        };
        for folder in [&self.data, &common] {
            for part in [
                "HEAD",
                "index",
                "config",
                "config.worktree",
                "packed-refs",
                "refs",
                "objects",
                "objects/pack",
            ] {
                let part = folder.join(part);
                if self.workspace.folder().symlink_metadata(&part).is_ok() {
                    canonical(&self.workspace, &part)?;
                }
            }
        }
        let objects = common.join("objects");
        let alternates = objects.join("info/alternates");
        if self
            .workspace
            .folder()
            .symlink_metadata(&alternates)
            .is_ok()
        {
            for line in text(&self.workspace, &alternates)?.lines() {
                if !line.is_empty() && !line.starts_with('#') {
                    let inside = self
                        .workspace
                        .inside(&joined(&self.workspace, &objects, line));
                    canonical(&self.workspace, &inside.map_err(|_| elsewhere())?.path)?;
                }
            }
        }
        Ok(())
    }
}

fn is_named(component: &std::path::Component<'_>) -> bool {
    matches!(component, std::path::Component::Normal(_))
}

/// The folder that a file names, relative to `base`.
fn named_by(
    workspace: &Workspace,
    file: &Path,
    base: &Path,
    label: &str,
) -> Result<PathBuf, CapabilityError> {
    let text = text(workspace, file)?;
    let name = text.trim_end_matches(['\n', '\r']);
    let name = name.strip_prefix(label).unwrap_or(name).trim_start();
    let inside = workspace.inside(&joined(workspace, base, name));
    Ok(inside.map_err(|_| elsewhere())?.path)
}

/// A path as it is written in a file of `base`, a path of the workspace.
fn joined(workspace: &Workspace, base: &Path, name: &str) -> String {
    let whole = workspace.root().join(base).join(name);
    whole.to_string_lossy().into_owned()
}

fn text(workspace: &Workspace, file: &Path) -> Result<String, CapabilityError> {
    let inside = workspace.inside(&file.to_string_lossy())?;
    let mut options = OpenOptions::new();
    let file = workspace.open_file(&inside, options.read(true), "read")?;
    let mut text = String::new();
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| inside.failed("read", &error))?;
    Ok(text)
}

fn canonical(workspace: &Workspace, path: &Path) -> Result<PathBuf, CapabilityError> {
    workspace
        .folder()
        .canonicalize(path)
        .map_err(|error| match super::super::workspace::is_escape(&error) {
            true => elsewhere(),
            false => CapabilityError::tool(format!(
                "the repository is incomplete: `{}`: {}",
                path.display(),
                super::super::in_words(&error)
            )),
        })
}

fn elsewhere() -> CapabilityError {
    CapabilityError::permission(
        "the repository keeps data outside of the workspace, as a linked worktree or a shared clone does",
    )
}
