//! `fs.read`: a file, or a window of its bytes.

use std::io::{Read, Seek, SeekFrom};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{File, OpenOptions};

use super::{Answer, Encoding};
use crate::capability::standard::workspace::{Inside, Workspace};
use crate::capability::{Call, CapabilityError};

/// What one call reads at most.
const MOST_BYTES: u64 = 16 << 20;

/// The bytes of a character of UTF-8 after its first.
const MOST_CONTINUED: u64 = 3;

pub(super) fn read(workspace: &Workspace, call: &Call) -> Result<Answer, CapabilityError> {
    let path = super::path(workspace, call, "path")?;
    let encoding = Encoding::of(call)?;
    let offset = count(call, "offset")?.unwrap_or(0);
    let limit = count(call, "limit")?;
    if limit.is_some_and(|limit| limit > MOST_BYTES) {
        return Err(CapabilityError::tool(format!(
            "`limit` is more than {MOST_BYTES} bytes, which is what one call reads"
        )));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    let mut file = workspace.open_file(&path, &mut options, "read")?;
    let window = Window {
        offset,
        limit,
        extra: match encoding {
            Encoding::Utf8 => MOST_CONTINUED,
            Encoding::Base64 => 0,
        },
    };
    let bytes = window.read(&mut file, &path)?;
    match encoding {
        Encoding::Base64 => Ok(Answer::Text(STANDARD.encode(bytes))),
        Encoding::Utf8 => window.text(bytes, &path).map(Answer::Text),
    }
}

/// A number of bytes.
fn count(call: &Call, name: &str) -> Result<Option<u64>, CapabilityError> {
    // As a float, since an integer may come as `3.0`.
    match call.argument::<Option<f64>>(name)? {
        None => Ok(None),
        Some(number) if (0.0..=9e15).contains(&number) => Ok(Some(number as u64)),
        Some(number) => Err(CapabilityError::tool(format!(
            "`{name}` is {number}, and must be 0 or more"
        ))),
    }
}

struct Window {
    offset: u64,
    limit: Option<u64>,
    /// Bytes beyond the limit, for the rest of the last character.
    extra: u64,
}

impl Window {
    fn read(&self, file: &mut File, path: &Inside) -> Result<Vec<u8>, CapabilityError> {
        let failed = |error| path.failed("read", &error);
        let too_large = |size: u64| {
            CapabilityError::tool(format!(
                "`{}` has {size} bytes, and one call reads {MOST_BYTES}: read parts of it with `offset` and `limit`",
                path.written()
            ))
        };
        let size = file.metadata().map_err(failed)?.len();
        if self.limit.is_none() && size.saturating_sub(self.offset) > MOST_BYTES {
            return Err(too_large(size));
        }
        if self.offset > 0 {
            file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        }
        let most = self
            .limit
            .map_or(MOST_BYTES + 1, |limit| limit + self.extra);
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        // It may have grown since, and some files do not tell their size.
        if self.limit.is_none() && bytes.len() as u64 > MOST_BYTES {
            return Err(too_large(size.max(MOST_BYTES + 1)));
        }
        Ok(bytes)
    }

    /// The characters that begin within the window: windows side by side give the whole text, each character once.
    fn text(&self, mut bytes: Vec<u8>, path: &Inside) -> Result<String, CapabilityError> {
        let is_continued = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        if let Some(limit) = self.limit {
            let within = bytes
                .len()
                .min(usize::try_from(limit).unwrap_or(usize::MAX));
            let beyond = match within {
                0 => 0,
                _ => bytes[within..].iter().take_while(is_continued).count(),
            };
            bytes.truncate(within + beyond);
        }
        if self.offset > 0 {
            let begun_before = bytes.iter().take(3).take_while(is_continued).count();
            bytes.drain(..begun_before);
        }
        String::from_utf8(bytes).map_err(|error| {
            CapabilityError::tool(format!(
                "`{}` is no UTF-8 text, at byte {}: read it with the encoding `base64`",
                path.written(),
                self.offset + error.utf8_error().valid_up_to() as u64
            ))
        })
    }
}
