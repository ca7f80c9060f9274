//! Whether input is a whole cell yet, as far as its text tells. What tells is a language's own, one file each.
//!
//! A guess that costs no trip to the engine. It errs on the side of running the cell: then the language itself says what
//! is wrong with it.

mod javascript;
mod python;

use warmcell::Language;

/// What a text says about itself.
struct Reading {
    whole: Whole,
    /// It may be whole, and the next line may still belong to it: an `else`, another line of a block.
    may_go_on: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Yes,
    /// More is expected, but an empty line says that there is none.
    Expecting,
    /// Inside brackets, a long string or a comment: more must come.
    Open,
}

fn read(language: Language, text: &str) -> Reading {
    match language {
        Language::Python => python::read(text),
        _ => javascript::read(text),
    }
}

/// Whether a line belongs to what stands before it, which may be whole.
fn goes_on(language: Language, line: &str) -> bool {
    match language {
        Language::Python => python::goes_on(line),
        _ => javascript::goes_on(line),
    }
}

/// Whether the text that was typed is a whole cell. An empty line ends what expects more.
pub(super) fn is_complete(language: Language, text: &str) -> bool {
    is_command(text)
        || match read(language, text).whole {
            Whole::Yes => true,
            Whole::Expecting => ends_with_empty_line(text),
            Whole::Open => false,
        }
}

fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(':')
}

fn ends_with_empty_line(text: &str) -> bool {
    text.rsplit_once('\n')
        .is_some_and(|(_, last)| last.trim().is_empty())
}

/// Gathers lines that come without a person, who would end each block by an empty line: there the line that follows it
/// ends it as well.
#[derive(Default)]
pub(super) struct Gatherer {
    text: String,
}

impl Gatherer {
    /// Takes a line and hands over the cells it completes: what stands before it, itself, both or none.
    pub(super) fn line(&mut self, language: Language, line: &str) -> Vec<String> {
        let mut cells = Vec::new();
        if self.ends_before(language, line) {
            cells.extend(self.rest());
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        // Inside a block an empty line says nothing: files have them between the lines of a function.
        let reading = read(language, &self.text);
        let is_whole = reading.whole == Whole::Yes && !reading.may_go_on;
        if is_whole || is_command(&self.text) {
            cells.extend(self.rest());
        }
        cells
    }

    /// What has been gathered, whole or not.
    pub(super) fn rest(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        (!text.trim().is_empty()).then_some(text)
    }

    fn ends_before(&self, language: Language, line: &str) -> bool {
        if self.text.is_empty() || goes_on(language, line) {
            return false;
        }
        let reading = read(language, &self.text);
        reading.may_go_on && reading.whole != Whole::Open
    }
}

#[cfg(test)]
mod tests;
