//! Which program a worker runs.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::RuntimeError;

/// This program's `main` has called [`init`](super::init).
static IS_ITS_OWN: AtomicBool = AtomicBool::new(false);

/// From here on this program can be its own worker.
pub(super) fn note_own() {
    IS_ITS_OWN.store(true, Ordering::Relaxed);
}

/// The program of new workers: the one that was named, `warmcell` beside the current one or on PATH, or the current one.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf, RuntimeError> {
    if let Some(named) = named {
        return match is_program(named) {
            true => Ok(named.to_owned()),
            false => Err(RuntimeError::InvalidOption(format!(
                "the worker executable `{}` is not a file that can be run",
                named.display()
            ))),
        };
    }
    let current = env::current_exe().ok();
    let beside = current
        .as_deref()
        .and_then(Path::parent)
        .map(|folder| folder.join("warmcell"));
    let on_path = env::var_os("PATH").into_iter().flat_map(|path| {
        env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("warmcell"))
            .collect::<Vec<_>>()
    });
    if let Some(program) = beside
        .into_iter()
        .chain(on_path)
        .find(|path| is_program(path))
    {
        return Ok(program);
    }
    match current {
        Some(current) if IS_ITS_OWN.load(Ordering::Relaxed) => Ok(current),
        _ => Err(RuntimeError::Unavailable(
            "there is no program to run a worker: no `warmcell` beside this executable or on PATH\nhint: install `warmcell`, name it with `worker_executable`, or call `warmcell::worker::init()` first thing in a plain `fn main()`, before any thread starts"
                .to_owned(),
        )),
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
