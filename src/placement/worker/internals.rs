//! What the fuzz target reaches past the contract. Nothing else may use it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frames::{self, Inbox};
use super::messages::{Asleep, Command, Errand, Notice, Order, Report, Urgent};

/// The longest frame that is taken here.
const CAP: usize = 1 << 16;

/// What the pieces are cut into besides: a socket hands over what it likes.
const PIECE_BYTES: usize = 7;

/// Reads bytes that a hostile program may have written, as each side would.
///
/// # Panics
///
/// When a frame that was taken does not come out the same after it was put together and taken apart once more, or when it
/// matters how the bytes were cut.
pub fn read_frames(bytes: &[u8]) {
    read::<Report>(bytes);
    read::<Order>(bytes);
    read::<Urgent>(bytes);
    read::<Asleep>(bytes);
    read::<Errand>(bytes);
    read::<Command>(bytes);
    read::<Notice>(bytes);
}

fn read<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let whole = taken::<T>(bytes, bytes.len().max(1));
    assert_eq!(whole, taken::<T>(bytes, PIECE_BYTES), "as it was cut");
    let together = whole.concat();
    assert_eq!(whole, taken::<T>(&together, together.len().max(1)));
}

/// The frames at the start of the bytes, put together again.
fn taken<T: Serialize + DeserializeOwned>(bytes: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let mut inbox = Inbox::new(CAP);
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece) {
        inbox.push(piece);
        loop {
            match inbox.next::<T>() {
                Ok(Some(frame)) => frames.extend(frames::encode(&frame.header, &frame.blob)),
                Ok(None) => break,
                Err(_) => return frames,
            }
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    /// What the fuzzer has found to be of interest, and was kept.
    #[test]
    fn the_corpus_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/frames");
        let mut read = 0;
        for entry in fs::read_dir(folder).expect("the corpus").flatten() {
            read_frames(&fs::read(entry.path()).expect("an input"));
            read += 1;
        }
        assert!(read >= 20, "{read} inputs");
    }

    /// A frame of ours with some bytes changed.
    fn nearly_a_frame() -> impl Strategy<Value = Vec<u8>> {
        let headers = prop::sample::select(vec![
            r#""done""#,
            r#"{"refused":{"text":"no"}}"#,
            r#"{"ended":{"epoch":1,"has_value":true,"failure":null,"interrupted":false,"notice":null,"unprotected":null}}"#,
            r#"{"late":{"stream":"stdout"}}"#,
            r#"{"run":{"number":1,"epoch":2,"watched":false}}"#,
            r#"{"kill":{"spare":[1,2]}}"#,
            r#"{"died":{"process":1,"status":9}}"#,
        ]);
        let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
        (headers, prop::collection::vec(any::<u8>(), 0..64), changes).prop_map(
            |(header, blob, changes)| {
                let value: serde_json::Value = serde_json::from_str(header).expect("JSON");
                let mut frame = frames::encode(&value, &blob).expect("a frame");
                for (index, byte) in changes {
                    let index = index.index(frame.len());
                    frame[index] = byte;
                }
                frame
            },
        )
    }

    proptest! {
        #[test]
        fn frames_that_are_nearly_ours_are_taken_whole_or_refused(
            frames in prop::collection::vec(nearly_a_frame(), 1..4),
        ) {
            read_frames(&frames.concat());
        }
    }
}
