//! `fs.glob`: the paths that a pattern matches.

use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, FileType};
use globset::{GlobBuilder, GlobMatcher};

use super::Answer;
use crate::capability::standard::walk::{Visitor, walk};
use crate::capability::standard::workspace::Workspace;
use crate::capability::{Call, CapabilityError};

/// How many paths one call gives.
const MOST_PATHS: usize = 20_000;

/// How long one call looks.
const LONGEST: Duration = Duration::from_secs(30);

pub(super) fn glob(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let written: String = call.argument("pattern")?;
    let inside = workspace.inside(&written)?;
    if has_parents(&inside.path) {
        return Err(CapabilityError::tool(format!(
            "the pattern `{written}` has a `..`, which matches nothing: name the folder itself"
        )));
    }
    let pattern: PathBuf = inside.path.components().filter(is_named).collect();
    let Some(pattern) = pattern.to_str().filter(|pattern| !pattern.is_empty()) else {
        return Err(CapabilityError::tool("`pattern` is empty"));
    };
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| CapabilityError::tool(format!("the pattern does not read: {error}")))?
        .compile_matcher();
    let start = literal_folders(pattern);
    let mut found = Found {
        matcher,
        depth: deepest(pattern),
        enters_git: pattern.contains(".git"),
        paths: Vec::new(),
        until: Instant::now() + LONGEST,
        call,
        failure: None,
    };
    let _ = walk(workspace.folder(), &start, (), &mut found);
    if let Some(failure) = found.failure {
        return Err(failure);
    }
    found.paths.sort();
    Ok(Answer::Paths(found.paths))
}

fn has_parents(path: &Path) -> bool {
    path.components()
        .any(|component| component == Component::ParentDir)
}

fn is_named(component: &Component<'_>) -> bool {
    matches!(component, Component::Normal(_))
}

/// The folders at the beginning of a pattern that are plain names: all that it matches is below them.
fn literal_folders(pattern: &str) -> PathBuf {
    let names: Vec<&str> = pattern.split('/').collect();
    names[..names.len() - 1]
        .iter()
        .take_while(|name| !name.contains(['*', '?', '[', '{', '}', '\\']))
        .collect()
}

/// How many names a path that matches can have; none when any number.
fn deepest(pattern: &str) -> Option<usize> {
    // A brace may hold a `/`.
    let is_bounded = !pattern.contains("**") && !pattern.contains('{');
    is_bounded.then(|| pattern.split('/').count())
}

struct Found<'a> {
    matcher: GlobMatcher,
    depth: Option<usize>,
    enters_git: bool,
    paths: Vec<String>,
    until: Instant,
    call: &'a Call,
    failure: Option<CapabilityError>,
}

impl Visitor for Found<'_> {
    type Level = ();

    fn descends(&mut self, path: &Path, (): &()) -> bool {
        let is_deep = self
            .depth
            .is_some_and(|depth| path.components().count() >= depth);
        !is_deep && (self.enters_git || path.file_name() != Some(".git".as_ref()))
    }

    fn enter(&mut self, _: &Dir, _: &Path, (): &()) {}

    fn visit(&mut self, path: &Path, _: FileType, (): &()) -> ControlFlow<()> {
        if self.call.is_cancelled() {
            self.failure = Some(CapabilityError::cancelled());
        } else if Instant::now() > self.until {
            self.failure = Some(CapabilityError::timeout(format!(
                "the pattern was still being looked for after {} s: begin it with a folder",
                LONGEST.as_secs()
            )));
        } else if self.matcher.is_match(path) {
            match self.paths.len() < MOST_PATHS {
                true => self.paths.push(path.to_string_lossy().into_owned()),
                false => {
                    self.failure = Some(CapabilityError::tool(format!(
                        "the pattern matches more than {MOST_PATHS} paths: use a narrower one"
                    )));
                }
            }
        }
        match self.failure {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }
}
