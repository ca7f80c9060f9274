//! The capability `search`: lines that match, in the files of the workspace.
//!
//! ripgrep's own crates decide what a pattern, a match and an ignored file are. The walk is ours: ripgrep's goes by paths, and
//! one that somebody swaps for a symbolic link meanwhile would lead it out of the workspace.

mod ignored;
mod lines;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, File, FileType, OpenOptions};
use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Serialize;

use self::ignored::Ignored;
use self::lines::{Lines, Match};
use super::walk::{Visitor, walk};
use super::workspace::{Inside, Workspace};
use crate::capability::{Action, Call, Capability, CapabilityError, Signature};

/// How many matches one call gives when it does not say, and at most.
const DEFAULT_MATCHES: usize = 200;
const MOST_MATCHES: usize = 5_000;

/// How many lines before and after.
const MOST_CONTEXT: usize = 20;

/// Bytes of all the lines that one call gives.
const MOST_BYTES: usize = 2 << 20;

/// How long one call looks.
const LONGEST: Duration = Duration::from_secs(30);

/// What a compiled pattern may take, and its cache.
const PATTERN_BYTES: usize = 8 << 20;

/// The longest line that is looked at, since one is held whole.
const LINE_BYTES: usize = 16 << 20;

/// How many of the files that could not be searched are named.
const MOST_SKIPPED: usize = 20;

pub(super) fn capability(workspace: Workspace) -> Capability {
    let signature = Signature::new()
        .required(
            "pattern",
            "string",
            "a regular expression as ripgrep reads it",
        )
        .optional(
            "path",
            "string",
            "a folder or file; the workspace by default",
        )
        .optional(
            "glob",
            "string",
            "which files, `*.rs` or `src/**/*.py`; with a `!` first, which not",
        )
        .optional("case_sensitive", "boolean", "true by default")
        .optional(
            "context",
            "integer",
            "lines before and after; 0 by default, 20 at most",
        )
        .optional(
            "limit",
            "integer",
            "how many matches; 200 by default, 5000 at most",
        );
    let search = Action::new("search", signature, move |call: Call| {
        search(&workspace, &call)
    });
    Capability::new("search")
        .with_description("Text in the files of the workspace.")
        .with_action(search.with_description(
            "Finds lines: {matches: [{path, line, text, before, after}], truncated: null | 'matches' | 'bytes' | 'time', skipped: [{path, reason}]}; honours .gitignore.",
        ))
}

#[derive(Serialize)]
struct Answer {
    matches: Vec<Match>,
    /// Why there may be more.
    truncated: Option<Reason>,
    /// The first files that could not be searched, or not to their end. Binary ones are passed over, as ripgrep does.
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
struct Skipped {
    path: String,
    reason: String,
}

/// What ended a search early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Reason {
    Matches,
    Bytes,
    Time,
}

fn search(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = match call.argument::<Option<String>>("path")?.as_deref() {
        None | Some("") => workspace.whole(),
        Some(written) => workspace.inside(written)?,
    };
    let context = count(call, "context")?.unwrap_or(0).min(MOST_CONTEXT);
    let limit = count(call, "limit")?.unwrap_or(DEFAULT_MATCHES);
    let mut found = Found {
        workspace,
        call,
        matcher: matcher(call)?,
        glob: glob(call)?,
        searcher: searcher(context),
        context,
        limit: limit.min(MOST_MATCHES),
        until: Instant::now() + LONGEST,
        matches: Vec::new(),
        bytes: 0,
        reason: None,
        skipped: Vec::new(),
    };
    let metadata = workspace
        .folder()
        .metadata(&path.path)
        .map_err(|error| path.failed("search", &error))?;
    if metadata.is_dir() {
        let start = canonical(workspace, &path)?;
        let level = Ignored::above(workspace.folder(), &start);
        let _ = walk(workspace.folder(), &start, level, &mut found);
    } else {
        let mut options = OpenOptions::new();
        let file = workspace.open_file(&path, options.read(true), "search")?;
        found.look_into(file, &path.path);
    }
    if call.is_cancelled() {
        return Err(CapabilityError::cancelled());
    }
    Ok(Answer {
        matches: found.matches,
        truncated: found.reason,
        skipped: found.skipped,
    })
}

/// The folder without symbolic links: which files are ignored goes by the folders above.
fn canonical(workspace: &Workspace, path: &Inside) -> Result<PathBuf, CapabilityError> {
    let canonical = workspace
        .folder()
        .canonicalize(&path.path)
        .map_err(|error| path.failed("search", &error))?;
    Ok(match canonical == Path::new(".") {
        true => PathBuf::new(),
        false => canonical,
    })
}

fn count(call: &Call, name: &str) -> Result<Option<usize>, CapabilityError> {
    match call.argument::<Option<f64>>(name)? {
        None => Ok(None),
        Some(number) if number >= 0.0 => Ok(Some(number as usize)),
        Some(number) => Err(CapabilityError::tool(format!(
            "`{name}` is {number}, and must be 0 or more"
        ))),
    }
}

fn matcher(call: &Call) -> Result<RegexMatcher, CapabilityError> {
    let pattern: String = call.argument("pattern")?;
    let is_sensitive = call.argument::<Option<bool>>("case_sensitive")? != Some(false);
    RegexMatcherBuilder::new()
        .case_insensitive(!is_sensitive)
        .crlf(true)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build(&pattern)
        .map_err(|error| {
            CapabilityError::tool(format!("`pattern` is no regular expression: {error}"))
        })
}

/// Which files are looked into.
struct FileGlob {
    matcher: GlobMatcher,
    /// It speaks of the path, not of the name alone.
    has_folders: bool,
    is_negated: bool,
}

fn glob(call: &Call) -> Result<Option<FileGlob>, CapabilityError> {
    let Some(written) = call.argument::<Option<String>>("glob")? else {
        return Ok(None);
    };
    let is_negated = written.starts_with('!');
    let pattern = written.trim_start_matches('!').trim_start_matches("./");
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| CapabilityError::tool(format!("`glob` does not read: {error}")))?
        .compile_matcher();
    Ok(Some(FileGlob {
        matcher,
        has_folders: pattern.contains('/'),
        is_negated,
    }))
}

impl FileGlob {
    fn takes(&self, path: &Path) -> bool {
        let subject = match self.has_folders {
            true => path,
            false => Path::new(path.file_name().unwrap_or_default()),
        };
        self.matcher.is_match(subject) != self.is_negated
    }
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE_BYTES))
        .build()
}

/// A search as it goes.
struct Found<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    matcher: RegexMatcher,
    glob: Option<FileGlob>,
    searcher: Searcher,
    context: usize,
    limit: usize,
    until: Instant,
    matches: Vec<Match>,
    bytes: usize,
    reason: Option<Reason>,
    skipped: Vec<Skipped>,
}

impl Found<'_> {
    fn look_into(&mut self, file: File, path: &Path) {
        let mut lines = Lines::new(
            path,
            &self.matcher,
            self.context,
            self.limit - self.matches.len(),
            MOST_BYTES.saturating_sub(self.bytes),
        );
        let watched = Watched {
            file,
            call: self.call,
            until: self.until,
        };
        let searched = self
            .searcher
            .search_reader(&self.matcher, watched, &mut lines);
        self.reason = self.reason.or(lines.reason());
        let (matches, bytes) = lines.into_matches();
        self.matches.extend(matches);
        self.bytes += bytes;
        // What was found before the line that is too long stays.
        if let Err(error) = searched
            && !self.is_over()
        {
            self.skip(path, format!("not searched to its end: {error}"));
        }
    }

    fn skip(&mut self, path: &Path, reason: String) {
        if self.skipped.len() < MOST_SKIPPED {
            let path = path.to_string_lossy().into_owned();
            self.skipped.push(Skipped { path, reason });
        }
    }

    fn open(&self, path: &Path) -> Result<File, String> {
        let written = path.to_str().ok_or("its name is not UTF-8")?;
        let inside = self.workspace.inside(written);
        let inside = inside.map_err(|error| error.to_string())?;
        self.workspace
            .open_file(&inside, OpenOptions::new().read(true), "search")
            .map_err(|error| error.to_string())
    }

    /// Whether nothing more is looked at.
    fn is_over(&mut self) -> bool {
        if self.reason.is_none() && Instant::now() > self.until {
            self.reason = Some(Reason::Time);
        }
        self.reason.is_some() || self.call.is_cancelled()
    }
}

impl Visitor for Found<'_> {
    type Level = Ignored;

    fn descends(&mut self, path: &Path, level: &Ignored) -> bool {
        path.file_name() != Some(".git".as_ref()) && !level.ignores(path, true)
    }

    fn enter(&mut self, folder: &Dir, path: &Path, parent: &Ignored) -> Ignored {
        parent.within(folder, path)
    }

    fn visit(&mut self, path: &Path, kind: FileType, level: &Ignored) -> ControlFlow<()> {
        if self.is_over() {
            return ControlFlow::Break(());
        }
        let is_taken = kind.is_file()
            && self.glob.as_ref().is_none_or(|glob| glob.takes(path))
            && !level.ignores(path, false);
        if is_taken {
            match self.open(path) {
                Ok(file) => self.look_into(file, path),
                Err(reason) => self.skip(path, reason),
            }
        }
        match self.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// A file that ends when the time is up or nobody waits any more: one without a match is not asked in between.
struct Watched<'a> {
    file: File,
    call: &'a Call,
    until: Instant,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.call.is_cancelled() || Instant::now() > self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}
