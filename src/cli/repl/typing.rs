//! [`Typing`]: the editor of a session's cells, and what was typed ahead of it.
//!
//! While a cell runs, the terminal is in its ordinary mode and makes a line feed of each Enter. The editor takes all that
//! has come at once, hands over the first cell in it, and forgets the rest, unless it ends with a carriage return. So the key
//! of a line feed gives control back to us, and what came with it is kept here and typed again.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::{
    EditCommand, EditMode, Emacs, Prompt, PromptEditMode, Reedline, ReedlineEvent,
    ReedlineRawEvent, Signal,
};
use warmcell::Language;

use super::complete::INDENTATION;
use super::whole;

/// What was typed, and that no editor has seen yet. All editors share it: a command may change the language.
#[derive(Clone, Default)]
pub(super) struct Ahead(Arc<Mutex<VecDeque<ReedlineEvent>>>);

impl Ahead {
    /// Whoever stops a cell does not want those behind it.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn next(&self) -> Option<ReedlineEvent> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ReedlineEvent>> {
        // Nothing panics under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the key of a line feed does.
pub(super) fn line_feed() -> ReedlineEvent {
    ReedlineEvent::ExecuteHostCommand(String::new())
}

/// The keys of an editor.
pub(super) struct Keys {
    pub(super) keys: Emacs,
    pub(super) ahead: Ahead,
}

impl EditMode for Keys {
    /// The editor asks for the meaning of all that has come before it does anything of it.
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.keys.parse_event(event);
        let mut ahead = self.ahead.lock();
        if ahead.is_empty() && event != line_feed() {
            return event;
        }
        let is_first = ahead.is_empty();
        ahead.push_back(event);
        if is_first {
            line_feed()
        } else {
            ReedlineEvent::None
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// Where the cells of a session are typed.
pub(super) struct Typing {
    /// None only while it is changed.
    editor: Option<Reedline>,
    language: Language,
    ahead: Ahead,
}

impl Typing {
    pub(super) fn new(editor: Reedline, language: Language, ahead: Ahead) -> Self {
        Self {
            editor: Some(editor),
            language,
            ahead,
        }
    }

    /// Waits until something has been typed.
    pub(super) fn read(&mut self, prompt: &dyn Prompt) -> io::Result<Signal> {
        loop {
            if let Some(signal) = self.replay(prompt)? {
                return Ok(signal);
            }
            match self.editor()?.read_line(prompt)? {
                Signal::HostCommand(_) => {}
                signal => return Ok(signal),
            }
        }
    }

    /// Types what was typed ahead, up to the end of a cell. Keys that do no more than move about are left out.
    fn replay(&mut self, prompt: &dyn Prompt) -> io::Result<Option<Signal>> {
        while let Some(event) = self.ahead.next() {
            let language = self.language;
            let editor = self.editor()?;
            let text = editor.current_buffer_contents();
            match event {
                ReedlineEvent::Edit(commands) => editor.run_edit_commands(&commands),
                ReedlineEvent::Enter | ReedlineEvent::ExecuteHostCommand(_) => {
                    if whole::is_complete(language, text) {
                        return self.submit(prompt).map(Some);
                    }
                    editor.run_edit_commands(&[EditCommand::InsertNewline]);
                }
                ReedlineEvent::CtrlD if text.is_empty() => return Ok(Some(Signal::CtrlD)),
                // Tab opens a menu, if not at the beginning of a line.
                ReedlineEvent::UntilFound(events)
                    if matches!(events[..], [ReedlineEvent::Menu(_), _])
                        && text
                            .rsplit('\n')
                            .next()
                            .is_none_or(|line| line.trim().is_empty()) =>
                {
                    let indentation = EditCommand::InsertString(INDENTATION.to_owned());
                    editor.run_edit_commands(&[indentation]);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Shows the cell as if Enter were pressed, and takes it.
    fn submit(&mut self, prompt: &dyn Prompt) -> io::Result<Signal> {
        self.accept_immediately(true);
        let signal = self.editor()?.read_line(prompt);
        self.accept_immediately(false);
        signal
    }

    fn accept_immediately(&mut self, accepts: bool) {
        let editor = self.editor.take();
        self.editor = editor.map(|editor| editor.with_immediately_accept(accepts));
    }

    fn editor(&mut self) -> io::Result<&mut Reedline> {
        let editor = self.editor.as_mut();
        editor.ok_or_else(|| io::Error::other("the prompt's editor is gone"))
    }
}
