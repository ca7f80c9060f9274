//! [`Lease`]: a session in use. As long as there is one the registry does not close it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::OnceCell;

use super::RegistryError;
use crate::cell::Cell;
use crate::outcome::{Outcome, SessionState};
use crate::runtime::Language;
use crate::session::Session;

/// What a session is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) language: Language,
}

impl Key {
    pub(super) fn new(name: &str, language: Language) -> Self {
        Self {
            name: name.to_owned(),
            language,
        }
    }

    pub(super) fn shown(&self) -> String {
        format!("`{}` ({})", self.name, self.language.as_str())
    }
}

/// A session in the table, or one that is being opened.
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) session: OnceCell<Session>,
    leases: AtomicUsize,
    last_used: Mutex<Instant>,
    folder: Mutex<Folder>,
}

/// Where a session is, as far as is known.
#[derive(Default)]
struct Folder {
    opened_in: Option<PathBuf>,
    now: Option<PathBuf>,
}

impl Entry {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            session: OnceCell::new(),
            leases: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            folder: Mutex::default(),
        }
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.leases.load(Ordering::Acquire) > 0
    }

    pub(super) fn last_used(&self) -> Instant {
        *lock(&self.last_used)
    }

    /// The session was opened in that folder.
    pub(super) fn enter(&self, folder: Option<PathBuf>) {
        *lock(&self.folder) = Folder {
            opened_in: folder.clone(),
            now: folder,
        };
    }

    /// The session is where it was opened.
    pub(super) fn leave(&self) {
        let mut folder = lock(&self.folder);
        folder.now = folder.opened_in.clone();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing panics under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in the table that is not given up as long as this is held.
pub(super) struct Claim(Arc<Entry>);

impl Claim {
    /// To be called under the table's lock, so that nobody closes what is about to be used.
    pub(super) fn new(entry: Arc<Entry>) -> Self {
        entry.leases.fetch_add(1, Ordering::AcqRel);
        Self(entry)
    }

    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.0
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        *lock(&self.0.last_used) = Instant::now();
        self.0.leases.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A session in use: the registry closes it for nobody as long as there is a lease of it.
pub struct Lease {
    claim: Claim,
    session: Session,
    notices: Vec<String>,
}

impl Lease {
    pub(super) fn new(claim: Claim, session: Session) -> Self {
        Self {
            claim,
            session,
            notices: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// The session itself.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session's name.
    pub fn name(&self) -> &str {
        &self.claim.0.key.name
    }

    /// The session's language.
    pub fn language(&self) -> Language {
        self.claim.0.key.language
    }

    /// What the next reader of this session must know: that one of this name was closed, that it could not change folders.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Tells the registry what came of a cell: a session that went back or started afresh is in another folder than the one
    /// it was sent to.
    pub fn note(&self, outcome: &Outcome) {
        match outcome.state {
            SessionState::Kept => {}
            SessionState::Lost => self.claim.0.leave(),
            // It is where it was before the cell, wherever that was.
            _ => lock(&self.claim.0.folder).now = None,
        }
    }

    /// Sees to it that the session is in that folder.
    pub(super) async fn change_folder(&mut self, folder: &Path) -> Result<(), RegistryError> {
        if lock(&self.claim.0.folder).now.as_deref() == Some(folder) {
            return Ok(());
        }
        if self.language() != Language::Python {
            self.notices.push(format!(
                "`cwd` was not changed: a {} session imports from the folder it was opened in\nhint: use another session name to start elsewhere",
                self.language().as_str()
            ));
            return Ok(());
        }
        let refused = |why: &str| RegistryError::Folder(why.to_owned());
        let path = folder
            .to_str()
            .ok_or_else(|| refused("its path is not UTF-8 text"))?;
        // A JSON string is a Python string as well; nothing is bound by an expression.
        let path = serde_json::Value::from(path);
        let change = Cell::new(format!("__import__('os').chdir({path})"));
        let outcome = self.session().run(change)?.await;
        match outcome.error {
            None => {
                lock(&self.claim.0.folder).now = Some(folder.to_owned());
                Ok(())
            }
            Some(failure) => Err(refused(&failure.message)),
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Lease")
            .field("name", &self.claim.0.key.name)
            .field("language", &self.claim.0.key.language)
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}
