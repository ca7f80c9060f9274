//! The prompt of a terminal: the editor, its marks, when Enter ends a cell, and Tab.

use std::borrow::Cow;

use reedline::{
    ColumnarMenu, Emacs, KeyCode, KeyModifiers, MenuBuilder, Prompt, PromptEditMode,
    PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, ValidationResult, Validator,
    default_emacs_keybindings,
};
use warmcell::{Language, Session};

use super::complete::Names;
use super::typing::{Ahead, Keys, Typing, line_feed};
use super::{history, whole};

/// The menu that Tab opens.
const MENU: &str = "completions";

/// Makes the editor of a session's cells. Without a history it works all the same, and the text says why there is none.
pub(super) fn editor(
    session: &Session,
    is_coloured: bool,
    ahead: &Ahead,
) -> (Typing, Option<String>) {
    let language = session.language();
    let mut keys = default_emacs_keybindings();
    let open_menu = vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ];
    let open_menu = ReedlineEvent::UntilFound(open_menu);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, open_menu);
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), line_feed());
    let keys = Keys {
        keys: Emacs::new(keys),
        ahead: ahead.clone(),
    };
    let menu = ColumnarMenu::default().with_name(MENU).with_marker(">>> ");
    let mut editor = Reedline::create()
        .with_validator(Box::new(Enter(language)))
        .with_edit_mode(Box::new(keys))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_ansi_colors(is_coloured)
        .use_bracketed_paste(true);
    if let Ok(names) = Names::of(session.clone()) {
        editor = editor.with_completer(Box::new(names));
    }
    let problem = match history::open(language) {
        Ok(history) => {
            editor = editor.with_history(Box::new(history));
            None
        }
        Err(error) => Some(format!("this history will not be kept: {error}")),
    };
    (Typing::new(editor, language, ahead.clone()), problem)
}

/// Decides whether Enter ends the cell or only the line.
struct Enter(Language);

impl Validator for Enter {
    fn validate(&self, text: &str) -> ValidationResult {
        if whole::is_complete(self.0, text) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

/// The marks before the lines.
pub(super) struct Marks {
    /// At the right, once there are several languages: which one this is.
    pub(super) language: Option<Language>,
}

impl Prompt for Marks {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.language.map_or("", Language::as_str))
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
