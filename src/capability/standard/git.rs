//! The capability `git`: a repository of the workspace, to look at.
//!
//! The `git` command does the work, by its formats for programs. A repository is data that a stranger may have made, and its
//! configuration can name programs: [`repository`] says which repository it is, and that it lies inside the workspace;
//! [`hardened`] runs git so that it starts nothing but itself; [`confined`] has the kernel hold it to both.

mod confined;
mod hardened;
mod log;
mod repository;
mod status;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use self::hardened::Output;
use self::log::Commit;
use self::repository::Repository;
use self::status::Status;
use super::workspace::Workspace;
use crate::capability::{Action, Call, Capability, CapabilityError, Signature};

/// How many commits one call gives when it does not say, and at most.
const DEFAULT_COMMITS: u64 = 20;
const MOST_COMMITS: u64 = 1_000;

pub(super) fn capability(workspace: Workspace) -> Capability {
    let folder = "the repository's folder, or one in it; the workspace by default";
    let status = {
        let workspace = workspace.clone();
        Action::asynchronous(
            "status",
            Signature::new().optional("repository", "string", folder),
            move |call| status(workspace.clone(), call),
        )
    };
    let log = {
        let workspace = workspace.clone();
        let signature = Signature::new()
            .optional("limit", "integer", "how many; 20 by default, 1000 at most")
            .optional("path", "string", "those that changed this file or folder")
            .optional("revision", "string", "where to begin; `HEAD` by default")
            .optional("repository", "string", folder);
        Action::asynchronous("log", signature, move |call| log(workspace.clone(), call))
    };
    let diff = {
        let workspace = workspace.clone();
        let signature = Signature::new()
            .optional("path", "string", "of this file or folder alone")
            .optional(
                "staged",
                "boolean",
                "what is staged, against `HEAD`; false by default",
            )
            .optional("repository", "string", folder);
        Action::asynchronous("diff", signature, move |call| diff(workspace.clone(), call))
    };
    let show = {
        let signature = Signature::new()
            .required(
                "revision",
                "string",
                "`HEAD~1`, a hash, `v1.0`, or `HEAD:path` for a file",
            )
            .optional("repository", "string", folder);
        Action::asynchronous("show", signature, move |call| show(workspace.clone(), call))
    };
    Capability::new("git")
        .with_description("The workspace's repository, read-only.")
        .with_action(status.with_description(
            "What has changed: {branch, head, upstream, ahead, behind, changes: [{path, staged, unstaged, original}]}; null where there is none.",
        ))
        .with_action(log.with_description(
            "The latest commits, newest first: [{hash, parents, author, email, date, subject, body}].",
        ))
        .with_action(diff.with_description(
            "The changes of the working tree as a patch, a text; a very long one is cut in the middle and says so.",
        ))
        .with_action(show.with_description(
            "A commit with its patch, or a file of a revision, as text; a very long one is cut in the middle and says so.",
        ))
}

/// What the actions give.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Status(Status),
    Commits(Vec<Commit>),
    Text(String),
}

async fn status(workspace: Workspace, call: Call) -> Result<Answer, CapabilityError> {
    let repository = repository(&workspace, &call)?;
    let arguments = [
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
        "--renames",
    ];
    let output = hardened::run(&repository, words(&arguments)).await?;
    let text = output.whole("narrow it down: ignore generated files in .gitignore")?;
    Ok(Answer::Status(Status::read(&text)))
}

async fn log(workspace: Workspace, call: Call) -> Result<Answer, CapabilityError> {
    let repository = repository(&workspace, &call)?;
    // As a float, since an integer may come as `3.0`.
    let limit = match call.argument::<Option<f64>>("limit")? {
        None => DEFAULT_COMMITS,
        Some(limit) if limit >= 0.0 => (limit as u64).min(MOST_COMMITS),
        Some(limit) => {
            return Err(CapabilityError::tool(format!(
                "`limit` is {limit}, and must be 0 or more"
            )));
        }
    };
    let revision = match call.argument::<Option<String>>("revision")? {
        Some(revision) => checked(revision, "revision")?,
        None if !hardened::has_commits(&repository).await? => {
            return Ok(Answer::Commits(Vec::new()));
        }
        None => "HEAD".to_owned(),
    };
    let mut arguments = words(&[
        "log",
        "-z",
        "--no-show-signature",
        "--no-mailmap",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-patch",
        "--encoding=UTF-8",
        log::FORMAT,
    ]);
    arguments.push(format!("--max-count={limit}").into());
    arguments.extend(words(&["--end-of-options", &revision]));
    arguments.extend(paths(&workspace, &repository, &call)?);
    let output = hardened::run(&repository, arguments).await?;
    Ok(Answer::Commits(log::read(
        &output.whole("give a smaller `limit`")?,
    )))
}

async fn diff(workspace: Workspace, call: Call) -> Result<Answer, CapabilityError> {
    let repository = repository(&workspace, &call)?;
    let mut arguments = words(&[
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
        "--ignore-submodules=dirty",
    ]);
    if call.argument::<Option<bool>>("staged")? == Some(true) {
        arguments.push("--cached".into());
    }
    arguments.extend(paths(&workspace, &repository, &call)?);
    let output = hardened::run(&repository, arguments).await?;
    Ok(Answer::Text(output.text()?))
}

async fn show(workspace: Workspace, call: Call) -> Result<Answer, CapabilityError> {
    let repository = repository(&workspace, &call)?;
    let revision = checked(call.argument("revision")?, "revision")?;
    let arguments = words(&[
        "show",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-show-signature",
        "--submodule=short",
        "--format=fuller",
        "--encoding=UTF-8",
        "--end-of-options",
        &revision,
        "--",
    ]);
    let output = hardened::run(&repository, arguments).await?;
    Ok(Answer::Text(output.text()?))
}

fn repository(workspace: &Workspace, call: &Call) -> Result<Repository, CapabilityError> {
    let folder = match call.argument::<Option<String>>("repository")?.as_deref() {
        None | Some("") => workspace.whole(),
        Some(written) => workspace.inside(written)?,
    };
    Repository::find(workspace, &folder)
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// An argument that git cannot take for an option.
fn checked(argument: String, name: &str) -> Result<String, CapabilityError> {
    if argument.starts_with('-') {
        return Err(CapabilityError::permission(format!(
            "`{name}` is `{argument}`, which git would read as an option"
        )));
    }
    if argument.is_empty() || argument.contains('\0') {
        return Err(CapabilityError::tool(format!(
            "`{name}` is empty or holds a NUL character"
        )));
    }
    Ok(argument)
}

/// The end of a command line: the argument `path`, relative to the repository, or no path.
fn paths(
    workspace: &Workspace,
    repository: &Repository,
    call: &Call,
) -> Result<Vec<OsString>, CapabilityError> {
    let mut arguments = vec![OsString::from("--")];
    let Some(written) = call.argument::<Option<String>>("path")? else {
        return Ok(arguments);
    };
    let written = checked(written, "path")?;
    let inside = workspace.inside(&written)?;
    let Some(relative) = below(&inside.path, &repository.folder) else {
        return Err(CapabilityError::tool(format!(
            "`{written}` is not in the repository: `path` is relative to the workspace, too"
        )));
    };
    arguments.push(relative.into());
    Ok(arguments)
}

/// A path of the workspace as one of a folder's; what is left of `..` is resolved by the words alone, as git does.
fn below(path: &Path, folder: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            _ => {}
        }
    }
    let relative = plain.strip_prefix(folder).ok()?;
    Some(match relative.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => relative.to_owned(),
    })
}

impl Output {
    /// The text, which is of use only as a whole.
    fn whole(self, advice: &str) -> Result<String, CapabilityError> {
        match self.is_cut() {
            true => Err(CapabilityError::tool(format!(
                "git says more than one call takes: {advice}"
            ))),
            false => self.text(),
        }
    }
}
