//! [`Artifacts`]: the folder of one session in which what is too large for an outcome lies whole.
//!
//! It is the host that writes, and a cell may be able to write there, too. So every file is opened by the handle of the
//! folder, made anew (a name that is taken is passed over, a link never followed), and read again only if it is the very
//! file that was made. Folders have the mode 0700, files 0600.
//!
//! A failure is never a cell's: what could not be written has no file, and [`Artifacts::take_trouble`] says why.
//!
//! Locks: one, on the names and the room that is left, held for a look or a change and while the session's folder is made.
//! It is taken under the transcript's, never the other way round.

mod cleaning;
mod reading;
mod spill;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt, OpenOptions, OpenOptionsExt};

use crate::runtime::RuntimeError;

pub use cleaning::clean_artifacts;
pub use reading::{Artifact, ArtifactPart};
pub(crate) use spill::Spill;

/// How the folder of a session begins its name.
const SESSION: &str = "session-";

/// How many names are tried for a file before something must be wrong.
const NAMES: u32 = 100;

/// A text of an outcome that has as many bytes is written to a file, too, since a model's view of it may be cut.
pub(crate) const LARGE_BYTES: usize = 16 << 10;

/// One session's artifacts.
#[derive(Debug)]
pub(crate) struct Artifacts {
    parent: Dir,
    parent_path: PathBuf,
    budget: u64,
    /// How many cells the session has begun: the last one is what a file is named after.
    cells: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// None until there is something to write.
    folder: Option<Arc<Folder>>,
    files: BTreeMap<String, Identity>,
    left: u64,
    trouble: Option<String>,
}

/// The session's folder, and the lock that keeps cleaners away as long as the session lives.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    handle: Dir,
    #[expect(dead_code, reason = "held, not read")]
    lock: fs::File,
}

/// A file as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Artifacts {
    /// Artifacts in a folder below `parent`, which is made if need be.
    pub(crate) fn open(
        parent: &Path,
        budget: u64,
        cells: Arc<AtomicU64>,
    ) -> Result<Arc<Self>, RuntimeError> {
        let parent_path = std::path::absolute(parent).map_err(|error| unusable(parent, &error))?;
        let handle = make_parent(&parent_path).map_err(|error| unusable(parent, &error))?;
        Ok(Arc::new(Self {
            parent: handle,
            parent_path,
            budget,
            cells,
            state: Mutex::new(State {
                folder: None,
                files: BTreeMap::new(),
                left: budget,
                trouble: None,
            }),
        }))
    }

    /// Writes a whole file of the running cell, and says where it is.
    pub(crate) fn keep(&self, what: &str, extension: &str, content: &[u8]) -> Option<String> {
        if let Err(problem) = self.reserve(content.len() as u64) {
            self.trouble(what, &problem);
            return None;
        }
        let written = self.create(what, extension).and_then(|mut created| {
            match created.file.write_all(content) {
                Ok(()) => Ok(created.path),
                Err(error) => {
                    self.remove(&created.name);
                    Err(error)
                }
            }
        });
        match written {
            Ok(path) => Some(path),
            Err(error) => {
                self.give_back(content.len() as u64);
                self.trouble(what, &in_words(&error));
                None
            }
        }
    }

    /// Begins a file of the running cell that grows.
    pub(crate) fn begin(self: &Arc<Self>, what: &'static str, extension: &str) -> Option<Spill> {
        match self.create(what, extension) {
            Ok(created) => Some(Spill::new(self.clone(), what, created)),
            Err(error) => {
                self.trouble(what, &in_words(&error));
                None
            }
        }
    }

    /// What could not be written since the last time, as a notice.
    pub(crate) fn take_trouble(&self) -> Option<String> {
        self.lock().trouble.take()
    }

    /// A file that no other has the name of.
    fn create(&self, what: &str, extension: &str) -> io::Result<Created> {
        let mut state = self.lock();
        let folder = match &state.folder {
            Some(folder) => folder.clone(),
            None => {
                let folder = Arc::new(self.make_folder()?);
                state.folder.insert(folder).clone()
            }
        };
        let cell = self.cells.load(Ordering::Relaxed);
        for attempt in 1..=NAMES {
            let name = match attempt {
                1 => format!("cell-{cell:04}-{what}.{extension}"),
                attempt => format!("cell-{cell:04}-{what}-{attempt}.{extension}"),
            };
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            match folder.handle.open_with(&name, &options) {
                Ok(file) => {
                    let identity = Identity::of(&file.metadata()?);
                    state.files.insert(name.clone(), identity);
                    let path = folder.path.join(&name);
                    return Ok(Created {
                        path: path.to_string_lossy().into_owned(),
                        name,
                        file: file.into_std(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Makes the session's folder, under a name that says when and by whom.
    fn make_folder(&self) -> io::Result<Folder> {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs());
        let mut mode = DirBuilder::new();
        mode.mode(0o700);
        for _ in 0..NAMES {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let name = format!("{SESSION}{seconds}-{}-{number}", std::process::id());
            match self.parent.create_dir_with(&name, &mode) {
                Ok(()) => {
                    let lock = open_folder(&self.parent, &name)?;
                    // Whoever cleans up meanwhile takes it for one that is in use.
                    let _ = lock.try_lock_shared();
                    return Ok(Folder {
                        path: self.parent_path.join(&name),
                        handle: Dir::from_std_file(lock.try_clone()?),
                        lock,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Forgets a file and takes it away.
    fn remove(&self, name: &str) {
        let mut state = self.lock();
        state.files.remove(name);
        if let Some(folder) = &state.folder {
            // It may be gone already.
            let _ = folder.handle.remove_file(name);
        }
    }

    /// Takes room for so many bytes.
    fn reserve(&self, bytes: u64) -> Result<(), String> {
        let mut state = self.lock();
        match state.left.checked_sub(bytes) {
            Some(left) => {
                state.left = left;
                Ok(())
            }
            None => Err(format!(
                "the session's artifacts would have more than {} bytes (`artifactBytes`)",
                self.budget
            )),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.lock().left += bytes;
    }

    /// The first trouble is told, and that there was more.
    fn trouble(&self, what: &str, problem: &str) {
        let cell = self.cells.load(Ordering::Relaxed);
        let mut state = self.lock();
        match &mut state.trouble {
            None => {
                state.trouble = Some(format!(
                    "the {what} of cell {cell} could not be kept as an artifact: {problem}"
                ));
            }
            Some(text) if !text.ends_with(AND_MORE) => text.push_str(AND_MORE),
            Some(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const AND_MORE: &str = " (and it is not the only one)";

/// A file that was just made.
#[derive(Debug)]
struct Created {
    name: String,
    path: String,
    file: fs::File,
}

impl Identity {
    fn of(metadata: &cap_std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

fn make_parent(path: &Path) -> io::Result<Dir> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)?;
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

/// Opens a folder in a folder, and nothing that a link leads to.
fn open_folder(parent: &Dir, name: &str) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY);
    Ok(parent.open_with(name, &options)?.into_std())
}

fn unusable(path: &Path, error: &io::Error) -> RuntimeError {
    RuntimeError::InvalidOption(format!(
        "`artifacts` is `{}`, which cannot be used: {}",
        path.display(),
        in_words(error)
    ))
}

/// What the system says, without its number.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    words.to_lowercase()
}

#[cfg(test)]
mod tests;
