//! Frames: how host, supervisor and workers cut the bytes of a socket into messages.
//!
//! A frame is a length (u32, little-endian, of what follows it), the length of its header (the same), the header (JSON, small)
//! and a blob (any bytes: a cell's source, a value's text, printed output), so that what is large is never escaped: at 10 KiB
//! of source that costs 118 µs a round trip against 14.
//!
//! Whoever reads trusts nothing: lengths are checked against the reader's cap before memory is taken for them, and a header
//! that does not say exactly what its type holds is an error. No descriptor and no clock lives here.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest header that is read: a traceback and a message fit in many times over.
const HEADER_BYTES: usize = 8 << 20;

/// The bytes before the header.
const PREFIX: usize = 8;

/// What a reader found that is no frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    /// It says that it is longer than anything this reader takes.
    #[error("a frame of {0} bytes, which is over the cap")]
    TooLong(usize),
    /// Its lengths contradict each other.
    #[error("a frame whose lengths contradict each other")]
    Inconsistent,
    /// Its header is not one that this reader knows.
    #[error("a frame with an unknown header: {0}")]
    Header(String),
}

/// Puts a frame together.
pub(super) fn encode(header: &impl Serialize, blob: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; PREFIX];
    serde_json::to_writer(&mut frame, header)
        .map_err(|error| FrameError::Header(error.to_string()))?;
    let header_bytes = frame.len() - PREFIX;
    let rest = frame.len() - 4 + blob.len();
    let too_long = |_| FrameError::TooLong(rest);
    frame[..4].copy_from_slice(&u32::try_from(rest).map_err(too_long)?.to_le_bytes());
    frame[4..PREFIX].copy_from_slice(&u32::try_from(header_bytes).map_err(too_long)?.to_le_bytes());
    frame.extend_from_slice(blob);
    Ok(frame)
}

/// A frame that was taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame<T> {
    pub(super) header: T,
    pub(super) blob: Vec<u8>,
}

/// The bytes that came and have not been taken as frames yet.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    pub(super) cap: usize,
}

impl Inbox {
    /// Takes frames of at most `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            cap,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next frame, when all of it is there.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Frame<T>>, FrameError> {
        let bytes = &self.bytes[self.start..];
        let (Some(rest), header_bytes) = (length(bytes), bytes.get(4..).and_then(length)) else {
            return Ok(None);
        };
        if rest > self.cap {
            return Err(FrameError::TooLong(rest));
        }
        if rest < 4 {
            return Err(FrameError::Inconsistent);
        }
        let Some(header_bytes) = header_bytes else {
            return Ok(None);
        };
        if header_bytes > rest - 4 {
            return Err(FrameError::Inconsistent);
        }
        if header_bytes > HEADER_BYTES {
            return Err(FrameError::TooLong(header_bytes));
        }
        let Some(frame) = bytes.get(PREFIX..4 + rest) else {
            return Ok(None);
        };
        let (header, blob) = frame.split_at(header_bytes);
        let header = serde_json::from_slice(header)
            .map_err(|error| FrameError::Header(error.to_string()))?;
        let blob = blob.to_vec();
        self.start += 4 + rest;
        if self.start > 1 << 16 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        Ok(Some(Frame { header, blob }))
    }
}

fn length(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.get(..4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAP: usize = 1 << 16;

    fn pushed(inbox: &mut Inbox, bytes: &[u8], piece: usize) -> Vec<Frame<(u64, String)>> {
        let mut frames = Vec::new();
        for piece in bytes.chunks(piece) {
            inbox.push(piece);
            while let Some(frame) = inbox.next().expect("a frame") {
                frames.push(frame);
            }
        }
        frames
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            messages in prop::collection::vec((any::<u64>(), ".{0,40}", prop::collection::vec(any::<u8>(), 0..300)), 1..8),
            piece in 1_usize..200,
        ) {
            let mut bytes = Vec::new();
            for (number, text, blob) in &messages {
                bytes.extend(encode(&(number, text), blob).expect("a frame"));
            }
            let frames = pushed(&mut Inbox::new(CAP), &bytes, piece);
            let expected: Vec<_> = messages
                .into_iter()
                .map(|(number, text, blob)| Frame { header: (number, text), blob })
                .collect();
            prop_assert_eq!(frames, expected);
        }

        #[test]
        fn garbage_is_refused_or_waited_for_and_takes_no_memory(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let mut inbox = Inbox::new(CAP);
            inbox.push(&bytes);
            while let Ok(Some(Frame { .. })) = inbox.next::<(u64, String)>() {}
            prop_assert!(inbox.bytes.capacity() <= 2 * CAP);
        }
    }

    #[test]
    fn a_length_over_the_cap_is_refused_before_anything_else_has_come() {
        let mut inbox = Inbox::new(CAP);
        inbox.push(&(CAP as u32 + 1).to_le_bytes());
        assert_eq!(inbox.next::<()>(), Err(FrameError::TooLong(CAP + 1)));
    }

    #[test]
    fn lengths_that_contradict_each_other_are_refused() {
        for (rest, header) in [(3_u32, 0_u32), (10, 7)] {
            let mut inbox = Inbox::new(CAP);
            inbox.push(&rest.to_le_bytes());
            inbox.push(&header.to_le_bytes());
            inbox.push(&[b' '; 16]);
            assert_eq!(inbox.next::<()>(), Err(FrameError::Inconsistent));
        }
    }

    #[test]
    fn a_header_of_another_type_is_refused() {
        let mut inbox = Inbox::new(CAP);
        inbox.push(&encode(&"text", b"").expect("a frame"));
        assert!(matches!(inbox.next::<u64>(), Err(FrameError::Header(_))));
    }
}
