//! Why a python cannot serve a session, and what to do about it.

use std::path::PathBuf;

/// Why a python cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}\nhint: {}", self.problem(), self.hint())]
pub(crate) enum LocateError {
    /// There is nothing of that name.
    Missing {
        /// What was asked for.
        path: PathBuf,
    },
    /// It is CPython, but not of the version that this build embeds.
    OtherVersion {
        /// The environment or interpreter.
        path: PathBuf,
        /// An interpreter to build with instead.
        executable: PathBuf,
        /// Its version, such as `3.13`, or `3.13t` for a free-threaded build.
        found: String,
        /// The minor version that this build embeds.
        built: u8,
    },
    /// It is a bare interpreter of another installation, whose standard library does not fit the embedded libpython.
    OtherInstallation {
        /// The interpreter.
        path: PathBuf,
        /// The installation that this build embeds.
        built: PathBuf,
    },
    /// It is PyPy or another implementation.
    OtherImplementation {
        /// The environment or interpreter.
        path: PathBuf,
        /// The implementation's name.
        found: String,
        /// The minor version that this build embeds.
        built: u8,
    },
    /// It is a virtual environment that cannot work.
    Broken {
        /// The environment.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// The minor version that this build embeds.
        built: u8,
    },
    /// It is neither an interpreter nor an environment.
    NotPython {
        /// What was asked for.
        path: PathBuf,
        /// How that shows.
        reason: String,
        /// The minor version that this build embeds.
        built: u8,
    },
    /// Another user may have planted it: it was found in a folder that everyone may write to, such as `/tmp`.
    Planted {
        /// The environment.
        path: PathBuf,
    },
    /// The python of the build is gone, and nothing can take its place.
    NoneLeft {
        /// The python of the build.
        gone: PathBuf,
        /// The minor version that this build embeds.
        built: u8,
    },
}

impl LocateError {
    /// What is wrong, in one line.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Missing { path } => format!("`{}` does not exist", path.display()),
            Self::OtherVersion {
                path, found, built, ..
            } => {
                format!(
                    "`{}` is Python {found}, this build embeds 3.{built}",
                    path.display()
                )
            }
            Self::OtherInstallation { path, built } => format!(
                "`{}` is of another installation than the one this build embeds, `{}`",
                path.display(),
                built.display()
            ),
            Self::OtherImplementation { path, found, built } => {
                format!(
                    "`{}` is {found}, this build embeds CPython 3.{built}",
                    path.display()
                )
            }
            Self::Broken { path, reason, .. } => {
                format!("`{}` is broken: {reason}", path.display())
            }
            Self::NotPython { path, reason, .. } => {
                format!("`{}` is no python: {reason}", path.display())
            }
            Self::Planted { path } => {
                format!(
                    "`{}` belongs to another user, in a folder that everyone may write to",
                    path.display()
                )
            }
            Self::NoneLeft { gone, built } => format!(
                "no python 3.{built} was found: `{}` of the build is not on this machine, and PATH has no `python3.{built}`",
                gone.display()
            ),
        }
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "name an interpreter or the folder of a virtual environment".into()
            }
            Self::OtherVersion {
                executable, built, ..
            } => format!(
                "choose a virtual environment made with python3.{built}, or rebuild with PYO3_PYTHON={}",
                executable.display()
            ),
            Self::OtherInstallation { path, .. } => format!(
                "make a virtual environment with `{0} -m venv` and choose that, or rebuild with PYO3_PYTHON={0}",
                path.display()
            ),
            Self::OtherImplementation { built, .. } | Self::NotPython { built, .. } => {
                format!("choose a CPython 3.{built} or a virtual environment made with it")
            }
            Self::Broken { path, built, .. } => {
                format!(
                    "make it anew with `python3.{built} -m venv --clear {}`",
                    path.display()
                )
            }
            Self::Planted { .. } => "ask for it by its path if you trust it".into(),
            Self::NoneLeft { built, .. } => {
                format!(
                    "install python3.{built}, or ask for an interpreter or virtual environment of that version"
                )
            }
        }
    }
}
