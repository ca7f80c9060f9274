//! What the engine tells of itself: which python a session would see, which library runs it, and what holds its limits.
//!
//! Nothing here needs an initialised interpreter, and nothing starts one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::locate::locate;
use super::{interrupt, version};
use crate::facts::{self, ArmedLimit, EngineFacts};
use crate::placement::Placement;
use crate::runtime::{Language, RuntimeError, SessionBuilder};

/// The interpreter runs, and what holds its limits has passed its tests.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

/// The interpreter has started and its limits were tested.
pub(super) fn note_armed() {
    IS_ARMED.store(true, Ordering::Release);
}

/// What a session opened by `builder` would run on.
pub(in crate::engine) fn facts(builder: &SessionBuilder) -> Result<EngineFacts, RuntimeError> {
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = builder.cwd.clone().unwrap_or_else(here);
    let virtual_env = std::env::var_os("VIRTUAL_ENV");
    let located = locate(builder.python.as_deref(), &cwd, virtual_env.as_deref())
        .map_err(|error| RuntimeError::Unavailable(error.to_string()))?;
    version::loaded_version_matches()
        .map_err(|error| RuntimeError::Unavailable(error.to_string()))?;
    let library = version::loaded_library();
    Ok(EngineFacts {
        language: Language::Python,
        engine: "python".to_owned(),
        version: version::loaded_version(),
        environment: environment_of(&located.executable),
        reads: reads(&located.executable, &library),
        executable: Some(located.executable),
        library: Some(library).filter(|library| library.is_absolute()),
        chosen: Some(located.chosen_by.to_string()),
        limits: armed_limits(builder),
        notices: located.notice.into_iter().collect(),
    })
}

/// The virtual environment an interpreter stands in.
fn environment_of(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?.parent()?;
    folder
        .join("pyvenv.cfg")
        .is_file()
        .then(|| folder.to_owned())
}

/// The installation, the environment, and the files of both wherever they lie.
fn reads(executable: &Path, library: &Path) -> Vec<PathBuf> {
    let mut found = vec![
        PathBuf::from(version::BUILT_PREFIX),
        PathBuf::from(version::BUILT_LIBDIR),
        executable.to_owned(),
    ];
    found.extend(environment_of(executable));
    found.extend(executable.canonicalize());
    found.extend(
        library
            .parent()
            .filter(|folder| folder.is_absolute())
            .map(Path::to_owned),
    );
    found.retain(|path| path.exists());
    found
}

fn armed_limits(builder: &SessionBuilder) -> Vec<ArmedLimit> {
    // A worker arms and tests them as it starts, or refuses to.
    if builder.placement == Placement::InProcess && !IS_ARMED.load(Ordering::Acquire) {
        return Vec::new();
    }
    let limits = &builder.limits;
    let armed = |limit: &str, how: String| ArmedLimit {
        limit: limit.to_owned(),
        armed: true,
        how,
    };
    let mut all = vec![
        armed(
            "timeoutMs",
            format!(
                "{}; signal {}, then a trace function, then a watchdog",
                facts::timeout_text(limits),
                interrupt::signal()
            ),
        ),
        armed(
            "memoryMb",
            format!("{} MiB; CPython's allocators, tested", limits.memory_mb),
        ),
    ];
    all.extend(facts::limits_of_every_engine(builder));
    all
}
