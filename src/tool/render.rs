//! [`render`]: what a model reads of outcomes, within a budget of bytes whatever the outcomes are.
//!
//! The order is that of urgency: verdict, what became of the session, notices, what was cut; then the labelled texts; the hint
//! last, where it is read last. Labels carry byte counts, so that text which imitates a label is still only text. Room is
//! shared out so that a text takes what it needs as long as that is less than its even share: a flood on one stream never
//! pushes out the error.

mod displays;
mod section;

use std::fmt::Write;

use self::section::Section;
use super::images::{Image, images};
use super::text::{LeftOut, MARK_BYTES, clipped};
use crate::outcome::{FailureKind, Outcome, SessionState};
use crate::output::share;
use crate::runtime::Language;

/// What a result may take by default: a few thousand tokens.
const DEFAULT_BYTES: usize = 16 << 10;

/// In less no outcome tells what it must.
const LEAST_BYTES: usize = 2048;

/// How much of a session's name is shown, in characters.
const NAME: usize = 40;

/// How outcomes are rendered.
///
/// # Examples
///
/// ```
/// use warmcell::Language;
/// use warmcell::tool::Rendering;
///
/// let rendering = Rendering::new(Language::Python).session("research").bytes(4096);
/// # let _ = rendering;
/// ```
#[derive(Clone, Debug)]
#[must_use = "a rendering does nothing by itself"]
pub struct Rendering {
    language: Language,
    session: Option<String>,
    bytes: usize,
    image_bytes: usize,
    given: usize,
}

impl Rendering {
    /// Of cells in this language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            session: None,
            bytes: DEFAULT_BYTES,
            image_bytes: 0,
            given: 0,
        }
    }

    /// Names the session. Default: no name.
    pub fn session(mut self, name: impl Into<String>) -> Self {
        self.session = Some(name.into());
        self
    }

    /// The most bytes that the text may have. Default: 16 KiB. Below 2 KiB the end of the text may be missing.
    pub fn bytes(mut self, most: usize) -> Self {
        self.bytes = most;
        self
    }

    /// How many bytes of base64 the host attaches by [`images`](super::images). Default: none.
    pub fn image_bytes(mut self, most: usize) -> Self {
        self.image_bytes = most;
        self
    }

    /// How many cells were given, when not all of them ran. Default: as many as there are outcomes.
    pub fn given(mut self, cells: usize) -> Self {
        self.given = cells;
        self
    }
}

/// Renders outcomes of cells that were given together, in order, as text for a model.
///
/// The same outcomes give the same text. It never has more bytes than [`Rendering::bytes`] allows, never splits a character,
/// and says exactly how much of what is left out.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session, tool};
///
/// let session = Session::builder(Language::Python).open_blocking()?;
/// let mut outcome = session.run("print('sorting'); sorted([3, 1, 2])".into())?.wait();
/// outcome.duration_ms = 1.5;
/// let rendering = tool::Rendering::new(Language::Python).session("main");
/// assert_eq!(
///     tool::render(&[outcome], &rendering),
///     "python, session `main`, cell 1: ok in 1.5 ms\n\
///      stdout (8 bytes, 1 line):\nsorting\n\
///      value (7 bytes):\n[1,2,3]\n",
/// );
/// # }
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
pub fn render(outcomes: &[Outcome], rendering: &Rendering) -> String {
    let attached = images(outcomes, rendering.image_bytes);
    let mut text = course(outcomes, rendering);
    let room = rendering.bytes.saturating_sub(text.len());
    let block = |(number, outcome): (usize, &Outcome), room: usize| {
        render_one(outcome, number, &attached, rendering, room)
    };
    let mut blocks: Vec<String> = outcomes
        .iter()
        .enumerate()
        .map(|one| block(one, room))
        .collect();
    let separators = blocks.len().saturating_sub(1);
    let wanted: usize = blocks.iter().map(String::len).sum();
    if wanted + separators > room {
        // The last ones: one that failed is the last.
        let shown = (room / LEAST_BYTES).clamp(1, blocks.len().max(1));
        let passed_over = blocks.len() - shown;
        if passed_over > 0 {
            let bytes: usize = blocks[..passed_over].iter().map(String::len).sum();
            let _ = writeln!(
                text,
                "the first {passed_over} cells ran ok; the {bytes} bytes of text about them are left out"
            );
        }
        let room = rendering.bytes.saturating_sub(text.len() + shown);
        let lengths: Vec<usize> = blocks[passed_over..].iter().map(String::len).collect();
        let rooms = share(&lengths, room);
        blocks = outcomes
            .iter()
            .enumerate()
            .skip(passed_over)
            .zip(rooms)
            .map(|(one, room)| block(one, room))
            .collect();
    }
    text.push_str(&blocks.join("\n"));
    text.truncate(text.floor_char_boundary(rendering.bytes));
    text
}

/// Which of several cells ran; nothing where there is one.
fn course(outcomes: &[Outcome], rendering: &Rendering) -> String {
    let ran = outcomes.len();
    let given = rendering.given.max(ran);
    let has_failed = outcomes.last().is_some_and(|outcome| !outcome.ok);
    match (given, has_failed) {
        (0, _) => "no cell was given\n".to_owned(),
        (1, _) if ran == 1 => String::new(),
        (_, true) if ran < given => {
            let rest = given - ran;
            let verb = if rest == 1 { "was" } else { "were" };
            format!(
                "{ran} of {given} cells ran: the last of them failed, and the {rest} after it {verb} not run\n"
            )
        }
        (_, true) => format!("{ran} of {given} cells ran: the last one failed\n"),
        (_, false) if ran < given => {
            format!("{ran} of {given} cells ran; the others were not run\n")
        }
        (_, false) => format!("{ran} of {given} cells ran\n"),
    }
}

fn render_one(
    outcome: &Outcome,
    number: usize,
    attached: &[Image<'_>],
    rendering: &Rendering,
    room: usize,
) -> String {
    let mut text = verdict(outcome, rendering);
    text.push_str(state(outcome));
    let shows: Vec<usize> = attached
        .iter()
        .filter(|image| image.outcome == number)
        .map(|image| image.entry)
        .collect();
    let readable = displays::readable(outcome, &shows);
    let listed = displays::list(outcome, &readable, &shows);
    let error = section::error_text(outcome);
    let hint = hint(outcome);
    let sections = section::sections(outcome, &error, &listed, &readable, &hint);
    let sections = section::fit(sections, room.saturating_sub(text.len()));
    let (before, after): (Vec<&Section<'_>>, _) = sections
        .iter()
        .partition(|section| section.stands_before_cuts());
    for section in before {
        section.write(&mut text);
    }
    for section in &sections {
        section.write_cut(&mut text);
    }
    for section in after {
        section.write(&mut text);
    }
    text.truncate(text.floor_char_boundary(room));
    text
}

/// The first line.
fn verdict(outcome: &Outcome, rendering: &Rendering) -> String {
    let mut line = rendering.language.as_str().to_owned();
    if let Some(session) = &rendering.session {
        let _ = write!(line, ", session `{}`", clipped(session, NAME));
    }
    let kind = outcome.error.as_ref().map(|failure| failure.kind);
    if kind == Some(FailureKind::Empty) {
        line.push_str(": not run, since it holds no code\n");
        return line;
    }
    let _ = write!(line, ", cell {}: ", outcome.execution_count);
    let time = time(outcome.duration_ms);
    let _ = match (outcome.ok, kind) {
        (true, _) => writeln!(line, "ok in {time}"),
        (false, kind) => {
            let kind = kind.map_or("unknown", FailureKind::as_str);
            let state = match outcome.state {
                SessionState::Kept => "kept",
                SessionState::Restored => "restored",
                SessionState::Lost => "lost",
            };
            writeln!(line, "failed ({kind}) after {time}, state {state}")
        }
    };
    line
}

fn time(milliseconds: f64) -> String {
    match milliseconds {
        // An outcome may come from anywhere, and no text of a number may be longer than its room.
        time if !(0.0..1e15).contains(&time) => "an unknown time".to_owned(),
        time if time < 100.0 => format!("{} ms", (time * 10.0).round() / 10.0),
        time if time < 10_000.0 => format!("{time:.0} ms"),
        time => format!("{:.1} s", time / 1000.0),
    }
}

/// What became of the session, unless it is as the reader expects or the notice says it in more words.
fn state(outcome: &Outcome) -> &'static str {
    match outcome.state {
        SessionState::Restored if outcome.notice.is_none() => {
            "state restored: variables are as they were before this cell; what it assigned is gone, its files and network effects remain\n"
        }
        SessionState::Kept | SessionState::Restored => "",
        SessionState::Lost => {
            "state lost: every variable of the session is gone; set up again what you need\n"
        }
    }
}

/// What to do differently. The failure's own hint knows more than its kind does.
fn hint(outcome: &Outcome) -> String {
    let mut hints = Vec::new();
    if let Some(failure) = &outcome.error {
        if let Some(hint) = &failure.hint {
            hints.push(hint.as_str());
        }
        let is_hinted = failure.hint.is_some();
        let general = match failure.kind {
            // This one is said whatever else is: a cell that is sent again unchanged times out again.
            FailureKind::Timeout => Some(
                "do not send this cell again unchanged: do less in it, or give a longer `timeout_seconds`",
            ),
            FailureKind::WorkerExit => {
                Some("do not send this cell again unchanged: it ended its process")
            }
            FailureKind::Cancelled => {
                Some("it was stopped on request: ask before you send it again")
            }
            _ if is_hinted => None,
            FailureKind::Syntax => Some("nothing ran: correct the cell and send it again"),
            FailureKind::Memory => {
                Some("work on less at a time, and `del` what is not needed any more")
            }
            FailureKind::OutputLimit => {
                Some("keep the value in a variable, and return a summary or a part of it")
            }
            FailureKind::InvalidOutput => {
                Some("return plain JSON, or leave `return` out to have the value shown as text")
            }
            FailureKind::Exit => Some("the session goes on; a cell needs no `exit`"),
            FailureKind::Empty => Some("send code"),
            FailureKind::Stdin => Some("there is no standard input: write the data into the code"),
            _ => None,
        };
        hints.extend(general);
    }
    let cuts = [&outcome.truncated.stdout, &outcome.truncated.stderr];
    let mut cuts = cuts.into_iter().flatten().peekable();
    if cuts.peek().is_some() {
        hints.push(match cuts.all(|cut| cut.file.is_some()) {
            true => "print less, or read what you need of the file",
            false => "print less: filter or summarise in the session, or write to a file",
        });
    }
    hints.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_whatever_they_are() {
        for (milliseconds, text) in [
            (0.0, "0 ms"),
            (0.04, "0 ms"),
            (1.25, "1.3 ms"),
            (123.4, "123 ms"),
            (30_004.0, "30.0 s"),
            (f64::NAN, "an unknown time"),
            (f64::INFINITY, "an unknown time"),
            (-1.0, "an unknown time"),
            (1e300, "an unknown time"),
        ] {
            assert_eq!(time(milliseconds), text);
        }
    }
}
