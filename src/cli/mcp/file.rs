//! `warmcell.toml`: the options of a workspace.
//!
//! Sandboxed cells may write to it. So it can hold them tighter and never looser: what lets them out is refused, by name,
//! with the flag that does it.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use warmcell::Sandbox;

use super::{Options, usage};
use crate::cli::{language, process, runner};

/// The file's name.
const NAME: &str = "warmcell.toml";

/// How much of it is read; more is surely none.
const MOST_BYTES: u64 = 1 << 20;

/// What the file may say; the names are those of the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    languages: Option<Vec<String>>,
    engine: Option<String>,
    python: Option<PathBuf>,
    cwd: Option<PathBuf>,
    placement: Option<String>,
    timeout: Option<f64>,
    memory: Option<u64>,
    output_bytes: Option<usize>,
    value_bytes: Option<usize>,
    sandbox: Option<String>,
    network: Option<bool>,
    backup: Option<String>,
    cpu: Option<f64>,
    processes: Option<u64>,
    open_files: Option<u64>,
    file_size: Option<u64>,
    capabilities: Option<Vec<String>>,
    sessions: Option<usize>,
    idle: Option<u64>,
    text_bytes: Option<usize>,
    image_bytes: Option<usize>,
}

impl File {
    /// Reads the workspace's file; one that is not there says nothing.
    pub(super) fn read(workspace: &Path) -> anyhow::Result<Self> {
        let path = workspace.join(NAME);
        let text = match text_of(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        toml::from_str(&text)
            .map_err(|error| usage(format!("`{}` is wrong: {error}", path.display())))
    }

    /// Fills in what no flag says.
    pub(super) fn complete(self, options: &mut Options) -> anyhow::Result<()> {
        let session = &mut options.session;
        if options.language.is_empty() {
            let names = self.languages.unwrap_or_default();
            let languages: Result<_, _> = names.iter().map(|name| language::parse(name)).collect();
            options.language = languages.map_err(|problem| wrong("languages", &problem))?;
        }
        fill(
            &mut session.engine,
            self.engine,
            "engine",
            |text: &String| language::parse_engine(text),
        )?;
        fill(
            &mut session.placement,
            self.placement,
            "placement",
            |text: &String| {
                match text.as_str() {
                "in-process" => Err("a flag alone can ask for `in-process`: cells may write to this file\nhint: give `--placement in-process` on the command line".to_owned()),
                text => runner::placement(text),
            }
            },
        )?;
        fill(
            &mut session.process.sandbox,
            self.sandbox,
            "sandbox",
            |text: &String| {
                match process::sandbox(text)? {
                Sandbox::Off => Err("a flag alone can turn the sandbox off: cells may write to this file\nhint: give `--sandbox off` on the command line".to_owned()),
                sandbox => Ok(sandbox),
            }
            },
        )?;
        fill(
            &mut session.process.backup,
            self.backup,
            "backup",
            |text: &String| process::backup(text),
        )?;
        let seconds = |number: &f64| runner::seconds(&number.to_string());
        fill(&mut session.timeout, self.timeout, "timeout", seconds)?;
        fill(&mut session.process.cpu, self.cpu, "cpu", seconds)?;
        session.timeout.get_or_insert(super::TIMEOUT);
        session.process.no_network |= self.network == Some(false);
        if self.python.is_some() {
            let problem = "a flag alone can name a python, which is started outside of the sandbox: cells may write to this file\nhint: give `--python` on the command line, or make a `.venv` in the workspace";
            return Err(wrong("python", problem));
        }
        or(&mut session.cwd, self.cwd);
        or(&mut session.memory, self.memory);
        or(&mut session.output_bytes, self.output_bytes);
        or(&mut session.value_bytes, self.value_bytes);
        or(&mut session.process.processes, self.processes);
        or(&mut session.process.open_files, self.open_files);
        or(&mut session.process.file_size, self.file_size);
        for name in self.capabilities.unwrap_or_default() {
            if !["fs", "search", "git"].contains(&name.as_str()) {
                let problem = format!(
                    "a flag alone can offer `{name}`: cells may write to this file\nhint: give `--capability {name}` on the command line"
                );
                return Err(wrong("capabilities", &problem));
            }
            if name == "fs" && session.process.sandbox == Some(Sandbox::ReadOnly) {
                let problem = "a flag alone can offer `fs` beside the sandbox `read-only`, since it writes to the workspace\nhint: give `--capability fs` on the command line";
                return Err(wrong("capabilities", problem));
            }
            if !options.capability.contains(&name) {
                options.capability.push(name);
            }
        }
        or(&mut options.sessions, self.sessions);
        or(&mut options.idle, self.idle);
        or(&mut options.text_bytes, self.text_bytes);
        or(&mut options.image_bytes, self.image_bytes);
        Ok(())
    }
}

/// The text of a file that a cell may have put there: a link leads elsewhere, a pipe never ends.
fn text_of(path: &Path) -> io::Result<String> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn or<T>(option: &mut Option<T>, given: Option<T>) {
    if option.is_none() {
        *option = given;
    }
}

/// Fills in what has to be read first.
fn fill<T, G>(
    option: &mut Option<T>,
    given: Option<G>,
    name: &str,
    read: impl FnOnce(&G) -> Result<T, String>,
) -> anyhow::Result<()> {
    if let (None, Some(given)) = (&option, given) {
        *option = Some(read(&given).map_err(|problem| wrong(name, &problem))?);
    }
    Ok(())
}

fn wrong(name: &str, problem: &str) -> anyhow::Error {
    usage(format!("`{name}` in `{NAME}`: {problem}"))
}
