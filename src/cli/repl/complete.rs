//! What Tab offers: the names that the session knows where the cursor is, the language's own words, and commands.

use std::io;

use reedline::{Completer, CompletionResult, Span, Suggestion};
use tokio::runtime::Runtime;
use warmcell::Session;

use super::command;
use crate::cli::syntax;

/// What Tab inserts where a line has only begun.
pub(super) const INDENTATION: &str = "    ";

/// Asks the session, which waits for its next cell while somebody types.
pub(super) struct Names {
    session: Session,
    runtime: Runtime,
}

impl Names {
    pub(super) fn of(session: Session) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(Self { session, runtime })
    }

    /// Where the word begins that is to be replaced, and by what.
    fn find(&self, before: &str) -> (usize, Vec<String>) {
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        if before.starts_with(':') {
            let (start, words) = command::completions(before);
            return (start, words.into_iter().map(str::to_owned).collect());
        }
        if line.trim().is_empty() {
            return (before.len(), vec![INDENTATION.to_owned()]);
        }
        if syntax::ends_in_text(self.session.language(), before) {
            return (before.len(), Vec::new());
        }
        // A session that cannot answer says so when its next cell runs.
        let asked = self.session.complete(before, before.len());
        let Ok(found) = self.runtime.block_on(asked) else {
            return (before.len(), Vec::new());
        };
        let mut names = found.names;
        if !before[..found.start].ends_with('.') {
            let typed = &before[found.start..];
            let keywords = syntax::keywords(self.session.language()).iter();
            let fits = keywords.filter(|keyword| keyword.starts_with(typed));
            names.extend(fits.map(|keyword| (*keyword).to_owned()));
            names.sort_unstable();
            names.dedup();
        }
        (found.start, names)
    }
}

impl Completer for Names {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let before = line.get(..position).unwrap_or(line);
        let (start, names) = self.find(before);
        let suggestions: Vec<Suggestion> = names
            .into_iter()
            .map(|value| Suggestion {
                value,
                span: Span::new(start, before.len()),
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}
