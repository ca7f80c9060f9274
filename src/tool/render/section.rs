//! [`Section`]: a labelled text of a result, and how the room is shared out among them.

use std::fmt::Write;

use super::displays::Readable;
use super::{LeftOut, MARK_BYTES, Outcome, clipped};
use crate::output::share;
use crate::tool::text::Body;

/// How much of a path is shown, in characters: all of it, as a rule.
pub(super) const PATH: usize = 300;

/// A labelled text.
pub(super) struct Section<'a> {
    name: String,
    /// Where the whole of it lies.
    file: Option<&'a str>,
    body: Body<'a>,
    form: Form,
    /// Whether there was no room even for its label.
    is_dropped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name: text`, before everything else.
    Notice,
    /// The label with its counts on a line of its own, the text below.
    Block,
    /// The text alone: it says itself what it is.
    Bare,
    /// `name: text`, where it stands.
    Line,
}

impl Section<'_> {
    /// What the label and the ends of lines may take.
    fn frame(&self) -> usize {
        match self.form {
            Form::Bare => 1,
            Form::Notice | Form::Line => self.name.len() + 3,
            // Two numbers in all, two that are left out.
            Form::Block => self.name.len() + 4 * 20 + 48,
        }
    }

    fn wanted(&self) -> usize {
        self.frame() + self.body.wanted() + self.cut_wanted()
    }

    /// What it takes when nothing more goes.
    fn wanted_whole(&self) -> usize {
        if self.body.gone() == LeftOut::default() {
            self.frame() + self.body.wanted()
        } else {
            self.wanted()
        }
    }

    /// What its line about cuts may take, if anything is or will be cut.
    fn cut_wanted(&self) -> usize {
        self.name.len()
            + 64
            + self
                .file
                .map_or(0, |file| file.len().min(4 * PATH + 3) + 32)
    }

    fn least(&self) -> usize {
        self.frame() + self.body.wanted().min(MARK_BYTES + 24) + self.cut_wanted()
    }

    pub(super) fn stands_before_cuts(&self) -> bool {
        self.form == Form::Notice
    }

    pub(super) fn write(&self, text: &mut String) {
        if self.is_dropped {
            return;
        }
        match self.form {
            Form::Bare => {}
            Form::Notice | Form::Line => {
                let _ = write!(text, "{}: ", self.name);
            }
            Form::Block => {
                let total = self.body.total();
                let gone = self.body.gone();
                let _ = write!(text, "{} ({}", self.name, counted(total.bytes, "byte"));
                if total.lines > 0 {
                    let _ = write!(text, ", {}", counted(total.lines, "line"));
                }
                if gone != LeftOut::default() {
                    let _ = write!(text, "; {} bytes left out", gone.bytes);
                }
                text.push_str("):\n");
            }
        }
        self.body.write(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }

    /// Says what is not there, and where the whole lies.
    pub(super) fn write_cut(&self, text: &mut String) {
        let gone = if self.is_dropped {
            self.body.total()
        } else {
            self.body.gone()
        };
        if gone == LeftOut::default() {
            return;
        }
        let _ = write!(
            text,
            "cut: {}, {} bytes, {} lines left out",
            self.name, gone.bytes, gone.lines
        );
        if let Some(file) = self.file {
            let _ = write!(text, "; the whole is in `{}`", clipped(file, PATH));
        }
        text.push('\n');
    }
}

fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Everything that an outcome has to tell, in the order in which it is told.
pub(super) fn sections<'a>(
    outcome: &'a Outcome,
    error: &'a Option<ErrorText>,
    listed: &'a str,
    readable: &'a [Readable<'a>],
    hint: &'a str,
) -> Vec<Section<'a>> {
    let section = |name: &str, form: Form, body: Body<'a>| Section {
        name: name.to_owned(),
        file: None,
        body,
        form,
        is_dropped: false,
    };
    let mut sections = Vec::new();
    if let Some(notice) = &outcome.notice {
        sections.push(section("notice", Form::Notice, Body::whole(notice)));
    }
    let truncated = &outcome.truncated;
    let late = &outcome.background;
    let files = &outcome.files;
    let streams = [
        ("stdout", &outcome.stdout, &truncated.stdout, &files.stdout),
        ("stderr", &outcome.stderr, &truncated.stderr, &files.stderr),
        (
            "stdout of earlier cells, printed since",
            &late.stdout,
            &truncated.background_stdout,
            &None,
        ),
        (
            "stderr of earlier cells, printed since",
            &late.stderr,
            &truncated.background_stderr,
            &None,
        ),
    ];
    for (name, text, cut, file) in streams {
        let of_cut = cut.as_ref().and_then(|cut| cut.file.as_ref());
        sections.push(Section {
            file: of_cut.or(file.as_ref()).map(String::as_str),
            ..section(name, Form::Block, Body::of_stream(text, cut.as_ref()))
        });
    }
    if let Some(value) = &outcome.value {
        sections.push(Section {
            file: files.value.as_deref(),
            ..section("value", Form::Block, Body::whole(value.as_str()))
        });
    }
    if let Some(error) = error {
        sections.push(section(&error.label, Form::Block, Body::whole(&error.text)));
    }
    sections.push(section("displays", Form::Bare, Body::whole(listed)));
    for entry in readable {
        sections.push(Section {
            file: entry.file,
            ..section(&entry.name, Form::Block, entry.body())
        });
    }
    sections.push(section("hint", Form::Line, Body::whole(hint)));
    sections.retain(|section| !section.body.is_empty());
    sections
}

/// Shares the room out among the sections. Where it is not enough for the least of each, those that matter least go.
pub(super) fn fit(mut sections: Vec<Section<'_>>, room: usize) -> Vec<Section<'_>> {
    let whole: usize = sections.iter().map(Section::wanted_whole).sum();
    if whole <= room {
        return sections;
    }
    loop {
        let kept: Vec<usize> = (0..sections.len())
            .filter(|index| !sections[*index].is_dropped)
            .collect();
        let spent: usize = sections
            .iter()
            .filter(|section| section.is_dropped)
            .map(Section::cut_wanted)
            .sum();
        let wanted: Vec<usize> = kept.iter().map(|index| sections[*index].wanted()).collect();
        let rooms = share(&wanted, room.saturating_sub(spent));
        let is_too_small = kept
            .iter()
            .zip(&rooms)
            .any(|(index, room)| *room < sections[*index].least());
        let least_important = kept
            .iter()
            .copied()
            .max_by_key(|index| (importance(&sections[*index]), *index));
        match least_important {
            Some(index) if is_too_small && kept.len() > 1 => sections[index].is_dropped = true,
            _ => {
                for (index, room) in kept.into_iter().zip(rooms) {
                    let section = &mut sections[index];
                    let around = section.frame() + section.cut_wanted();
                    section.body = section.body.within(room.saturating_sub(around));
                }
                return sections;
            }
        }
    }
}

/// From what must be told to what can be asked for again.
fn importance(section: &Section<'_>) -> u8 {
    match section.form {
        Form::Notice => 0,
        Form::Line => 1,
        Form::Block if section.name.starts_with("error") => 0,
        Form::Block if section.name.starts_with("display") => 4,
        Form::Block if section.name.contains("earlier") => 5,
        Form::Block => 2,
        Form::Bare => 3,
    }
}

/// What is said about a failure.
pub(super) struct ErrorText {
    label: String,
    text: String,
}

/// The error with the user's frames; they end with the exception, as a rule.
pub(super) fn error_text(outcome: &Outcome) -> Option<ErrorText> {
    let failure = outcome.error.as_ref()?;
    let label = match failure.line {
        Some(line) => format!("error in line {line}"),
        None => "error".to_owned(),
    };
    let traceback = failure.traceback.as_deref().unwrap_or_default();
    let message = failure.message.trim();
    let mut text = String::new();
    if traceback.is_empty() || !traceback.contains(message) {
        if let Some(name) = &failure.name {
            let _ = write!(text, "{name}: ");
        }
        let _ = writeln!(text, "{message}");
    }
    text.push_str(traceback);
    Some(ErrorText { label, text })
}
