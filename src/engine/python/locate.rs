//! Which python a session gets: the interpreter whose packages and standard library its cells see, and which
//! `sys.executable` names.
//!
//! The libpython that runs the cells was chosen when the program was linked, and with it the standard library: these two
//! belong together to the patch level and the way they were built (the `ssl` of 3.11.7 does not load into 3.11.2; Debian's
//! library folder has no `socket` at all, since it is a part of Debian's libpython). A virtual environment adds packages
//! alone, so one made with any CPython of the same minor version serves; where it was made with another installation, `home`
//! keeps CPython from taking that one's standard library. One of another minor version would start "fine" and find no
//! packages: it is refused when it was asked for, and passed over with a notice when it was only found.
//!
//! Environments are judged by their files. Only a bare interpreter that someone asked for is run, see [`ask`]. Nothing here
//! knows pyo3 or an initialised interpreter.

mod ask;
mod error;
#[cfg(test)]
mod tests;

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

pub(crate) use self::error::LocateError;
use super::version::{BUILT_EXECUTABLE, BUILT_MINOR, BUILT_PREFIX};

/// The python of a session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// What `PyConfig.executable` is to be: absolute, and an environment's own `bin/python` rather than what that links to,
    /// since CPython finds `pyvenv.cfg`, and with it site-packages, from this very path.
    pub(crate) executable: PathBuf,
    /// What `PyConfig.home` is to be, if it is to be set: the installation of the embedded libpython, where `executable` was
    /// made with another. `multiprocessing` then has to start children by the python of the build, `BUILT_EXECUTABLE`: it
    /// hands them this process's `sys.path`, and so a standard library that `executable` does not fit.
    pub(crate) home: Option<PathBuf>,
    /// Why it is this one.
    pub(crate) chosen_by: ChosenBy,
    /// What was found first and could not serve, in one line: the likeliest reason for a later `ModuleNotFoundError`.
    pub(crate) notice: Option<String>,
}

/// Why a python was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    /// The host or the user asked for it.
    Option,
    /// It is the active virtual environment.
    VirtualEnv,
    /// This environment lies in the working directory or the nearest folder above that has one.
    Nearby(PathBuf),
    /// Nothing better was there: the python the program was built with, or its like on another machine.
    Built,
}

impl fmt::Display for ChosenBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option => formatter.write_str("asked for"),
            Self::VirtualEnv => formatter.write_str("the active VIRTUAL_ENV"),
            Self::Nearby(folder) => write!(formatter, "found in `{}`", folder.display()),
            Self::Built => formatter.write_str("the python of the build"),
        }
    }
}

/// Chooses the python of a session: `asked`, an interpreter or an environment's folder; else `virtual_env`, the value of
/// `VIRTUAL_ENV`; else `.venv` or `venv` in `cwd` or the nearest folder above; else the python of the build.
///
/// # Errors
///
/// What was asked for cannot serve, or nothing was asked for and no python is left.
pub(crate) fn locate(
    asked: Option<&Path>,
    cwd: &Path,
    virtual_env: Option<&OsStr>,
) -> Result<Located, LocateError> {
    let search_path = env::var_os("PATH").unwrap_or_default();
    let build = Build {
        minor: BUILT_MINOR,
        executable: Path::new(BUILT_EXECUTABLE),
        prefix: Path::new(BUILT_PREFIX),
        search_path: &search_path,
    };
    build.locate(asked, cwd, virtual_env)
}

/// What a python has to fit, and where its like is looked for.
struct Build<'a> {
    minor: u8,
    executable: &'a Path,
    prefix: &'a Path,
    search_path: &'a OsStr,
}

/// A python that serves; see [`Located`].
struct Python {
    executable: PathBuf,
    home: Option<PathBuf>,
}

impl Build<'_> {
    fn locate(
        &self,
        asked: Option<&Path>,
        cwd: &Path,
        virtual_env: Option<&OsStr>,
    ) -> Result<Located, LocateError> {
        // As the system itself names it: above a link or a `..` lie other folders than the path shows.
        let cwd = &cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        if let Some(asked) = asked {
            return Ok(located(
                self.asked(asked, cwd)?,
                ChosenBy::Option,
                Vec::new(),
            ));
        }
        let mut passed_over = Vec::new();
        if let Some(folder) = virtual_env.filter(|folder| !folder.is_empty()) {
            match self.environment(&cwd.join(folder)) {
                Ok(python) => return Ok(located(python, ChosenBy::VirtualEnv, passed_over)),
                Err(error) => passed_over.push(format!("VIRTUAL_ENV: {}", error.problem())),
            }
        }
        for folder in nearest_environments(cwd) {
            match self.nearby(&folder) {
                Ok(python) => return Ok(located(python, ChosenBy::Nearby(folder), passed_over)),
                Err(error) => passed_over.push(error.problem()),
            }
        }
        let executable = self.own(cwd)?;
        if executable != self.executable {
            passed_over.push(format!(
                "`{}` of the build is not on this machine",
                self.executable.display()
            ));
        }
        let python = Python {
            executable,
            home: None,
        };
        Ok(located(python, ChosenBy::Built, passed_over))
    }

    /// What someone asked for by a path or by a name on PATH.
    fn asked(&self, asked: &Path, cwd: &Path) -> Result<Python, LocateError> {
        let path = absolute(asked, cwd);
        if asked.as_os_str().is_empty() {
            return Err(LocateError::Missing {
                path: asked.to_owned(),
            });
        }
        if path.symlink_metadata().is_err() {
            let on_path = is_name(asked)
                .then(|| self.on_search_path(asked.as_os_str()).next())
                .flatten();
            return self.interpreter(&on_path.ok_or(LocateError::Missing { path })?, cwd);
        }
        if let Some(folder) = environment_of(&path) {
            return self.inside(&folder, path);
        }
        if !path.is_dir() {
            return self.interpreter(&path, cwd);
        }
        if path.join("pyvenv.cfg").is_file() {
            return self.environment(&path);
        }
        // A whole installation, as of conda.
        let executable = path.join("bin/python");
        if !executable.exists() {
            return Err(self.no_python(
                &path,
                "it holds neither `pyvenv.cfg` nor `bin/python`".into(),
            ));
        }
        self.interpreter(&executable, cwd)
    }

    /// An interpreter that someone chose among those of an environment.
    fn inside(&self, folder: &Path, executable: PathBuf) -> Result<Python, LocateError> {
        let python = self.environment(folder)?;
        if !runnable(&executable) {
            return Err(self.broken(folder, dead(&executable)));
        }
        Ok(Python {
            executable,
            ..python
        })
    }

    /// An environment that was found and not asked for.
    fn nearby(&self, folder: &Path) -> Result<Python, LocateError> {
        if is_planted(folder) {
            return Err(LocateError::Planted {
                path: folder.to_owned(),
            });
        }
        self.environment(folder)
    }

    /// A virtual environment, judged by its files: it starts no process.
    fn environment(&self, folder: &Path) -> Result<Python, LocateError> {
        if !folder.exists() {
            return Err(LocateError::Missing {
                path: folder.to_owned(),
            });
        }
        let executable = folder.join("bin/python");
        let Some(settings) = Settings::read(folder) else {
            return Err(self.broken(folder, "it has no readable `pyvenv.cfg`".into()));
        };
        if let Some(found) = settings
            .implementation
            .filter(|name| !name.eq_ignore_ascii_case("cpython"))
        {
            return Err(LocateError::OtherImplementation {
                path: folder.to_owned(),
                found,
                built: self.minor,
            });
        }
        let Some(version) = settings.version else {
            return Err(self.broken(folder, "its `pyvenv.cfg` names no version".into()));
        };
        // Nothing in `pyvenv.cfg` tells a free-threaded build from the other of the same version; the library's folder does.
        let library = folder.join(format!("lib/python{version}"));
        let free_threaded =
            !library.exists() && folder.join(format!("lib/python{version}t")).exists();
        let found = if free_threaded {
            format!("{version}t")
        } else {
            version
        };
        self.fits(folder, &executable, found)?;
        if !runnable(&executable) {
            return Err(self.broken(folder, dead(&executable)));
        }
        if !library.is_dir() {
            return Err(self.broken(
                folder,
                format!("it has no folder `lib/python3.{}`", self.minor),
            ));
        }
        let base = settings.home.as_deref().and_then(Path::parent);
        let foreign = base.is_none_or(|base| !same_folder(base, self.prefix));
        let home = (foreign && self.prefix.is_dir()).then(|| self.prefix.to_owned());
        Ok(Python { executable, home })
    }

    /// A bare interpreter that someone asked for, or the environment that it turns out to be a shim of.
    fn interpreter(&self, path: &Path, cwd: &Path) -> Result<Python, LocateError> {
        let (executable, home) = (path.to_owned(), None);
        if path == self.executable && runnable(path) {
            return Ok(Python { executable, home });
        }
        let answer = self.ask(path, cwd)?;
        if let Some(folder) = environment_of(&answer.executable) {
            return self.inside(&folder, answer.executable);
        }
        if self.prefix.is_dir() && !same_folder(&answer.prefix, self.prefix) {
            let (path, built) = (executable, self.prefix.to_owned());
            return Err(LocateError::OtherInstallation { path, built });
        }
        Ok(Python {
            executable: answer.executable,
            home,
        })
    }

    /// Runs an interpreter to see whether it is a CPython of the right version.
    fn ask(&self, path: &Path, cwd: &Path) -> Result<ask::Answer, LocateError> {
        if !runnable(path) {
            return Err(self.no_python(path, dead(path)));
        }
        let answer =
            ask::ask(path, cwd, ask::DEADLINE).map_err(|reason| self.no_python(path, reason))?;
        if answer.implementation != "cpython" {
            return Err(LocateError::OtherImplementation {
                path: path.to_owned(),
                found: answer.implementation,
                built: self.minor,
            });
        }
        self.fits(path, &answer.executable, answer.version.clone())?;
        Ok(answer)
    }

    /// The python of the build; on a machine without it, the first on PATH that fits.
    fn own(&self, cwd: &Path) -> Result<PathBuf, LocateError> {
        if runnable(self.executable) {
            return Ok(self.executable.to_owned());
        }
        let name = format!("python3.{}", self.minor);
        self.on_search_path(OsStr::new(&name))
            .find_map(|path| self.ask(&path, cwd).ok())
            .map(|answer| answer.executable)
            .ok_or_else(|| LocateError::NoneLeft {
                gone: self.executable.to_owned(),
                built: self.minor,
            })
    }

    fn on_search_path(&self, name: &OsStr) -> impl Iterator<Item = PathBuf> {
        let folders = env::split_paths(self.search_path).filter(|folder| folder.is_absolute());
        folders
            .map(move |folder| folder.join(name))
            .filter(|path| runnable(path))
    }

    fn fits(&self, path: &Path, executable: &Path, found: String) -> Result<(), LocateError> {
        if found == format!("3.{}", self.minor) {
            return Ok(());
        }
        let (path, executable) = (path.to_owned(), executable.to_owned());
        Err(LocateError::OtherVersion {
            path,
            executable,
            found,
            built: self.minor,
        })
    }

    fn broken(&self, path: &Path, reason: String) -> LocateError {
        LocateError::Broken {
            path: path.to_owned(),
            reason,
            built: self.minor,
        }
    }

    fn no_python(&self, path: &Path, reason: String) -> LocateError {
        LocateError::NotPython {
            path: path.to_owned(),
            reason,
            built: self.minor,
        }
    }
}

fn located(python: Python, chosen_by: ChosenBy, passed_over: Vec<String>) -> Located {
    let Python { executable, home } = python;
    let notice = (!passed_over.is_empty()).then(|| {
        let reasons = passed_over.join("; ");
        format!("{reasons}; `{}` is used instead", executable.display())
    });
    Located {
        executable,
        home,
        chosen_by,
        notice,
    }
}

/// The environments of the nearest folder that has any, in the order they are tried.
///
/// The search ends there even when none of them serves: what lies further up belongs to another project.
fn nearest_environments(cwd: &Path) -> Vec<PathBuf> {
    let environments_in = |folder: &Path| -> Vec<PathBuf> {
        let both = [".venv", "venv"].map(|name| folder.join(name));
        both.into_iter()
            .filter(|folder| folder.join("pyvenv.cfg").is_file())
            .collect()
    };
    cwd.ancestors()
        .map(environments_in)
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Whether someone else may have put an environment where it is, to have code of theirs run by whoever works below.
fn is_planted(environment: &Path) -> bool {
    let (Some(Ok(folder)), Ok(environment)) = (
        environment.parent().map(fs::metadata),
        fs::metadata(environment),
    ) else {
        return false;
    };
    // SAFETY: a system call without arguments that cannot fail.
    let user = unsafe { libc::geteuid() };
    may_be_planted(folder.mode(), environment.uid(), user)
}

/// Sticky and writable for all is how `/tmp` is marked; the mounts of some containers are writable for all and not shared.
fn may_be_planted(folder_mode: u32, owner: u32, user: u32) -> bool {
    const SHARED: u32 = 0o1002;
    folder_mode & SHARED == SHARED && owner != user && owner != 0
}

/// The environment that an interpreter lies in, by CPython's own rule: `pyvenv.cfg` one folder above it.
fn environment_of(executable: &Path) -> Option<PathBuf> {
    // Its other programs are scripts, such as `pip`.
    if !executable
        .file_name()?
        .as_encoded_bytes()
        .starts_with(b"python")
    {
        return None;
    }
    let folder = executable.parent()?.parent()?;
    folder
        .join("pyvenv.cfg")
        .is_file()
        .then(|| folder.to_owned())
}

/// What `pyvenv.cfg` says.
struct Settings {
    /// Major and minor version, such as `3.11`.
    version: Option<String>,
    implementation: Option<String>,
    /// The folder of the interpreter it was made with, `bin` of that installation.
    home: Option<PathBuf>,
}

impl Settings {
    fn read(folder: &Path) -> Option<Self> {
        const LONGEST: u64 = 64 * 1024;
        let mut text = Vec::new();
        File::open(folder.join("pyvenv.cfg"))
            .ok()?
            .take(LONGEST)
            .read_to_end(&mut text)
            .ok()?;
        let text = String::from_utf8_lossy(&text);
        let value_of = |wanted: &str| {
            let settings = text.lines().filter_map(|line| line.split_once('='));
            let mut values = settings.filter(|(key, _)| key.trim().eq_ignore_ascii_case(wanted));
            values.next().map(|(_, value)| value.trim())
        };
        // `venv` of the standard library writes the one, virtualenv and uv the other.
        let version = value_of("version").or_else(|| value_of("version_info"));
        let implementation = value_of("implementation").map(str::to_owned);
        let home = value_of("home").map(PathBuf::from);
        Some(Self {
            version: version.and_then(major_and_minor),
            implementation,
            home,
        })
    }
}

/// `3.11` of `3.11.7`, `3.11.7.final.0` or `3.11`.
fn major_and_minor(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let is_number = |part: &str| part.parse::<u8>().is_ok();
    (is_number(major) && is_number(minor)).then(|| format!("{major}.{minor}"))
}

/// `path` from `cwd` on, without `.` in it; links and `..` stay, since what they mean depends on each other.
fn absolute(path: &Path, cwd: &Path) -> PathBuf {
    cwd.join(path).components().collect()
}

/// Whether both paths lead to one folder.
fn same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Whether `path` is a bare name, as one types on a command line.
fn is_name(path: &Path) -> bool {
    let mut components = path.components();
    matches!(
        (components.next(), components.next()),
        (Some(Component::Normal(_)), None)
    )
}

fn runnable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Why a path is not [`runnable`].
fn dead(path: &Path) -> String {
    let shown = path.display();
    match (fs::metadata(path), fs::read_link(path)) {
        (Ok(metadata), _) if metadata.is_file() => format!("`{shown}` is not executable"),
        (Ok(_), _) => format!("`{shown}` is not a file"),
        (Err(_), Ok(target)) => format!(
            "`{shown}` leads to `{}`, which is not there",
            target.display()
        ),
        (Err(_), Err(_)) => format!("`{shown}` is not there"),
    }
}
