//! What has become of a session: going back to a backup, and telling so, in `state` and in words.

use super::super::death::Death;
use super::super::messages::Ended;
use super::super::process::Process;
use super::Tender;
use crate::engine::Completion;
use crate::outcome::{Failure, FailureKind, Json, SessionState};
use crate::runtime::{Backup, RuntimeError};

impl Tender {
    /// The worker is no more, or must not be: puts the session back, which the next outcome tells.
    pub(super) fn mourn(&mut self, text: &str) {
        self.next_count = None;
        let last = self.last;
        let became = match self.restore(None) {
            Ok(cell) if cell == last => {
                format!("the session went on from its backup, {}", after(cell))
            }
            Ok(cell) => {
                self.stand(SessionState::Restored);
                format!(
                    "the session went back to a backup, {}: what {} did to it is gone",
                    after(cell),
                    cells(cell + 1, last)
                )
            }
            Err(why) => {
                self.stand(SessionState::Lost);
                format!("everything the session held is gone: {why}")
            }
        };
        self.news.push(format!("{text}; {became}"));
    }

    /// A backup that was awaited may not have come.
    fn hear_of_no_backup(&mut self) -> bool {
        let process = self.process.as_mut();
        let Some(reason) = process.and_then(Process::take_no_backup) else {
            return false;
        };
        self.tell_unprotected(&reason);
        self.unprotected = Some(reason);
        true
    }

    /// Says that there is no backup, once for each reason.
    fn tell_unprotected(&mut self, reason: &str) {
        if self.told_unprotected.as_deref() != Some(reason) {
            self.news.push(format!(
                "from here on a crash would lose the session: there is no backup, since {reason}"
            ));
            self.told_unprotected = Some(reason.to_owned());
        }
    }

    /// The outcome of a cell that the worker lived through.
    pub(super) fn complete(&mut self, ended: Ended, value: Vec<u8>) -> Completion {
        self.transcript.leave_out(ended.displays_left_out);
        let had_none = self.hear_of_no_backup();
        let is_protected = ended.unprotected.is_none();
        if let Some(process) = &mut self.process {
            process.note_change(self.last, is_protected);
        }
        if self.plan.keeps_backup() {
            match &ended.unprotected {
                Some(reason) => self.tell_unprotected(reason),
                None if !had_none => self.told_unprotected = None,
                None => {}
            }
            self.unprotected = ended.unprotected;
        }
        let mut completion = Completion {
            value: None,
            failure: ended.failure,
            interrupted: ended.interrupted,
            notice: ended.notice,
        };
        if ended.has_value {
            let value = String::from_utf8(value)
                .ok()
                .and_then(|text| Json::new(text).ok());
            match value {
                Some(value) => completion.value = Some(value),
                None => {
                    completion.failure = Some(Failure::new(
                        FailureKind::Internal,
                        "the worker sent a value that is not JSON",
                    ));
                }
            }
        }
        completion
    }

    /// The worker died in a cell: puts the session back to before it, and says so.
    pub(super) fn replace(&mut self, number: u64, death: Death) -> (Completion, SessionState) {
        let Death { text, by_us, kind } = death;
        let kept = "its files and network effects remain, and it was not run again";
        let last = self.last;
        let (state, became) = match self.restore(None) {
            Ok(cell) if cell == last => (
                SessionState::Restored,
                format!(
                    "the session is as it was before cell {number}: what the cell assigned is gone, {kept}"
                ),
            ),
            Ok(cell) => (
                SessionState::Restored,
                format!(
                    "the session is {}: what {} assigned is gone; of the cell, {kept}",
                    after(cell),
                    cells(cell + 1, number)
                ),
            ),
            Err(why) => {
                self.last = number;
                (
                    SessionState::Lost,
                    format!(
                        "everything the session held is gone, since there is no backup: {why}; of the cell, {kept}"
                    ),
                )
            }
        };
        let notice = if by_us {
            format!("{text}; {became}")
        } else {
            became
        };
        let failure = (!by_us).then(|| Failure::new(kind, text));
        let completion = Completion {
            failure,
            interrupted: by_us,
            notice: Some(notice),
            ..Completion::default()
        };
        (completion, state)
    }

    /// Lets the newest backup take over, or the newest without the effects of a cell. Gives the last cell whose effects the
    /// session then has. When there is none, or it does not take over, nothing is left, and the reason is given.
    pub(super) fn restore(&mut self, without: Option<u64>) -> Result<u64, String> {
        self.hear_of_no_backup();
        let Some(mut process) = self.process.take() else {
            return Err("the worker is gone".to_owned());
        };
        match process.take_over(&self.transcript, without) {
            Ok(cell) => {
                self.last = cell;
                self.process = Some(process);
                Ok(cell)
            }
            Err(text) => {
                process.end();
                Err(match &self.unprotected {
                    _ if !self.plan.keeps_backup() => "backups are turned off".to_owned(),
                    Some(reason) => reason.clone(),
                    None => text,
                })
            }
        }
    }

    /// What has become of the session since the last outcome, which the next one tells: the worst of it.
    pub(super) fn stand(&mut self, state: SessionState) {
        self.standing = match (self.standing, state) {
            (SessionState::Lost, _) | (_, SessionState::Lost) => SessionState::Lost,
            (SessionState::Restored, _) | (_, SessionState::Restored) => SessionState::Restored,
            _ => SessionState::Kept,
        };
    }

    /// Goes back to before the last cell. Gives its number.
    pub(super) fn undo(&mut self) -> Result<u64, RuntimeError> {
        let undone = self.last;
        let refused = |text: String| Err(RuntimeError::Refused(text));
        if self.plan.backup() != Backup::Undo {
            return refused(
                "the session was not opened to be undone\nhint: open it with `backup` set to `undo`"
                    .to_owned(),
            );
        }
        if !self
            .process
            .as_ref()
            .is_some_and(|process| process.can_undo(undone))
        {
            return refused(match &self.unprotected {
                Some(reason) => format!("there is nothing to go back to, since {reason}"),
                None if undone == 0 => "there is no cell to undo".to_owned(),
                None => format!(
                    "the state before cell {undone} was not kept: one or two cells in a row can be undone"
                ),
            });
        }
        match self.restore(Some(undone)) {
            Ok(_) => {
                if !self.news.is_empty() {
                    self.news.push(format!("then cell {undone} was undone"));
                }
                Ok(undone)
            }
            Err(why) => {
                self.stand(SessionState::Lost);
                let text =
                    format!("everything the session held is gone, since there is no backup: {why}");
                self.news.push(text.clone());
                Err(RuntimeError::Unavailable(text))
            }
        }
    }
}

/// The state that has the effects of so many cells, in words.
pub(super) fn after(cell: u64) -> String {
    match cell {
        0 => "as it was when it was opened".to_owned(),
        cell => format!("as it was after cell {cell}"),
    }
}

/// The cells from one to another, in words.
fn cells(from: u64, to: u64) -> String {
    match to.saturating_sub(from) {
        0 => format!("cell {to}"),
        1 => format!("cells {from} and {to}"),
        _ => format!("cells {from} to {to}"),
    }
}
