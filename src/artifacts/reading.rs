//! [`Artifact`]: a part of a file that a session has written, by lines or by bytes.
//!
//! Only files that the session has written are read, as long as they are the very files that it made.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use serde::Serialize;

use super::{Artifacts, Identity, in_words};
use crate::runtime::RuntimeError;

/// The most bytes that are read at once.
const MOST_BYTES: u64 = 1 << 20;

/// How many bytes, and how many lines, one that does not say gets.
const BYTES: u64 = 64 << 10;
const LINES: u64 = 1000;

/// Which part of an artifact is wanted.
///
/// # Examples
///
/// ```
/// use warmcell::ArtifactPart;
///
/// let whole_beginning = ArtifactPart::lines();
/// let next = ArtifactPart::lines().from(1000).most(200);
/// let raw = ArtifactPart::bytes().from(4096);
/// assert_ne!(whole_beginning, next);
/// # let _ = raw;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it is read by `Session::artifact`"]
pub struct ArtifactPart {
    unit: Unit,
    offset: u64,
    limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Line,
    Byte,
}

impl ArtifactPart {
    /// The first 1000 lines.
    pub fn lines() -> Self {
        Self {
            unit: Unit::Line,
            offset: 0,
            limit: LINES,
        }
    }

    /// The first 64 KiB.
    pub fn bytes() -> Self {
        Self {
            unit: Unit::Byte,
            offset: 0,
            limit: BYTES,
        }
    }

    /// Begins after so many lines, or bytes.
    pub fn from(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// So many lines, or bytes, at most. No part has more than 1 MiB.
    pub fn most(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    fn check(self) -> Result<Self, RuntimeError> {
        let allowed: RangeInclusive<u64> = match self.unit {
            Unit::Line => 1..=1 << 20,
            Unit::Byte => 1..=MOST_BYTES,
        };
        if allowed.contains(&self.limit) {
            return Ok(self);
        }
        Err(RuntimeError::InvalidLimit {
            limit: "limit",
            given: self.limit,
            least: *allowed.start(),
            most: *allowed.end(),
        })
    }
}

/// A part of an artifact. Its wire form is camelCase JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Artifact {
    /// The part, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The part as base64, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// How many bytes the whole artifact has.
    pub bytes: u64,
    /// Where the next part begins, in the unit that was asked for; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

impl Artifacts {
    /// Reads a part of a file, which an outcome named.
    pub(crate) fn read(&self, path: &str, part: ArtifactPart) -> Result<Artifact, RuntimeError> {
        let part = part.check()?;
        let file = self.open_again(path)?;
        let unreadable = |error: io::Error| {
            RuntimeError::Refused(format!("the artifact cannot be read: {}", in_words(&error)))
        };
        let bytes = file.metadata().map_err(unreadable)?.len();
        match part.unit {
            Unit::Byte => read_bytes(file, bytes, part).map_err(unreadable),
            Unit::Line => read_lines(file, bytes, part).map_err(unreadable)?,
        }
    }

    /// Opens a file that this session has written. It may have been moved, or something else put in its place.
    fn open_again(&self, path: &str) -> Result<fs::File, RuntimeError> {
        let state = self.lock();
        let folder = state.folder.clone().ok_or_else(|| unknown(path))?;
        let given = Path::new(path);
        let name = given.strip_prefix(&folder.path).unwrap_or(given);
        let name = name.to_str().ok_or_else(|| unknown(path))?;
        let identity = *state.files.get(name).ok_or_else(|| unknown(path))?;
        drop(state);
        let gone = || {
            RuntimeError::Refused(format!(
                "the artifact `{name}` is not what it was when it was written"
            ))
        };
        let mut options = OpenOptions::new();
        // Whatever lies there now must neither lead elsewhere nor make us wait.
        options
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = folder
            .handle
            .open_with(name, &options)
            .map_err(|_| gone())?;
        let metadata = file.metadata().map_err(|_| gone())?;
        if !metadata.is_file() || Identity::of(&metadata) != identity {
            return Err(gone());
        }
        Ok(file.into_std())
    }
}

fn unknown(path: &str) -> RuntimeError {
    let path: String = path.chars().take(200).collect();
    RuntimeError::InvalidOption(format!(
        "`path` is {path:?}, which is no artifact of this session\nhint: use a `file` of one of its outcomes"
    ))
}

fn read_bytes(mut file: fs::File, bytes: u64, part: ArtifactPart) -> io::Result<Artifact> {
    file.seek(SeekFrom::Start(part.offset.min(bytes)))?;
    let mut content = Vec::new();
    file.take(part.limit).read_to_end(&mut content)?;
    let mut end = part.offset.min(bytes) + content.len() as u64;
    if end < bytes
        && let Err(error) = std::str::from_utf8(&content)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        // The last character belongs to the next part.
        content.truncate(error.valid_up_to());
        end = part.offset + content.len() as u64;
    }
    let (text, base64) = match String::from_utf8(content) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    };
    Ok(Artifact {
        text,
        base64,
        bytes,
        next_offset: (end < bytes).then_some(end),
    })
}

/// Lines with the newlines that end them. Those before the offset are read over.
fn read_lines(
    file: fs::File,
    bytes: u64,
    part: ArtifactPart,
) -> io::Result<Result<Artifact, RuntimeError>> {
    let mut reader = BufReader::with_capacity(64 << 10, file);
    for _ in 0..part.offset {
        if reader.skip_until(b'\n')? == 0 {
            break;
        }
    }
    let mut content = Vec::new();
    let mut lines = 0;
    while lines < part.limit {
        let before = content.len();
        let room = MOST_BYTES - before as u64;
        if (&mut reader).take(room).read_until(b'\n', &mut content)? == 0 {
            break;
        }
        let is_whole = content.ends_with(b"\n") || reader.fill_buf()?.is_empty();
        if !is_whole && before == 0 {
            let line = part.offset;
            return Ok(Err(RuntimeError::Refused(format!(
                "the line at offset {line} has more than {MOST_BYTES} bytes\nhint: read it by `byte`"
            ))));
        }
        if !is_whole {
            // It begins the next part.
            content.truncate(before);
            break;
        }
        lines += 1;
    }
    let is_end = reader.fill_buf()?.is_empty();
    let Ok(text) = String::from_utf8(content) else {
        return Ok(Err(RuntimeError::Refused(
            "the artifact is not text\nhint: read it by `byte`".to_owned(),
        )));
    };
    Ok(Ok(Artifact {
        text: Some(text),
        base64: None,
        bytes,
        next_offset: (!is_end).then_some(part.offset + lines),
    }))
}
