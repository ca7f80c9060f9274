//! [`Limits`]: the budgets of a session, their defaults, and the check that they make sense.

use std::time::Duration;

use crate::runtime::RuntimeError;

/// The longest timeout that is taken: a week. More is surely a mistake in the unit.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The budgets of a session. They are checked when the session is opened.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use warmcell::Limits;
///
/// let limits = Limits::default().with_timeout(Duration::from_secs(5)).with_output_bytes(64 * 1024);
/// assert_eq!(limits.timeout, Some(Duration::from_secs(5)));
/// assert_eq!(limits.memory_mb, 2048);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Wall time of a cell, from its start; `None` is no limit. Default: 30 s.
    pub timeout: Option<Duration>,
    /// Processor time of a cell and its children; only a worker can hold a cell to it. Default: none.
    pub cpu: Option<Duration>,
    /// What the interpreter may grow by, in MiB. Default: 2048.
    pub memory_mb: u64,
    /// Processes that the cells of a session may have besides its own; only a worker can hold them to it. Default: 512 in a
    /// worker.
    pub processes: Option<u64>,
    /// Files that a process of the session may have open; only in a worker. Default: what the host's processes may.
    pub open_files: Option<u64>,
    /// How large a file the session may write, in MiB; only in a worker. Default: no limit.
    pub file_mb: Option<u64>,
    /// Bytes of each output stream that an outcome carries, half of them from the start and half from the end, and of each
    /// form of a display that is no image. Default: 1 MiB.
    pub output_bytes: usize,
    /// Bytes of a value's JSON text. Default: 16 MiB.
    pub value_bytes: usize,
    /// Entries that a cell may show. Default: 32.
    pub display_entries: usize,
    /// Bytes of an image in an outcome, as base64; a larger one is scaled down. Default: 4 MiB.
    pub image_bytes: usize,
    /// Bytes of everything that a cell shows together. Default: 16 MiB.
    pub display_bytes: usize,
    /// Bytes of a session's artifacts, where it has a place for them. Default: 1 GiB.
    pub artifact_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(30)),
            cpu: None,
            memory_mb: 2048,
            processes: None,
            open_files: None,
            file_mb: None,
            output_bytes: 1 << 20,
            value_bytes: 16 << 20,
            display_entries: 32,
            image_bytes: 4 << 20,
            display_bytes: 16 << 20,
            artifact_bytes: 1 << 30,
        }
    }
}

impl Limits {
    /// The same limits with another wall time for each cell.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same limits without a wall time: a cell may run for ever, until it is cancelled.
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// The same limits with another memory budget, in MiB.
    pub fn with_memory_mb(mut self, memory_mb: u64) -> Self {
        self.memory_mb = memory_mb;
        self
    }

    /// The same limits with another budget for each output stream, in bytes.
    pub fn with_output_bytes(mut self, output_bytes: usize) -> Self {
        self.output_bytes = output_bytes;
        self
    }

    /// The same limits with another budget for a value's JSON text, in bytes.
    pub fn with_value_bytes(mut self, value_bytes: usize) -> Self {
        self.value_bytes = value_bytes;
        self
    }

    /// The same limits with another number of display entries.
    pub fn with_display_entries(mut self, display_entries: usize) -> Self {
        self.display_entries = display_entries;
        self
    }

    /// The same limits with another budget for each image, in bytes of base64.
    pub fn with_image_bytes(mut self, image_bytes: usize) -> Self {
        self.image_bytes = image_bytes;
        self
    }

    /// The same limits with another budget for everything that a cell shows, in bytes.
    pub fn with_display_bytes(mut self, display_bytes: usize) -> Self {
        self.display_bytes = display_bytes;
        self
    }

    /// The same limits with another budget for the session's artifacts, in bytes.
    pub fn with_artifact_bytes(mut self, artifact_bytes: u64) -> Self {
        self.artifact_bytes = artifact_bytes;
        self
    }

    /// The limits that only a process of its own can be held to, by their names on the wire, as far as they are set.
    pub(crate) fn of_a_process(&self) -> impl Iterator<Item = &'static str> {
        [
            ("cpuMs", self.cpu.is_some()),
            ("processes", self.processes.is_some()),
            ("openFiles", self.open_files.is_some()),
            ("fileMb", self.file_mb.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_set)| is_set.then_some(name))
    }

    /// Checks that every budget is in its range.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::InvalidLimit`] names the limit, what was given, and the range.
    pub fn check(&self) -> Result<(), RuntimeError> {
        if let Some(timeout) = self.timeout {
            check_timeout("timeoutMs", timeout)?;
        }
        if let Some(cpu) = self.cpu {
            check_timeout("cpuMs", cpu)?;
        }
        within("memoryMb", self.memory_mb, 16, 1 << 20)?;
        if let Some(processes) = self.processes {
            within("processes", processes, 0, 1 << 20)?;
        }
        if let Some(files) = self.open_files {
            // Fewer are not enough for an interpreter.
            within("openFiles", files, 64, 1 << 20)?;
        }
        if let Some(mebibytes) = self.file_mb {
            within("fileMb", mebibytes, 1, 1 << 20)?;
        }
        within("outputBytes", self.output_bytes as u64, 512, 1 << 30)?;
        within("valueBytes", self.value_bytes as u64, 16, 1 << 30)?;
        within("displayEntries", self.display_entries as u64, 0, 10_000)?;
        within("imageBytes", self.image_bytes as u64, 1024, 1 << 30)?;
        within("displayBytes", self.display_bytes as u64, 1024, 1 << 30)?;
        within("artifactBytes", self.artifact_bytes, 0, 1 << 50)
    }
}

/// Checks a time limit: at least a millisecond, at most a week.
pub(crate) fn check_timeout(limit: &'static str, timeout: Duration) -> Result<(), RuntimeError> {
    within(
        limit,
        u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        1,
        LONGEST_TIMEOUT.as_millis() as u64,
    )
}

fn within(limit: &'static str, given: u64, least: u64, most: u64) -> Result<(), RuntimeError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(RuntimeError::InvalidLimit {
        limit,
        given,
        least,
        most,
    })
}
