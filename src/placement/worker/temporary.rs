//! [`Temporary`]: the folder of a sandboxed worker's own, gone with the worker.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct Temporary(PathBuf);

impl Temporary {
    /// Makes it, for this user alone. One that is there already is somebody else's, and an error.
    pub(super) fn new(tag: u64) -> io::Result<Self> {
        let path = env::temp_dir().join(format!("warmcell-{tag:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning.
        let _ = fs::remove_dir_all(&self.0);
    }
}
