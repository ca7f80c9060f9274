//! [`Registry`]: sessions by name and language, so that whoever only knows a name finds its variables again.
//!
//! So many live at most; the one that was idle for longest makes room, one that is in use never does. A session that was
//! closed for room or for idleness is told of where its name is used next: nobody goes on in the belief that its variables
//! are there. No timer runs in here: [`Registry::sweep`] is for the host's.
//!
//! Locks: one on the table, held for a look or a change, never across an await. Whether a session is in use is counted by
//! its leases, which are made under that lock alone.

mod lease;

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::lease::{Claim, Entry, Key};
use crate::artifacts::{Artifact, ArtifactPart};
use crate::runtime::{CodeRuntime, Language, RuntimeError, SessionBuilder};
use crate::session::Session;

pub use lease::Lease;

/// How many sessions live at most by default.
const MOST: usize = 8;

/// How long a session may be idle by default.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How many losses are remembered until their names are used again; the oldest is forgotten first.
const REMEMBERED: usize = 1024;

/// The longest name, in bytes.
const NAME_BYTES: usize = 128;

/// Why no session can be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// As many sessions live as may, and a cell runs in each.
    #[error(
        "all {most} sessions are in use ({}), and none can be closed to make room\nhint: wait for one of them, or use one of them",
        running.join(", ")
    )]
    Full {
        /// How many may live.
        most: usize,
        /// The names of those that do.
        running: Vec<String>,
    },
    /// The name cannot be a session's.
    #[error("a session's name has 1 to {NAME_BYTES} bytes and no control characters")]
    InvalidName,
    /// The session could not change to the folder that was asked for; the text says why.
    #[error("cannot change to the folder that was asked for: {0}")]
    Folder(String),
    /// The session could not be opened or does not answer.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// A session of a registry, as [`Registry::sessions`] tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its language.
    pub language: Language,
    /// Whether somebody holds a [`Lease`] of it.
    pub is_in_use: bool,
}

/// Sessions by name and language.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Registry, Session};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new(Session::builder).most(2);
/// for code in ["rows = [1, 2]", "rows.append(3)", "rows"] {
///     let lease = registry.lease("research", Language::Python, None).await?;
///     let outcome = lease.session().run(code.into())?.await;
///     assert!(outcome.ok);
/// }
/// registry.close_all().await;
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
pub struct Registry {
    open: Box<dyn Fn(Language) -> SessionBuilder + Send + Sync>,
    most: usize,
    idle: Duration,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Key, Arc<Entry>>,
    /// What became of sessions whose names were not used since, the oldest first.
    losses: VecDeque<(Key, String)>,
}

impl Registry {
    /// A registry that opens sessions as `open` describes them.
    pub fn new(open: impl Fn(Language) -> SessionBuilder + Send + Sync + 'static) -> Self {
        Self {
            open: Box::new(open),
            most: MOST,
            idle: IDLE,
            table: Mutex::default(),
        }
    }

    /// How many sessions live at most, at least one. Default: 8.
    pub fn most(mut self, sessions: usize) -> Self {
        self.most = sessions.max(1);
        self
    }

    /// How long a session may be idle before it is closed. Default: 30 minutes.
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// The session of this name and language, opened when there is none, in `cwd` when one is given.
    ///
    /// A session that lives changes to another `cwd` and keeps its variables: in Python by a cell of its own, which counts
    /// as one. A JavaScript session cannot; [`Lease::notices`] says so.
    ///
    /// # Errors
    ///
    /// [`RegistryError`] when the name cannot be one, every session there may be is in use, or the session cannot be opened
    /// or cannot change to `cwd`.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the session may be there or not, and in `cwd` or not.
    pub async fn lease(
        &self,
        name: &str,
        language: Language,
        cwd: Option<&Path>,
    ) -> Result<Lease, RegistryError> {
        if name.is_empty() || name.len() > NAME_BYTES || name.contains(char::is_control) {
            return Err(RegistryError::InvalidName);
        }
        self.sweep();
        let key = Key::new(name, language);
        let claim = self.reserve(key.clone())?;
        let opened = claim
            .entry()
            .session
            .get_or_try_init(|| async {
                let mut builder = (self.open)(language);
                if let Some(cwd) = cwd {
                    builder = builder.cwd(cwd);
                }
                let session = builder.open().await?;
                claim.entry().enter(cwd.map(Path::to_owned));
                Ok::<Session, RuntimeError>(session)
            })
            .await
            .cloned();
        let session = opened.inspect_err(|_| self.forget(claim.entry()))?;
        let mut lease = Lease::new(claim, session);
        // What its name lost is told once there is somebody to be told.
        if let Some(loss) = self.take_loss(&key) {
            lease.tell(loss);
        }
        if let Some(cwd) = cwd {
            lease.change_folder(cwd).await?;
        }
        Ok(lease)
    }

    /// Claims the entry, or makes one, when need be in the place of another that is idle.
    fn reserve(&self, key: Key) -> Result<Claim, RegistryError> {
        let mut table = self.lock();
        if let Some(entry) = table.entries.get(&key) {
            return Ok(Claim::new(entry.clone()));
        }
        if table.entries.len() >= self.most {
            let idle_for_longest = table
                .entries
                .values()
                .filter(|entry| !entry.is_in_use())
                .min_by_key(|entry| entry.last_used())
                .cloned();
            let Some(evicted) = idle_for_longest else {
                let mut running: Vec<String> = table.entries.keys().map(Key::shown).collect();
                running.sort();
                return Err(RegistryError::Full {
                    most: self.most,
                    running,
                });
            };
            let loss = format!(
                "this session was closed to make room for another, since no more than {} live: its variables are gone",
                self.most
            );
            table.lose(&evicted, loss);
        }
        let entry = Arc::new(Entry::new(key.clone()));
        table.entries.insert(key, entry.clone());
        Ok(Claim::new(entry))
    }

    /// Closes what was idle for longer than it may. A lease does it by itself; a host with a timer calls it now and then, so
    /// that memory comes back.
    pub fn sweep(&self) {
        let mut table = self.lock();
        let now = Instant::now();
        let over: Vec<Arc<Entry>> = table
            .entries
            .values()
            .filter(|entry| !entry.is_in_use())
            .filter(|entry| now.saturating_duration_since(entry.last_used()) >= self.idle)
            .cloned()
            .collect();
        for entry in over {
            let loss = format!(
                "this session was closed after {} idle: its variables are gone",
                spoken(self.idle)
            );
            table.lose(&entry, loss);
        }
    }

    /// Makes the session a fresh one: it forgets everything, and is in the folder it was opened in. Says whether there was one.
    ///
    /// Waits for its turn behind the cells given before.
    ///
    /// # Errors
    ///
    /// When its interpreter is gone; it is closed then, so that the next lease opens another.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the session may be fresh or not.
    pub async fn reset(&self, name: &str, language: Language) -> Result<bool, RegistryError> {
        let key = Key::new(name, language);
        self.take_loss(&key);
        let Some(claim) = self.find(&key) else {
            return Ok(false);
        };
        let Some(session) = claim.entry().session.get().cloned() else {
            return Ok(false);
        };
        let result = session.reset().await;
        claim.entry().leave();
        if let Err(problem) = result {
            self.forget(claim.entry());
            return Err(problem.into());
        }
        Ok(true)
    }

    /// Closes the session, whatever runs in it. Says whether there was one.
    ///
    /// # Cancel safety
    ///
    /// The session is closed all the same when the future is dropped.
    pub async fn close(&self, name: &str, language: Language) -> bool {
        let entry = self.lock().entries.remove(&Key::new(name, language));
        let session = entry.as_ref().and_then(|entry| entry.session.get());
        if let Some(session) = session {
            session.close().await;
        }
        entry.is_some()
    }

    /// Closes every session, whatever runs in them.
    ///
    /// # Cancel safety
    ///
    /// Those that are not closed yet when the future is dropped end with their last lease.
    pub async fn close_all(&self) {
        let entries: Vec<Arc<Entry>> = {
            let mut table = self.lock();
            table.entries.drain().map(|(_, entry)| entry).collect()
        };
        for entry in &entries {
            if let Some(session) = entry.session.get() {
                session.interrupt();
            }
        }
        for entry in entries {
            if let Some(session) = entry.session.get() {
                session.close().await;
            }
        }
    }

    /// The sessions that live, by name and language.
    pub fn sessions(&self) -> Vec<Listed> {
        let table = self.lock();
        let mut listed: Vec<Listed> = table
            .entries
            .values()
            .map(|entry| Listed {
                name: entry.key.name.clone(),
                language: entry.key.language,
                is_in_use: entry.is_in_use(),
            })
            .collect();
        listed.sort_by(|one, other| {
            let key = |listed: &Listed| (listed.name.clone(), listed.language.as_str());
            key(one).cmp(&key(other))
        });
        listed
    }

    /// Reads a part of a file that one of the sessions has written, as [`Session::artifact`] does.
    ///
    /// # Errors
    ///
    /// When none of the sessions that live has written it, or it cannot be read any more.
    pub fn artifact(&self, file: &str, part: ArtifactPart) -> Result<Artifact, RuntimeError> {
        let sessions: Vec<Session> = {
            let table = self.lock();
            let entries = table.entries.values();
            entries
                .filter_map(|entry| entry.session.get().cloned())
                .collect()
        };
        let shown: String = file.chars().take(200).collect();
        let mut problem = RuntimeError::InvalidOption(format!(
            "{shown:?} is no file that a session has written which is alive"
        ));
        for session in sessions {
            match session.artifact(file, part) {
                Ok(artifact) => return Ok(artifact),
                // It has written the file, and knows what has become of it.
                Err(error @ RuntimeError::Refused(_)) => problem = error,
                Err(_) => {}
            }
        }
        Err(problem)
    }

    fn find(&self, key: &Key) -> Option<Claim> {
        let table = self.lock();
        table
            .entries
            .get(key)
            .map(|entry| Claim::new(entry.clone()))
    }

    /// Takes an entry out that nothing can be done with.
    fn forget(&self, entry: &Arc<Entry>) {
        let mut table = self.lock();
        let is_it = |found: &Arc<Entry>| Arc::ptr_eq(found, entry);
        if table.entries.get(&entry.key).is_some_and(is_it) {
            table.entries.remove(&entry.key);
        }
    }

    fn take_loss(&self, key: &Key) -> Option<String> {
        let mut table = self.lock();
        let index = table.losses.iter().position(|(lost, _)| lost == key)?;
        table.losses.remove(index).map(|(_, loss)| loss)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing panics under this lock.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Lets a session that nobody uses go; its last handle is dropped, which waits for nothing.
    fn lose(&mut self, entry: &Entry, loss: String) {
        self.entries.remove(&entry.key);
        self.losses.retain(|(key, _)| *key != entry.key);
        if self.losses.len() >= REMEMBERED {
            self.losses.pop_front();
        }
        self.losses.push_back((entry.key.clone(), loss));
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Registry")
            .field("most", &self.most)
            .field("idle", &self.idle)
            .field("sessions", &self.sessions())
            .finish_non_exhaustive()
    }
}

fn spoken(time: Duration) -> String {
    match time.as_secs() {
        minutes if minutes >= 60 && minutes.is_multiple_of(60) => {
            format!("{} minutes", minutes / 60)
        }
        _ => format!("{} seconds", time.as_secs_f64()),
    }
}
