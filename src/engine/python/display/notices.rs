//! What must be said about what a cell showed: a few lines, whatever a program does. All of it may be the program's words,
//! so there is only so much of each, and none of it makes lines of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::engine::python::streams;

/// How many problems a cell's outcome names; more are counted.
const MOST_NAMED: usize = 8;

/// Longest name of what a problem is about, and longest problem, in bytes.
const SUBJECT_BYTES: usize = 100;
const PROBLEM_BYTES: usize = 300;

/// Those of the running cell. Locked to add to them or to take all; a cell of which nothing must be said does not lock it.
static NOTICES: Mutex<Notices> = Mutex::new(Notices::none());
static ARE_NOTICES: AtomicBool = AtomicBool::new(false);

/// Says something about what the running cell showed: what is the matter with an object of that class, or on its own. What
/// others show is not the outcome's to comment on.
pub(super) fn add(py: Python<'_>, subject: Option<&str>, problem: &str) {
    if streams::is_of_the_cell(py) {
        let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
        notices.add(subject, problem);
        ARE_NOTICES.store(true, Ordering::Relaxed);
    }
}

/// All that must be said.
pub(super) fn take() -> Option<String> {
    if !ARE_NOTICES.swap(false, Ordering::Relaxed) {
        return None;
    }
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *notices, Notices::none()).told()
}

struct Notices {
    /// Problems by what they are about, each once.
    named: Vec<(Option<String>, Vec<String>)>,
    more: usize,
}

impl Notices {
    const fn none() -> Self {
        Self {
            named: Vec::new(),
            more: 0,
        }
    }

    fn add(&mut self, subject: Option<&str>, problem: &str) {
        let subject = subject.map(|subject| in_line(subject, SUBJECT_BYTES));
        let problem = in_line(problem, PROBLEM_BYTES);
        let named: usize = self.named.iter().map(|(_, problems)| problems.len()).sum();
        let group = self.named.iter_mut().find(|(known, _)| *known == subject);
        match group {
            Some((_, problems)) if problems.contains(&problem) => {}
            _ if named >= MOST_NAMED => self.more += 1,
            Some((_, problems)) => problems.push(problem),
            None => self.named.push((subject, vec![problem])),
        }
    }

    fn told(self) -> Option<String> {
        let groups = self.named.into_iter().map(|(subject, problems)| {
            let problems = problems.join("; ");
            match subject {
                Some(subject) => format!("{subject} is not shown in full: {problems}"),
                None => problems,
            }
        });
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        groups
            .chain(more)
            .reduce(|one, other| format!("{one}; {other}"))
    }
}

/// A text within a line: what would end the line, or hide it, is escaped.
fn in_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for character in text.chars() {
        match character {
            '\u{2028}' | '\u{2029}' => line.extend(character.escape_default()),
            _ if character.is_control() => line.extend(character.escape_default()),
            _ => line.push(character),
        }
        if line.len() > most {
            line.truncate(line.floor_char_boundary(most));
            line.push_str("...");
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Notices, in_line};

    #[test]
    fn problems_are_named_once_by_what_they_are_about_and_then_counted() {
        let mut notices = Notices::none();
        for round in 0..2 {
            notices.add(Some("A"), "one");
            notices.add(Some("B"), "one");
            notices.add(None, "figure 1");
            notices.add(Some("A"), &format!("round {round}"));
        }
        let text =
            "A is not shown in full: one; round 0; round 1; B is not shown in full: one; figure 1";
        assert_eq!(notices.told().as_deref(), Some(text));

        let mut notices = Notices::none();
        (0..100_000).for_each(|number| notices.add(Some("A"), &format!("{number}")));
        let text = "A is not shown in full: 0; 1; 2; 3; 4; 5; 6; 7; and 99992 more";
        assert_eq!(notices.told().as_deref(), Some(text));
        assert_eq!(Notices::none().told(), None);
    }

    #[test]
    fn a_text_stays_within_its_line_and_its_length() {
        assert_eq!(in_line("plain ü `x`", 100), "plain ü `x`");
        assert_eq!(
            in_line("a\nb\r\t\u{1b}[0m\0", 100),
            r"a\nb\r\t\u{1b}[0m\u{0}"
        );
        assert_eq!(in_line("\u{85}\u{2028}", 100), r"\u{85}\u{2028}");
        assert_eq!(in_line("abc", 3), "abc");
        assert_eq!(in_line("abcd", 3), "abc...");
        assert_eq!(in_line("aüü", 4), "aü...");
    }
}
