//! [`Spill`]: an artifact that grows while a cell prints.
//!
//! It lives in a stream's ledger, under the transcript's lock, and writes in large pieces, into the page cache as a rule.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use super::{Artifacts, Created, in_words};

/// How much is gathered before it is written.
const PIECE_BYTES: usize = 64 << 10;

/// A file that is kept when it is finished, and gone when it is dropped before.
#[derive(Debug)]
pub(crate) struct Spill {
    artifacts: Arc<Artifacts>,
    what: &'static str,
    created: Created,
    gathered: Vec<u8>,
    written: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Grows,
    /// It could not be written: a file that is not the whole is none.
    Failed,
    Finished,
}

impl Spill {
    pub(super) fn new(artifacts: Arc<Artifacts>, what: &'static str, created: Created) -> Self {
        Self {
            artifacts,
            what,
            created,
            gathered: Vec::new(),
            written: 0,
            state: State::Grows,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.state != State::Grows {
            return;
        }
        if self.gathered.len() + bytes.len() > PIECE_BYTES {
            self.write_gathered();
        }
        if bytes.len() > PIECE_BYTES {
            self.write_piece(bytes);
        } else if self.state == State::Grows {
            self.gathered.extend_from_slice(bytes);
        }
    }

    /// The last so many bytes were never written.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        if self.state != State::Grows {
            return;
        }
        let of_gathered = bytes.min(self.gathered.len() as u64);
        self.gathered
            .truncate(self.gathered.len() - of_gathered as usize);
        let of_file = (bytes - of_gathered).min(self.written);
        if of_file > 0 {
            let left = self.written - of_file;
            let file = &mut self.created.file;
            let shortened = file
                .set_len(left)
                .and_then(|()| file.seek(SeekFrom::Start(left)).map(|_| ()));
            match shortened {
                Ok(()) => {
                    self.written = left;
                    self.artifacts.give_back(of_file);
                }
                Err(error) => self.fail(&in_words(&error)),
            }
        }
    }

    /// Writes what is left, and says where the file is if it holds everything.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.write_gathered();
        if self.state != State::Grows {
            return None;
        }
        self.state = State::Finished;
        Some(std::mem::take(&mut self.created.path))
    }

    fn write_gathered(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        self.write_piece(&gathered);
        self.gathered = gathered;
        self.gathered.clear();
    }

    fn write_piece(&mut self, bytes: &[u8]) {
        if self.state != State::Grows || bytes.is_empty() {
            return;
        }
        if let Err(problem) = self.artifacts.reserve(bytes.len() as u64) {
            return self.fail(&problem);
        }
        self.written += bytes.len() as u64;
        if let Err(error) = self.created.file.write_all(bytes) {
            self.fail(&in_words(&error));
        }
    }

    fn fail(&mut self, problem: &str) {
        self.artifacts.trouble(self.what, problem);
        self.discard();
        self.state = State::Failed;
    }

    fn discard(&mut self) {
        self.artifacts.remove(&self.created.name);
        self.artifacts.give_back(std::mem::take(&mut self.written));
        self.gathered = Vec::new();
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if self.state == State::Grows {
            self.discard();
        }
    }
}
