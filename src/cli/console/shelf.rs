//! [`Shelf`]: files of the images that a terminal could not draw, for as long as the prompt lives.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::{env, process};

/// A folder of our own, made when the first image comes and removed in the end.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    folder: Option<PathBuf>,
    count: usize,
}

impl Shelf {
    /// Writes an image, and says where. None when that is not possible: the image is described all the same.
    pub(super) fn keep(&mut self, mime: &str, bytes: &[u8]) -> Option<String> {
        if self.folder.is_none() {
            let folder = env::temp_dir().join(format!("warmcell-images-{}", process::id()));
            // Nobody else may look into it, and one that is there already may be anybody's.
            DirBuilder::new().mode(0o700).create(&folder).ok()?;
            self.folder = Some(folder);
        }
        self.count += 1;
        let extension = if mime == "image/jpeg" { "jpg" } else { "png" };
        let file = self
            .folder
            .as_ref()?
            .join(format!("{}.{extension}", self.count));
        fs::write(&file, bytes).ok()?;
        Some(file.display().to_string())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
