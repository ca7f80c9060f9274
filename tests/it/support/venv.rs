//! Virtual environments for the tests, made once under the build's own folder and shared by all test processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Cells, turn};

/// A venv with nothing in it, of the python that warmcell was built with.
pub(crate) fn venv() -> PathBuf {
    made("venv", &[])
}

/// A venv with numpy, which is fetched from the package registry once.
pub(crate) fn numpy_venv() -> PathBuf {
    made("venv-numpy", &["numpy"])
}

/// A venv with numpy, pandas, pyarrow and polars, which are fetched from the package registry once.
#[cfg(feature = "cli")]
pub(crate) fn data_venv() -> PathBuf {
    made("venv-data", &["numpy", "pandas", "pyarrow", "polars"])
}

/// A venv with what shows things in rich forms, fetched from the package registry once.
pub(crate) fn display_venv() -> PathBuf {
    let packages = [
        "numpy",
        "pandas",
        "polars",
        "matplotlib",
        "pillow",
        "ipython",
        "plotly",
        "altair",
    ];
    made("venv-display", &packages)
}

/// A venv with the Python SDK of the Model Context Protocol, which is fetched from the package registry once.
#[cfg(feature = "mcp")]
pub(crate) fn mcp_venv() -> PathBuf {
    made("venv-mcp", &["mcp==2.3.0"])
}

/// Makes the venv unless it is there. Test processes wait for each other by a lock on a file beside it.
fn made(name: &str, packages: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    let lock = File::create(folder.with_extension("lock")).expect("a lock file");
    lock.lock().expect("the lock");
    if complete.exists() {
        return folder;
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the rest of an earlier attempt goes");
    }
    run(Command::new(base_python())
        .args(["-m", "venv"])
        .arg(&folder));
    if !packages.is_empty() {
        run(Command::new(python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(packages));
    }
    File::create(complete).expect("the mark of a complete venv");
    folder
}

/// The interpreter that the engine in this binary was built with.
fn base_python() -> String {
    let turn = turn();
    let outcome = turn.python().cell(
        "import sys, os\nreturn os.path.join(sys.base_exec_prefix, 'bin', f'python{sys.version_info[0]}.{sys.version_info[1]}')",
    );
    let path = outcome.value.expect("a path").parse();
    path.expect("a string")
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed ({}); the tests with a venv need `venv` and `pip`, and the package registry once:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}
