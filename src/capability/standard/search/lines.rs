//! [`Lines`]: the matches of one file, with the lines around them.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use serde::Serialize;

use super::Reason;

/// How much of a line is given, and how much of that stands before the match.
const SHOWN_BYTES: usize = 1_000;
const SHOWN_BEFORE: usize = 200;

/// What stands where a line was cut.
const CUT: &str = "...";

#[derive(Serialize)]
pub(super) struct Match {
    path: String,
    line: u64,
    text: String,
    before: Vec<String>,
    after: Vec<String>,
}

/// The matches of one file.
pub(super) struct Lines<'a> {
    path: String,
    matcher: &'a RegexMatcher,
    context: usize,
    /// How many more matches are taken, and bytes of lines.
    limit: usize,
    budget: usize,
    matches: Vec<Match>,
    bytes: usize,
    /// The last lines, with their numbers.
    recent: VecDeque<(u64, String)>,
    reason: Option<Reason>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        path: &Path,
        matcher: &'a RegexMatcher,
        context: usize,
        limit: usize,
        budget: usize,
    ) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            matcher,
            context,
            limit,
            budget,
            matches: Vec::new(),
            bytes: 0,
            recent: VecDeque::new(),
            reason: None,
        }
    }

    /// What ended it early.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The matches, and how many bytes of lines they hold.
    pub(super) fn into_matches(self) -> (Vec<Match>, usize) {
        (self.matches, self.bytes)
    }

    /// A line that the searcher shows, for the matches before it and after it.
    fn pass(&mut self, number: u64, text: &str) {
        let reach = self.context as u64;
        let near = self
            .matches
            .iter_mut()
            .rev()
            .take_while(|earlier| number - earlier.line <= reach);
        for earlier in near {
            earlier.after.push(text.to_owned());
            self.bytes += text.len();
        }
        if self.context > 0 {
            if self.recent.len() == self.context {
                self.recent.pop_front();
            }
            self.recent.push_back((number, text.to_owned()));
        }
    }

    fn goes_on(&mut self) -> bool {
        if self.reason.is_none() && self.bytes > self.budget {
            self.reason = Some(Reason::Bytes);
        }
        self.reason.is_none()
    }
}

impl Sink for &mut Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or(0);
        let line = without_end(found.bytes());
        let start = self
            .matcher
            .find(line)
            .ok()
            .flatten()
            .map_or(0, |found| found.start());
        let text = shown(line, start);
        if self.matches.len() == self.limit {
            // It may still be what comes after the last one that was taken, which is whole only then.
            self.pass(number, &text);
            self.reason = Some(Reason::Matches);
            return Ok(false);
        }
        let first = number.saturating_sub(self.context as u64);
        let before: Vec<String> = self
            .recent
            .iter()
            .filter(|(recent, _)| *recent >= first)
            .map(|(_, text)| text.clone())
            .collect();
        self.pass(number, &text);
        self.bytes += text.len() + before.iter().map(String::len).sum::<usize>();
        self.matches.push(Match {
            path: self.path.clone(),
            line: number,
            text,
            before,
            after: Vec::new(),
        });
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let text = shown(without_end(line.bytes()), 0);
        self.pass(line.line_number().unwrap_or(0), &text);
        Ok(self.goes_on())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line as text; of a long one what is around its match.
fn shown(line: &[u8], start: usize) -> String {
    if line.len() <= SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let is_boundary = |at: usize| at == line.len() || line[at] & 0b1100_0000 != 0b1000_0000;
    let from = start
        .saturating_sub(SHOWN_BEFORE)
        .min(line.len() - SHOWN_BYTES);
    let to = from + SHOWN_BYTES;
    let from = (from..line.len())
        .find(|at| is_boundary(*at))
        .unwrap_or(from);
    let to = (from..=to).rev().find(|at| is_boundary(*at)).unwrap_or(to);
    let text = String::from_utf8_lossy(&line[from..to]);
    let head = if from > 0 { CUT } else { "" };
    let tail = if to < line.len() { CUT } else { "" };
    format!("{head}{text}{tail}")
}
