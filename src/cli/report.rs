//! `--html`: a page of the cells that were run and of what came of them, in one file that needs nothing else.
//!
//! The page must be safe to open whatever the cells printed and displayed: text is escaped, markup of the program's lies in
//! frames that run no script, and the page's policy lets nothing of it reach a network.

mod display;
mod markdown;
mod page;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, anyhow};
use warmcell::{Language, Outcome, SessionBuilder};

use super::Usage;

/// The cells of a command, for the page that is written in the end.
pub(super) struct Report {
    file: PathBuf,
    engines: Vec<Engine>,
    cells: Vec<Ran>,
}

/// What cells ran on.
struct Engine {
    language: Language,
    name: String,
    version: String,
}

/// A cell, and what came of it.
struct Ran {
    /// The file it was read from, if any.
    file: Option<String>,
    language: Language,
    source: String,
    outcome: Outcome,
}

impl Report {
    /// A report that will be written to `file`, whose folder is there: that is found out before any cell runs.
    pub(super) fn to(file: &Path) -> Result<Self, Usage> {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let shown = file.display();
        if file.is_dir() || file.file_name().is_none() {
            return Err(Usage(format!("`--html` is `{shown}`, which is a folder")));
        }
        if !folder.is_dir() {
            return Err(Usage(format!(
                "`--html` is `{shown}`, whose folder does not exist"
            )));
        }
        Ok(Self {
            file: file.to_owned(),
            engines: Vec::new(),
            cells: Vec::new(),
        })
    }

    /// Refuses to write over one of the files that are run, by whatever name or link.
    pub(super) fn spare(&self, inputs: &[PathBuf]) -> Result<(), Usage> {
        let Some(page) = regular(&self.file) else {
            return Ok(());
        };
        for input in inputs {
            let is_stdin = input == Path::new("-");
            let place = if is_stdin {
                Path::new("/dev/stdin")
            } else {
                input
            };
            if regular(place).is_some_and(|input| is_same(&input, &page)) {
                let name = if is_stdin {
                    "standard input".to_owned()
                } else {
                    format!("`{}`", input.display())
                };
                return Err(Usage(format!(
                    "`--html` is `{}`, which would overwrite {name}\nhint: name another file for the page",
                    self.file.display()
                )));
            }
        }
        Ok(())
    }

    /// Cells will run on this.
    pub(super) fn add_engine(&mut self, builder: &SessionBuilder) {
        let facts = builder.facts();
        self.engines.push(Engine {
            language: builder.language(),
            name: builder.engine().to_owned(),
            version: facts.map(|facts| facts.version).unwrap_or_default(),
        });
    }

    /// A cell was run.
    pub(super) fn add(
        &mut self,
        file: Option<&Path>,
        language: Language,
        source: &str,
        outcome: &Outcome,
    ) {
        self.cells.push(Ran {
            file: file.map(|file| file.display().to_string()),
            language,
            source: source.to_owned(),
            outcome: outcome.clone(),
        });
    }

    /// Writes the page that was asked for, unless something went wrong before any cell ran.
    pub(super) fn finish(report: Option<Self>, status: &anyhow::Result<u8>) -> anyhow::Result<()> {
        match report {
            Some(report) if status.is_ok() || !report.cells.is_empty() => report.write(),
            _ => Ok(()),
        }
    }

    fn write(&self) -> anyhow::Result<()> {
        let page = page::page(&self.engines, &self.cells);
        put(&self.file, page.as_bytes())
            .map_err(|error| anyhow!(error))
            .with_context(|| format!("cannot write `{}`", self.file.display()))
    }
}

/// The file behind a path, if it is a regular one.
fn regular(path: &Path) -> Option<fs::Metadata> {
    let found = fs::metadata(path).ok()?;
    found.is_file().then_some(found)
}

fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Writes a file: a regular one whole or not at all, and anything else through the name that it has, since a device, a pipe
/// or a link that a rename replaced would be gone for everybody.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            let target = fs::canonicalize(path);
            match target {
                Ok(target) if regular(&target).is_some_and(|it| is_same(&it, &found)) => {
                    replace(&target, content)
                }
                // A descriptor of a file that has no name any more, or another one.
                _ => File::options()
                    .write(true)
                    .truncate(true)
                    .open(path)?
                    .write_all(content),
            }
        }
        Ok(_) => File::options().write(true).open(path)?.write_all(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                // A link that leads to nothing yet.
                fs::write(path, content)
            } else {
                replace(path, content)
            }
        }
        Err(error) => Err(error),
    }
}

/// Puts a regular file where there is none, or another one.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}", process::id()));
    write_whole(&unfinished, content)
        .and_then(|()| fs::rename(&unfinished, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })
}

/// Writes a file that was not there before.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}
