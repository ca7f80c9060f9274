//! What in an outcome is not as its case expects: a sentence for each difference.

use std::fmt::{Debug, Display};
use std::time::Duration;

use warmcell::{Failure, Outcome};

use super::displays;
use super::suite::CellCase;
use crate::support::json_differs;

/// Compares an outcome, which took so long to come, with what the cell expects.
pub(super) fn between(cell: &CellCase, outcome: &Outcome, took: Duration) -> Vec<String> {
    let mut found = Differences::default();
    found.in_bounds(cell, outcome, took);
    if !cell.any {
        found.in_ending(cell, outcome);
        found.in_output(cell, outcome);
        found.in_error(cell, outcome.error.as_ref());
    }
    found.0
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn in_bounds(&mut self, cell: &CellCase, outcome: &Outcome, took: Duration) {
        if let Some(most) = cell.max_result_bytes {
            let size = json(outcome).len();
            self.expect(size <= most, || format!("the outcome has {size} bytes"));
        }
        if let Some(most) = cell.max_ms {
            let in_time = took <= Duration::from_millis(most);
            self.expect(in_time, || format!("took {took:?}, over {most} ms"));
        }
    }

    fn in_ending(&mut self, cell: &CellCase, outcome: &Outcome) {
        self.expect(outcome.ok == cell.is_to_succeed(), || {
            format!(
                "ok is {}, error {}",
                outcome.ok,
                short(json(&outcome.error))
            )
        });
        let value = outcome.value.as_ref().map(|value| value.as_str());
        if let Some(wanted) = &cell.value {
            let same = value.is_some_and(|value| !json_differs(value, wanted));
            self.expect(same, || {
                format!(
                    "value is {}, not {}",
                    short(value.unwrap_or("absent")),
                    short(wanted)
                )
            });
        }
        if cell.no_value {
            self.expect(value.is_none(), || {
                format!("value is {}, not absent", short(value.unwrap_or_default()))
            });
        }
        if let Some(state) = cell.state {
            self.same("state", &outcome.state, &state);
        }
    }

    fn in_output(&mut self, cell: &CellCase, outcome: &Outcome) {
        if let Some(wanted) = &cell.stdout {
            self.same("stdout", &outcome.stdout, wanted);
        }
        if let Some(wanted) = &cell.stderr {
            self.same("stderr", &outcome.stderr, wanted);
        }
        if let Some(wanted) = &cell.background_stdout {
            self.same("background stdout", &outcome.background.stdout, wanted);
        }
        self.contains("stdout", &outcome.stdout, cell.stdout_contains.as_ref());
        self.contains("stderr", &outcome.stderr, cell.stderr_contains.as_ref());
        self.ends("stdout", &outcome.stdout, cell.stdout_ends.as_ref());
        self.ends("stderr", &outcome.stderr, cell.stderr_ends.as_ref());
        for (mime, part) in &cell.display_contains {
            let shown: String = outcome
                .display
                .iter()
                .filter_map(|entry| entry.data.get(mime)?.as_str())
                .collect();
            self.contains(&format!("display {mime}"), &shown, Some(part));
        }
        if let Some(wanted) = &cell.display {
            self.0.extend(displays::between(wanted, &outcome.display));
        }
        let notice = outcome.notice.as_deref().unwrap_or_default();
        self.contains("notice", notice, cell.notice_contains.as_ref());
        self.expect(!cell.no_notice || notice.is_empty(), || {
            format!("there is a notice: {notice}")
        });
        if let Some(wanted) = cell.truncated {
            let cut = !outcome.truncated.is_empty();
            self.same("truncated", &cut, &wanted);
        }
        if let Some(wanted) = cell.displays_left_out {
            let left_out = outcome.truncated.displays_left_out;
            self.same("displays left out", &left_out, &wanted);
        }
    }

    fn in_error(&mut self, cell: &CellCase, error: Option<&Failure>) {
        if let Some(wanted) = cell.error_kind {
            self.same("error.kind", &error.map(|error| error.kind), &Some(wanted));
        }
        if let Some(wanted) = &cell.error_name {
            let name = error.and_then(|error| error.name.as_deref());
            self.same("error.name", &name, &Some(wanted.as_str()));
        }
        if let Some(wanted) = &cell.error_message {
            let message = error.map(|error| error.message.as_str());
            self.same("error.message", &message, &Some(wanted.as_str()));
        }
        if let Some(wanted) = cell.error_line {
            self.same(
                "error.line",
                &error.and_then(|error| error.line),
                &Some(wanted),
            );
        }
        self.contains("error", &json(&error), cell.error_contains.as_ref());
        let traceback = error
            .and_then(|error| error.traceback.as_deref())
            .unwrap_or_default();
        for part in &cell.traceback_contains {
            self.contains("traceback", traceback, Some(part));
        }
        for part in &cell.traceback_lacks {
            self.expect(!traceback.contains(part), || {
                format!("traceback shows {part:?}")
            });
        }
    }

    fn same<T: PartialEq + Debug + ?Sized>(&mut self, what: &str, found: &T, wanted: &T) {
        self.expect(found == wanted, || {
            format!(
                "{what} is {}, not {}",
                short(format!("{found:?}")),
                short(format!("{wanted:?}"))
            )
        });
    }

    fn contains(&mut self, what: &str, text: &str, part: Option<&String>) {
        if let Some(part) = part {
            self.expect(text.contains(part), || {
                format!("{what} lacks {part:?}: {}", short(text))
            });
        }
    }

    fn ends(&mut self, what: &str, text: &str, end: Option<&String>) {
        if let Some(end) = end {
            let last: String = text.chars().rev().take(80).collect();
            let last: String = last.chars().rev().collect();
            self.expect(text.ends_with(end), || {
                format!("{what} ends {last:?}, not {end:?}")
            });
        }
    }

    fn expect(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push(sentence());
        }
    }
}

pub(super) fn json(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).expect("the wire form")
}

pub(super) fn short(text: impl Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
