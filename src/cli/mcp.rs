//! `warmcell mcp`: what the flags and the workspace's `warmcell.toml` make of the server's settings.
//!
//! A flag goes before the file. The file lies where sandboxed cells may write: what would loosen the hold on them can only
//! be a flag.

mod artifacts;
mod file;
mod install;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Subcommand;
use warmcell::{Capability, Isolation, Language, Placement, RuntimeError, Sandbox, SessionBuilder};

use self::file::File;
use super::runner::SessionOptions;
use super::signals::Input;
use super::{Usage, descriptors, language};
use crate::mcp::{self, Settings};
use crate::ready;

/// How long a cell may run that does not say.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes of images a result has that does not say.
const IMAGE_BYTES: usize = 4 << 20;

/// Serve sessions to an MCP client on standard input and output, or set a client up to use them
///
/// Cells run in workers that can write to the workspace and nowhere else, as far as the kernel can hold them to it; a sandbox
/// that is asked for is never left out. `warmcell.toml` in the workspace may set what the options set.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    mut_arg("timeout", |argument| argument.help("How long a cell may run that does not say, in seconds [default: 30]")),
    mut_arg("placement", |argument| argument.help("Where the code runs: `worker`, a process of its own, or `in-process` [default: worker]")),
    mut_arg("sandbox", |argument| argument.help("What the code may do with files: `off`, `workspace-write` or `read-only` [default: workspace-write, where the kernel can]")),
    mut_arg("artifacts", |argument| argument.help("Where images, large values and the whole of what was cut are kept as files [default: `warmcell/artifacts` in the user's state directory]").conflicts_with("no_artifacts")),
    mut_arg("workspace", |argument| argument.help("The folder to work in [default: where the client starts this]")),
)]
pub(super) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// A language to offer; can be repeated, the first one is the default [default: all there are]
    #[arg(long, value_name = "LANGUAGE", value_parser = language::parse)]
    language: Vec<Language>,
    /// How many sessions live at most [default: 8]
    #[arg(long, value_name = "NUMBER")]
    sessions: Option<usize>,
    /// How long a session may be idle, in minutes [default: 30]
    #[arg(long, value_name = "MINUTES")]
    idle: Option<u64>,
    /// How many bytes of text a result may have [default: 16384]
    #[arg(long, value_name = "BYTES")]
    text_bytes: Option<usize>,
    /// How many bytes of images a result may have, as base64 [default: 4194304]
    #[arg(long, value_name = "BYTES")]
    image_bytes: Option<usize>,
    /// A capability of the cells, in the workspace: `fs`, `search`, `git` or `shell`; can be repeated
    ///
    /// What a capability does, this server does: `shell` runs commands outside of the sandbox.
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// A host that the capability `http` may reach, `example.org` or `*.example.org`; can be repeated
    #[arg(long, value_name = "HOST")]
    http_host: Vec<String>,
    /// Keep no files of what is too large for a result
    #[arg(long)]
    no_artifacts: bool,
    /// Hand outcomes over as data besides
    #[arg(long)]
    structured: bool,
    #[command(flatten)]
    session: SessionOptions,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(install::Options),
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    if let Some(Action::Install(options)) = options.action {
        return install::main(&options);
    }
    // Before anything else: from here on no cell can reach the protocol.
    let input = descriptors::take_stdin().context("cannot use standard input")?;
    let output = descriptors::take_stdout().context("cannot use standard output")?;
    let settings = settings(options)?;
    let input = Input::new(input).context("cannot listen for signals")?;
    mcp::serve(input, output, settings)?;
    Ok(0)
}

fn settings(mut options: Options) -> anyhow::Result<Settings> {
    let workspace = workspace(options.session.process.workspace.take())?;
    // Paths in the file and in calls are meant from there, and so is the search for a virtual environment.
    env::set_current_dir(&workspace)
        .map_err(|error| usage(format!("cannot use `{}`: {error}", workspace.display())))?;
    let file = File::read(&workspace)?;
    file.complete(&mut options)?;
    let (sandbox, unheld) = hold(&options.session)?;
    let (artifacts, unkept) = match options.no_artifacts {
        true => (None, None),
        false => artifacts::folder(options.session.artifacts.take()),
    };
    options.session.artifacts = artifacts;
    let image_bytes = options.image_bytes.unwrap_or(IMAGE_BYTES);
    // All images that a cell shows fit in its result then. Less is too little for a picture.
    options.session.shown_bytes = (image_bytes >= 1024).then_some(image_bytes);
    let notices = [unheld, unkept].into_iter().flatten();
    let notice = notices.reduce(|one, other| format!("{one}; {other}"));
    let session = options.session.or_placed(Placement::Worker);
    let languages = offered(&options.language, &session)?;
    let network = !session.process.no_network;
    let capabilities = capabilities(&options.capability, options.http_host, &workspace)?;
    let with_capabilities = move |builder: SessionBuilder| {
        let add = |builder: SessionBuilder, capability: &Capability| {
            builder.capability(capability.clone())
        };
        capabilities.iter().fold(builder, add)
    };
    let open = {
        let workspace = workspace.clone();
        move |language| with_capabilities(open(&session, language, sandbox, &workspace))
    };
    Ok(Settings {
        stubs: stubs(&languages, |language| open(language).stubs()),
        rules: rules(sandbox, network, &workspace),
        languages,
        open: Arc::new(open),
        sessions: options.sessions.unwrap_or(8),
        idle: Duration::from_secs(options.idle.unwrap_or(30).saturating_mul(60)),
        bytes: options.text_bytes.unwrap_or(16 << 10),
        image_bytes,
        structured: options.structured,
        network,
        notice,
    })
}

/// Declarations of what cells may call, once for each family of languages.
fn stubs(languages: &[Language], of: impl Fn(Language) -> String) -> String {
    let is_python = |language: &&Language| **language == Language::Python;
    let python = languages.iter().find(is_python);
    let other = languages.iter().find(|language| !is_python(language));
    match (python, other) {
        (Some(python), Some(other)) => match of(*python) {
            stubs if stubs.is_empty() => stubs,
            stubs => format!(
                "In python:\n{stubs}\nIn javascript and typescript:\n{}",
                of(*other)
            ),
        },
        (Some(language), None) | (None, Some(language)) => of(*language),
        (None, None) => String::new(),
    }
}

/// What a model has to know of the hold on its cells.
fn rules(sandbox: Sandbox, network: bool, workspace: &Path) -> Vec<String> {
    let workspace = workspace.display();
    let files = match sandbox {
        Sandbox::WorkspaceWrite => Some(format!(
            "Files can be written in the workspace `{workspace}` and in the temporary folder (`tempfile`, `$TMPDIR`) alone; the home folder cannot be read."
        )),
        Sandbox::ReadOnly => Some(format!(
            "Files can be read in the workspace `{workspace}`, and written in the temporary folder (`tempfile`, `$TMPDIR`) alone; the home folder cannot be read."
        )),
        _ => None,
    };
    let offline = (!network).then(|| "There is no network.".to_owned());
    files.into_iter().chain(offline).collect()
}

/// What cells may call.
fn capabilities(
    names: &[String],
    hosts: Vec<String>,
    workspace: &Path,
) -> anyhow::Result<Vec<Capability>> {
    let refused = |error: RuntimeError| usage(error.to_string());
    let mut made = Vec::new();
    for name in names {
        made.push(ready::named(name, workspace).map_err(refused)?);
    }
    if !hosts.is_empty() {
        made.push(ready::http(hosts).map_err(refused)?);
    }
    Ok(made)
}

/// The folder to work in. One that holds everything the user has is none: the cells may write to it.
fn workspace(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let is_given = given.is_some();
    let folder = match given {
        Some(folder) => folder,
        None => env::current_dir().context("cannot tell where this was started")?,
    };
    let folder = folder.canonicalize().map_err(|error| {
        usage(format!(
            "cannot use the workspace `{}`: {error}",
            folder.display()
        ))
    })?;
    let home = env::var_os("HOME").map(PathBuf::from);
    let is_home = home.is_some_and(|home| home.canonicalize().is_ok_and(|home| home == folder));
    if !is_given && (folder == Path::new("/") || is_home) {
        return Err(usage(format!(
            "this was started in `{}`, which is too much to be a workspace\nhint: name one with `--workspace`",
            folder.display()
        )));
    }
    Ok(folder)
}

/// The sandbox, and what there is to say of it. One that is asked for is kept; whether the kernel can hold it is seen when a
/// session is opened.
fn hold(session: &SessionOptions) -> anyhow::Result<(Sandbox, Option<String>)> {
    let isolation = Isolation::of_this_kernel();
    let is_worker = session.placement != Some(Placement::InProcess);
    Ok(sandbox(
        session.process.sandbox,
        is_worker,
        isolation.holds_files() && isolation.seccomp,
    ))
}

fn sandbox(asked: Option<Sandbox>, is_worker: bool, can_hold: bool) -> (Sandbox, Option<String>) {
    match asked {
        Some(sandbox) => (sandbox, None),
        None if !is_worker => (Sandbox::Off, None),
        None if can_hold => (Sandbox::WorkspaceWrite, None),
        None => (
            Sandbox::Off,
            Some(
                "this kernel cannot keep cells inside the workspace: they can do what the user can"
                    .to_owned(),
            ),
        ),
    }
}

/// The languages that are offered: those asked for, else those that can be opened.
fn offered(asked: &[Language], session: &SessionOptions) -> anyhow::Result<Vec<Language>> {
    let can_be_opened = |language: &Language| {
        SessionBuilder::all()
            .filter(|builder| builder.language() == *language)
            .any(|builder| builder.facts().is_ok())
    };
    let mut languages: Vec<Language> = Vec::new();
    for language in asked {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    if languages.is_empty() {
        languages.extend(Language::ALL.iter().copied().filter(can_be_opened));
    }
    if languages.is_empty() {
        return Err(anyhow!(
            "no language can be offered\nhint: `warmcell doctor` says why"
        ));
    }
    session.check(&languages)?;
    Ok(languages)
}

fn open(
    session: &SessionOptions,
    language: Language,
    sandbox: Sandbox,
    workspace: &Path,
) -> SessionBuilder {
    let mut builder = session.builder(language, workspace).sandbox(sandbox);
    if session.cwd.is_none() {
        builder = builder.cwd(workspace);
    }
    if sandbox != Sandbox::Off {
        builder = builder.workspace(workspace);
    }
    builder
}

fn usage(text: String) -> anyhow::Error {
    anyhow!(Usage(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sandbox_that_nobody_asked_for_is_ever_left_out() {
        let asked = Some(Sandbox::ReadOnly);
        assert_eq!(sandbox(asked, true, false), (Sandbox::ReadOnly, None));
        assert_eq!(sandbox(None, true, true), (Sandbox::WorkspaceWrite, None));
        assert_eq!(sandbox(None, false, true), (Sandbox::Off, None));
        let (without, notice) = sandbox(None, true, false);
        assert_eq!(without, Sandbox::Off);
        assert!(notice.is_some_and(|notice| notice.starts_with("this kernel cannot")));
    }
}
