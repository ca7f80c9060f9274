//! Where the prompt's history lives: `warmcell/history` in the user's state directory, and `warmcell/history-javascript`
//! for JavaScript and TypeScript.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use reedline::FileBackedHistory;
use warmcell::Language;

/// How many entries are kept.
const ENTRIES: usize = 10_000;

/// Opens the history, and makes its folder where there is none.
pub(super) fn open(language: Language) -> io::Result<FileBackedHistory> {
    let file =
        file(language).ok_or_else(|| io::Error::other("neither XDG_STATE_HOME nor HOME is set"))?;
    let at =
        |error: &dyn std::fmt::Display| io::Error::other(format!("`{}`: {error}", file.display()));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| at(&error))?;
    }
    // What is typed may be a secret; a file that is there keeps the mode that it has.
    File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&file)
        .map_err(|error| at(&error))?;
    FileBackedHistory::with_file(ENTRIES, file.clone()).map_err(|error| at(&error))
}

/// A relative path in the variable is to be ignored, says the XDG specification.
fn file(language: Language) -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let name = match language {
        Language::Python => "history",
        _ => "history-javascript",
    };
    Some(state.join("warmcell").join(name))
}
