//! The capability `fs`: files of the workspace. What may be reached is the [`Workspace`]'s to say; here is what is done with it.

mod glob;
mod read;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::OpenOptions;
use serde::Serialize;

use super::workspace::{Inside, Workspace, kind_of};
use crate::capability::{Action, Call, Capability, CapabilityError, Signature};

/// How many entries of a folder one call lists.
const MOST_ENTRIES: usize = 100_000;

pub(super) fn capability(workspace: Workspace) -> Capability {
    // Each action holds the workspace itself.
    let with = |handler: fn(&Workspace, &Call) -> Result<Answer, CapabilityError>| {
        let workspace = workspace.clone();
        move |call: Call| handler(&workspace, &call)
    };
    let path = "relative to the workspace";
    let encoding = "`utf-8` (default) or `base64`";
    let read_signature = Signature::new()
        .required("path", "string", path)
        .optional("encoding", "string", encoding)
        .optional("offset", "integer", "first byte; 0 by default")
        .optional(
            "limit",
            "integer",
            "how many bytes; a character that begins within them is whole",
        );
    let write_signature = Signature::new()
        .required("path", "string", path)
        .required("content", "string", "text, or base64")
        .optional("encoding", "string", encoding);
    let remove_signature = Signature::new().required("path", "string", path).optional(
        "recursive",
        "boolean",
        "a folder with all that is in it; false by default",
    );
    let move_signature = Signature::new().required("from", "string", path).required(
        "to",
        "string",
        "the new path, not the folder to move into",
    );
    Capability::new("fs")
        .with_description("Files of the workspace.")
        .with_action(
            Action::new("read", read_signature, with(read::read))
                .with_description("Reads a file: its text, or its bytes as base64."),
        )
        .with_action(
            Action::new(
                "write",
                write_signature.clone(),
                with(|workspace, call| write(workspace, call, false)),
            )
            .with_description("Writes a file and the folders above it; gives the number of bytes."),
        )
        .with_action(
            Action::new(
                "append",
                write_signature,
                with(|workspace, call| write(workspace, call, true)),
            )
            .with_description("Adds to the end of a file, which may be new; gives the number of bytes."),
        )
        .with_action(
            Action::new(
                "list",
                Signature::new().optional("path", "string", "the workspace by default"),
                with(list),
            )
            .with_description(
                "Lists a folder: [{name, kind: 'file' | 'directory' | 'symlink' | ..., size}], by name.",
            ),
        )
        .with_action(
            Action::new("stat", Signature::new().required("path", "string", path), with(stat))
                .with_description(
                    "What is at a path: {kind, size in bytes, modified in seconds since 1970}.",
                ),
        )
        .with_action(
            Action::new(
                "glob",
                Signature::new().required(
                    "pattern",
                    "string",
                    "`*`, `?`, `[ab]`, `{a,b}` within a name, `**` for any folders",
                ),
                with(glob::glob),
            )
            .with_description(
                "The paths that a pattern matches, sorted; not below `.git` unless the pattern names it.",
            ),
        )
        .with_action(
            Action::new("mkdir", Signature::new().required("path", "string", path), with(mkdir))
                .with_description("Makes a folder and those above it; one that is there is fine."),
        )
        .with_action(
            Action::new("remove", remove_signature, with(remove))
                .with_description("Removes a file, a symbolic link or an empty folder."),
        )
        .with_action(
            Action::new("move", move_signature, with(rename))
                .with_description("Moves or renames; a file that is at the new path is replaced."),
        )
}

/// What the actions give.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Nothing,
    Text(String),
    Bytes(usize),
    Entries(Vec<Entry>),
    Paths(Vec<String>),
    Facts(Facts),
}

#[derive(Serialize)]
struct Entry {
    name: String,
    kind: &'static str,
    size: u64,
}

#[derive(Serialize)]
struct Facts {
    kind: &'static str,
    size: u64,
    modified: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Base64,
}

impl Encoding {
    fn of(call: &Call) -> Result<Self, CapabilityError> {
        match call.argument::<Option<String>>("encoding")?.as_deref() {
            None | Some("utf-8" | "utf8" | "UTF-8") => Ok(Self::Utf8),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(CapabilityError::tool(format!(
                "`encoding` is `{other}`, and must be `utf-8` or `base64`"
            ))),
        }
    }
}

/// The path that an argument names.
fn path(workspace: &Workspace, call: &Call, name: &str) -> Result<Inside, CapabilityError> {
    let written: String = call.argument(name)?;
    if written.is_empty() {
        return Err(CapabilityError::tool(format!("`{name}` is empty")));
    }
    workspace.inside(&written)
}

fn write(workspace: &Workspace, call: &Call, appends: bool) -> Result<Answer, CapabilityError> {
    let path = path(workspace, call, "path")?;
    let encoding = Encoding::of(call)?;
    let content: String = call.argument("content")?;
    let content = match encoding {
        Encoding::Utf8 => content.into_bytes(),
        Encoding::Base64 => STANDARD
            .decode(content.trim_ascii())
            .map_err(|error| CapabilityError::tool(format!("`content` is no base64: {error}")))?,
    };
    make_parents(workspace, &path)?;
    // Not cut short on opening: what is there may turn out to be no file.
    let mut options = OpenOptions::new();
    options.create(true).write(!appends).append(appends);
    let mut file = workspace.open_file(&path, &mut options, "write")?;
    let written = match appends {
        true => file.write_all(&content),
        false => file.set_len(0).and_then(|()| file.write_all(&content)),
    };
    written.map_err(|error| path.failed("write", &error))?;
    Ok(Answer::Bytes(content.len()))
}

fn make_parents(workspace: &Workspace, path: &Inside) -> Result<(), CapabilityError> {
    match path.path.parent() {
        None => Ok(()),
        Some(parent) if parent.as_os_str().is_empty() => Ok(()),
        Some(parent) => make_folder(workspace, parent)
            .map_err(|error| path.failed("make the folders of", &error)),
    }
}

/// Makes a folder and those above it, unless it is there.
fn make_folder(workspace: &Workspace, folder: &Path) -> io::Result<()> {
    // A look before: making a folder in the place of a link says that there is something, not that it leads out.
    match workspace.folder().metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            workspace.folder().create_dir_all(folder)
        }
        Err(error) => Err(error),
    }
}

fn list(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = match call.argument::<Option<String>>("path")?.as_deref() {
        None | Some("") => workspace.whole(),
        Some(written) => workspace.inside(written)?,
    };
    let folder = workspace.open_folder(&path, "list")?;
    let entries = folder
        .entries()
        .map_err(|error| path.failed("list", &error))?;
    let mut listed = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| path.failed("list", &error))?;
        // One that was removed meanwhile is not there.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if listed.len() == MOST_ENTRIES {
            return Err(CapabilityError::tool(format!(
                "`{}` holds more than {MOST_ENTRIES} entries: use `glob` with a narrower pattern",
                path.written()
            )));
        }
        listed.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: kind_of(metadata.file_type()),
            size: metadata.len(),
        });
    }
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Answer::Entries(listed))
}

fn stat(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = path(workspace, call, "path")?;
    let metadata = workspace
        .folder()
        .metadata(&path.path)
        .map_err(|error| path.failed("look at", &error))?;
    let modified = metadata
        .modified()
        .map_err(|error| path.failed("look at", &error))?
        .into_std();
    let modified = match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    };
    Ok(Answer::Facts(Facts {
        kind: kind_of(metadata.file_type()),
        size: metadata.len(),
        modified,
    }))
}

fn mkdir(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = path(workspace, call, "path")?;
    make_folder(workspace, &path.path).map_err(|error| path.failed("make the folder", &error))?;
    Ok(Answer::Nothing)
}

fn remove(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = path(workspace, call, "path")?;
    refuse_root(&path)?;
    let is_recursive = call.argument::<Option<bool>>("recursive")? == Some(true);
    let folder = workspace.folder();
    let metadata = folder
        .symlink_metadata(&path.path)
        .map_err(|error| path.failed("remove", &error))?;
    let removed = match (metadata.is_dir(), is_recursive) {
        (false, _) => folder.remove_file(&path.path),
        (true, false) => folder.remove_dir(&path.path),
        (true, true) => folder.remove_dir_all(&path.path),
    };
    removed.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTEMPTY) if !is_recursive => CapabilityError::tool(format!(
            "cannot remove `{}`: the folder is not empty, and `recursive` is not given",
            path.written()
        )),
        _ => path.failed("remove", &error),
    })?;
    Ok(Answer::Nothing)
}

fn rename(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let from = path(workspace, call, "from")?;
    let to = path(workspace, call, "to")?;
    refuse_root(&from)?;
    refuse_root(&to)?;
    let folder = workspace.folder();
    // Before folders are made for nothing.
    folder
        .symlink_metadata(&from.path)
        .map_err(|error| from.failed("move", &error))?;
    make_parents(workspace, &to)?;
    folder
        .rename(&from.path, folder, &to.path)
        .map_err(|error| from.failed(&format!("move to `{}` what is at", to.written()), &error))?;
    Ok(Answer::Nothing)
}

fn refuse_root(path: &Inside) -> Result<(), CapabilityError> {
    match path.is_root() {
        true => Err(CapabilityError::permission(format!(
            "`{}` is the workspace itself, which stays where it is",
            path.written()
        ))),
        false => Ok(()),
    }
}
