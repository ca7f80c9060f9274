//! The prompt of a terminal: the editor, its marks, and when Enter ends a cell.

use std::borrow::Cow;

use reedline::{
    Prompt, PromptEditMode, PromptHistorySearch, Reedline, ValidationResult, Validator,
};
use warmcell::Language;

use super::{complete, history};

/// Makes the editor. Without a history it works all the same, and the text says why there is none.
pub(super) fn editor(language: Language, is_coloured: bool) -> (Reedline, Option<String>) {
    let editor = Reedline::create()
        .with_validator(Box::new(Enter(language)))
        .with_ansi_colors(is_coloured)
        .use_bracketed_paste(true);
    match history::open(language) {
        Ok(history) => (editor.with_history(Box::new(history)), None),
        Err(error) => {
            let problem = format!("this history will not be kept: {error}");
            (editor, Some(problem))
        }
    }
}

/// Decides whether Enter ends the cell or only the line.
struct Enter(Language);

impl Validator for Enter {
    fn validate(&self, text: &str) -> ValidationResult {
        if complete::is_complete(self.0, text) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

/// The marks before the lines.
pub(super) struct Marks;

impl Prompt for Marks {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(">>> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("... ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(history: {}) ", search.term))
    }
}
