//! What is told of the things a cell showed: a line for each, and the text of the first few in the form that reads best.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use super::section::PATH;
use super::{Outcome, clipped};
use crate::outcome::{Cut, Display, Note, Original, Shown};
use crate::tool::html;
use crate::tool::images::unfit;
use crate::tool::text::Body;

/// The MIME types whose content a model can read, the best one first.
const READABLE: [&str; 6] = [
    "text/markdown",
    PLAIN,
    "application/json",
    "text/latex",
    HTML,
    "image/svg+xml",
];

const HTML: &str = "text/html";
const PLAIN: &str = "text/plain";

/// How many display entries are shown with their content, the first ones and the last; the others are named.
const SHOWN_DISPLAYS: usize = 12;

/// How much of a name out of an outcome is shown, in characters.
const NAME: usize = 40;

/// An entry's text.
pub(super) struct Readable<'a> {
    /// The label of its section.
    pub(super) name: String,
    /// Where the whole of it lies.
    pub(super) file: Option<&'a str>,
    entry: usize,
    mime: &'static str,
    text: Cow<'a, str>,
    cut: Option<Cut>,
}

impl Readable<'_> {
    pub(super) fn body(&self) -> Body<'_> {
        Body::of_stream(&self.text, self.cut.as_ref())
    }
}

/// The text of the first entries and of the last, which is what the cell ends in. Beside an image that is attached, plain text
/// only says that it is one.
pub(super) fn readable<'a>(outcome: &'a Outcome, attached: &[usize]) -> Vec<Readable<'a>> {
    let entries = outcome.display.iter().enumerate();
    let mut readable: Vec<Readable<'_>> = entries
        .filter_map(|(index, entry)| read(index, entry))
        .filter(|read| read.mime != PLAIN || !attached.contains(&read.entry))
        .collect();
    if readable.len() > SHOWN_DISPLAYS {
        readable.drain(SHOWN_DISPLAYS - 1..readable.len() - 1);
    }
    readable
}

fn read(index: usize, entry: &Display) -> Option<Readable<'_>> {
    let (mime, text) = READABLE.into_iter().find_map(|mime| {
        let text = match entry.data.get(mime)? {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other if mime == "application/json" => Cow::Owned(other.to_string()),
            _ => return None,
        };
        Some((mime, text))
    })?;
    let name = format!("display {}, {mime}", index + 1);
    let (name, text) = match html::to_markdown(&text) {
        Some(markdown) if mime == HTML => (format!("{name} as Markdown"), Cow::Owned(markdown)),
        _ => (name, text),
    };
    Some(Readable {
        name,
        // Of several forms it may be another one that lies there.
        file: entry.file.as_deref().filter(|_| entry.data.len() == 1),
        entry: index,
        mime,
        text,
        cut: entry.note(mime).and_then(cut),
    })
}

/// What was cut of a text before it came here.
fn cut(note: Note) -> Option<Cut> {
    let left_out = (note.bytes_left_out?, note.lines_left_out?);
    (note.shown == Shown::Cut).then(|| Cut {
        bytes: note.original.bytes,
        lines: note.original.lines.unwrap_or_default(),
        bytes_left_out: left_out.0,
        lines_left_out: left_out.1,
        file: None,
    })
}

/// A line for each entry: its types, their sizes, and where it can be seen.
pub(super) fn list(outcome: &Outcome, readable: &[Readable<'_>], attached: &[usize]) -> String {
    let mut text = String::new();
    for (index, entry) in outcome.display.iter().enumerate() {
        let missing = missing(entry);
        let is_shown = readable.iter().any(|shown| shown.entry == index);
        if entry.data.len() == 1 && entry.file.is_none() && missing.is_empty() && is_shown {
            // Its content stands below, under a label that says the same.
            continue;
        }
        let there = entry.data.iter().map(|(mime, content)| {
            let scaled = match entry.note(mime) {
                Some(note) if note.shown == Shown::Scaled => {
                    format!(", scaled from {}", described(&note.original))
                }
                _ => String::new(),
            };
            let unfit = match attached.contains(&index) {
                true => None,
                false => unfit(mime, content),
            };
            let unfit = unfit.map_or(String::new(), |problem| format!(", {problem}"));
            format!(
                "{} ({} bytes{scaled}{unfit})",
                clipped(mime, NAME),
                size(mime, content)
            )
        });
        let types: Vec<String> = there.chain(missing).collect();
        let _ = write!(text, "display {}: {}", index + 1, types.join(", "));
        if attached.contains(&index) {
            text.push_str(", attached");
        }
        if let Some(file) = &entry.file {
            let _ = write!(text, ", in `{}`", clipped(file, PATH));
        }
        text.push('\n');
    }
    if outcome.truncated.displays_left_out > 0 {
        let _ = writeln!(
            text,
            "{} more displays are left out",
            outcome.truncated.displays_left_out
        );
    }
    text
}

/// The forms that were over their budgets.
fn missing(entry: &Display) -> Vec<String> {
    let said = entry.metadata.iter().flat_map(|metadata| metadata.keys());
    said.filter_map(|mime| {
        let note = entry.note(mime).filter(|note| note.shown == Shown::None)?;
        let why = match &note.problem {
            Some(problem) => format!(": {}", clipped(problem, 4 * NAME)),
            None => String::new(),
        };
        let original = described(&note.original);
        Some(format!(
            "{} ({original}) left out{why}",
            clipped(mime, NAME)
        ))
    })
    .collect()
}

fn described(original: &Original) -> String {
    let bytes = format!("{} bytes", original.bytes);
    match (original.width, original.height) {
        (Some(width), Some(height)) => format!("{width} x {height} pixels, {bytes}"),
        _ => bytes,
    }
}

/// The content's own size: an image's, not that of its base64.
fn size(mime: &str, content: &Value) -> usize {
    match content {
        Value::String(data) if mime.starts_with("image/") && mime != "image/svg+xml" => {
            let digits = data.trim_end_matches('=').len();
            digits / 4 * 3 + (digits % 4).saturating_sub(1)
        }
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}
