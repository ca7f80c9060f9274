//! [`Workspace`]: a folder, and the only way in which capabilities reach files.
//!
//! Everything is opened relative to a handle of the folder, by cap-std, and so by the kernel's own rule that a path stays
//! beneath it. No file of this module's may use `std::fs`, save for opening that handle.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, File, FileType, FileTypeExt, OpenOptions, OpenOptionsExt};

use super::in_words;
use crate::capability::CapabilityError;
use crate::runtime::RuntimeError;

/// A folder whose files cells may reach. Cheap to clone.
#[derive(Clone)]
pub(super) struct Workspace {
    inner: Arc<Inner>,
}

struct Inner {
    /// Without symbolic links.
    root: PathBuf,
    /// As the host named it.
    named: PathBuf,
    folder: Dir,
}

/// A path inside the workspace, and how the cell wrote it.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    /// Relative to the workspace, not empty.
    pub(super) path: PathBuf,
    written: String,
}

impl Workspace {
    pub(super) fn open(path: &Path) -> Result<Self, RuntimeError> {
        let invalid = |error: io::Error| {
            RuntimeError::InvalidOption(format!(
                "the workspace `{}` cannot be opened: {}",
                path.display(),
                in_words(&error)
            ))
        };
        let root = path.canonicalize().map_err(invalid)?;
        let named = std::path::absolute(path).map_err(invalid)?;
        let folder = Dir::open_ambient_dir(&root, cap_std::ambient_authority()).map_err(invalid)?;
        Ok(Self {
            inner: Arc::new(Inner {
                root,
                named,
                folder,
            }),
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.inner.root
    }

    pub(super) fn folder(&self) -> &Dir {
        &self.inner.folder
    }

    /// Takes a path as a cell wrote it. One that plainly leads out is refused here; the rest is for the kernel to refuse.
    pub(super) fn inside(&self, written: &str) -> Result<Inside, CapabilityError> {
        if written.contains('\0') {
            return Err(CapabilityError::tool("a path cannot hold a NUL character"));
        }
        let given = Path::new(written);
        let relative = match given.is_absolute() {
            false => given,
            true => given
                .strip_prefix(&self.inner.root)
                .or_else(|_| given.strip_prefix(&self.inner.named))
                .map_err(|_| outside(written))?,
        };
        let mut depth = 0_usize;
        for component in relative.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::ParentDir => {
                    depth = depth.checked_sub(1).ok_or_else(|| outside(written))?;
                }
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(outside(written)),
            }
        }
        let path = match relative.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => relative.to_owned(),
        };
        Ok(Inside {
            path,
            written: written.to_owned(),
        })
    }

    /// The whole workspace.
    pub(super) fn whole(&self) -> Inside {
        Inside {
            path: PathBuf::from("."),
            written: ".".to_owned(),
        }
    }

    /// Opens a regular file, and nothing that would block, answer or act when it is opened.
    pub(super) fn open_file(
        &self,
        inside: &Inside,
        options: &mut OpenOptions,
        doing: &str,
    ) -> Result<File, CapabilityError> {
        let refused = |kind: FileType| {
            let kind = kind_of(kind);
            CapabilityError::tool(format!(
                "cannot {doing} `{}`: it is a {kind}, not a file",
                inside.written
            ))
        };
        // A look before, since to open some devices is to do something; a look after, since the first may be out of date.
        if let Ok(metadata) = self.folder().metadata(&inside.path)
            && !metadata.is_file()
        {
            return Err(refused(metadata.file_type()));
        }
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = self
            .folder()
            .open_with(&inside.path, options)
            .map_err(|error| inside.failed(doing, &error))?;
        let metadata = file
            .metadata()
            .map_err(|error| inside.failed(doing, &error))?;
        match metadata.is_file() {
            true => Ok(file),
            false => Err(refused(metadata.file_type())),
        }
    }

    /// A folder of the workspace.
    pub(super) fn open_folder(&self, inside: &Inside, doing: &str) -> Result<Dir, CapabilityError> {
        self.folder()
            .open_dir(&inside.path)
            .map_err(|error| inside.failed(doing, &error))
    }
}

impl Inside {
    /// Whether it is the workspace itself, as far as the path alone tells.
    pub(super) fn is_root(&self) -> bool {
        let mut depth = 0_usize;
        for component in self.path.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::ParentDir => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        depth == 0
    }

    /// The failure of what was done to the path.
    pub(super) fn failed(&self, doing: &str, error: &io::Error) -> CapabilityError {
        if is_escape(error) {
            return outside(&self.written);
        }
        CapabilityError::tool(format!(
            "cannot {doing} `{}`: {}",
            self.written,
            in_words(error)
        ))
    }

    /// The path, as it was written.
    pub(super) fn written(&self) -> &str {
        &self.written
    }
}

/// cap-std's own refusal, which is no error number of the system's.
pub(super) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

pub(super) fn outside(written: &str) -> CapabilityError {
    CapabilityError::permission(format!("`{written}` leads out of the workspace"))
}

/// What cells read a kind of file as.
pub(super) fn kind_of(kind: FileType) -> &'static str {
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_symlink() {
        "symlink"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}
