//! Finds the libpython that pyo3 was built for and makes every program of this package load exactly that one.
//!
//! A linked program names libpython by its SONAME alone (`libpython3.11.so.1.0`), which all 3.11 installations share: without
//! an rpath the loader takes the system's 3.11.2 in place of the 3.11.7 of pyenv, without a word, or finds none. So the
//! folder goes into the programs as their rpath. Cargo hands no link argument of a library to its dependents, so the folder
//! goes to them as the metadata `libdir`, and the build script of a host program does the last step:
//!
//! ```no_run
//! if let Ok(libdir) = std::env::var("DEP_WARMCELL_LIBDIR") {
//!     println!("cargo::rustc-link-arg=-Wl,-rpath,{libdir}");
//! }
//! ```
//!
//! What was found is baked into the crate too; `engine::python::version` compares it with what a process really loaded.
//! So is the version of boa, which does not tell its own.
//! Without the feature `python` none of it runs and no Python is needed. When there is no interpreter at all, the build
//! script of pyo3-ffi fails first, by Cargo's order, and its own message stands.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "python")]
    python::link();
    #[cfg(feature = "javascript")]
    boa::bake_version();
}

#[cfg(feature = "javascript")]
mod boa {
    use std::path::Path;
    use std::{env, fs};

    /// Bakes the version of boa. Cargo tells a crate nothing of its dependencies: the lock file does where it is this
    /// folder's build, and in a host's build our own manifest says at least which versions it may be.
    pub(super) fn bake_version() {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let built_in = env::var("OUT_DIR").unwrap_or_default();
        let is_own_build = Path::new(&built_in).starts_with(&folder);
        let version = is_own_build
            .then(|| {
                quoted_after(
                    &folder,
                    "Cargo.lock",
                    &["name = \"boa_engine\"\nversion = "],
                )
            })
            .flatten()
            .or_else(|| {
                // As we write it, and as Cargo does when it publishes.
                let places = [
                    "\nboa_engine = { version = ",
                    "[dependencies.boa_engine]\nversion = ",
                ];
                quoted_after(&folder, "Cargo.toml", &places)
            })
            .unwrap_or_else(|| "unknown".to_owned());
        println!("cargo::rustc-env=WARMCELL_BOA_VERSION={version}");
        println!("cargo::rerun-if-changed=Cargo.toml");
        if is_own_build {
            println!("cargo::rerun-if-changed=Cargo.lock");
        }
    }

    /// The string that follows one of `places` in a file, without its quotes.
    fn quoted_after(folder: &str, file: &str, places: &[&str]) -> Option<String> {
        let text = fs::read_to_string(Path::new(folder).join(file)).ok()?;
        let text = text.replace("\r\n", "\n");
        let (_, rest) = places.iter().find_map(|place| text.split_once(place))?;
        Some(rest.strip_prefix('"')?.split_once('"')?.0.to_owned())
    }
}

#[cfg(feature = "python")]
mod python {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// The minor versions of CPython 3 that this crate is tested with.
    const SUPPORTED: std::ops::RangeInclusive<u8> = 11..=13;

    /// Asks an interpreter what [`Interpreter`] holds, one line each, in its order.
    const QUESTIONS: &str = "\
import sys, sysconfig
print(getattr(sys, '_base_executable', None) or sys.executable)
print(sys.version.split()[0])
print(sys.base_prefix)
print(sysconfig.get_config_var('LIBDIR') or '')
print(sysconfig.get_config_var('MULTIARCH') or '')
";

    /// What the interpreter that pyo3 was built for says about itself.
    struct Interpreter {
        /// The installation's own interpreter, even when pyo3 was built for a virtual environment: such an environment
        /// chooses the library to link, it does not become the default environment of the built program.
        executable: PathBuf,
        version: String,
        prefix: PathBuf,
        libdir: PathBuf,
        multiarch: String,
    }

    /// Emits what links, bakes and hands on the library; or the errors that end the build.
    pub(super) fn link() {
        if let Err(message) = try_link() {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
        }
    }

    fn try_link() -> Result<(), String> {
        let config = pyo3_build_config::get();
        let minor = config.version().minor;
        let Some(executable) = config.executable().map(Path::new) else {
            return Err("pyo3 was configured without an interpreter (PYO3_CONFIG_FILE, PYO3_NO_PYTHON or a cross build); \
                        the feature `python` needs one that runs on this machine\n\
                        hint: set PYO3_PYTHON to a CPython with a shared library"
                .into());
        };
        println!("cargo::rerun-if-changed={}", executable.display());
        let interpreter = Interpreter::ask(executable)?;
        let name = format!(
            "`{}` (Python {})",
            interpreter.executable.display(),
            interpreter.version
        );

        if config.implementation() != pyo3_build_config::PythonImplementation::CPython {
            return Err(format!(
                "{name} is {}; the feature `python` embeds CPython alone\n{}",
                config.implementation(),
                other_interpreter()
            ));
        }
        if config.target_abi().kind().is_free_threaded() {
            return Err(format!(
                "{name} is a free-threaded build, which cells cannot be interrupted in yet; \
                 the feature `python` needs a build with the GIL\n{}",
                other_interpreter()
            ));
        }
        if !SUPPORTED.contains(&minor) {
            return Err(format!(
                "{name} is not supported: the feature `python` embeds CPython 3.{} to 3.{}\n{}",
                SUPPORTED.start(),
                SUPPORTED.end(),
                other_interpreter()
            ));
        }
        if !config.shared() {
            return Err(format!(
                "{name} was built without a shared library, so there is no libpython to embed\n{}",
                how_to_get_one(minor, &interpreter.version)
            ));
        }

        let library = library_file_name(config.lib_name().unwrap_or_default());
        let folders = interpreter.library_folders();
        let Some(libdir) = folders.iter().find(|folder| folder.join(&library).exists()) else {
            let folders: Vec<_> = folders
                .iter()
                .map(|folder| format!("`{}`", folder.display()))
                .collect();
            return Err(format!(
                "{name} has no `{library}` to link with in {}; its development files are missing\n{}",
                folders.join(", "),
                how_to_get_one(minor, &interpreter.version)
            ));
        };

        let libdir = libdir.display();
        // The library may be upgraded in place: its new version has to be baked.
        println!("cargo::rerun-if-changed={libdir}/{library}");
        println!("cargo::rustc-link-search=native={libdir}");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{libdir}");
        println!("cargo::metadata=libdir={libdir}");
        println!("cargo::rustc-env=WARMCELL_PYTHON_LIBDIR={libdir}");
        println!(
            "cargo::rustc-env=WARMCELL_PYTHON_PREFIX={}",
            interpreter.prefix.display()
        );
        println!(
            "cargo::rustc-env=WARMCELL_PYTHON_VERSION={}",
            interpreter.version
        );
        println!("cargo::rustc-env=WARMCELL_PYTHON_MINOR={minor}");
        println!(
            "cargo::rustc-env=WARMCELL_PYTHON_EXECUTABLE={}",
            interpreter.executable.display()
        );
        Ok(())
    }

    impl Interpreter {
        /// Runs the interpreter without the caller's `PYTHON*` variables and site packages, either of which may print.
        fn ask(executable: &Path) -> Result<Self, String> {
            let failed = |reason: String| {
                format!(
                    "`{}` could not be asked for its libpython: {reason}\n{}",
                    executable.display(),
                    other_interpreter()
                )
            };
            let output = Command::new(executable)
                .args(["-I", "-S", "-c", QUESTIONS])
                .stdin(Stdio::null())
                .output()
                .map_err(|error| failed(error.to_string()))?;
            let answer = String::from_utf8_lossy(&output.stdout);
            let lines: Vec<&str> = answer.lines().collect();
            let &[base_executable, version, prefix, libdir, multiarch] = lines.as_slice() else {
                let complaint = String::from_utf8_lossy(&output.stderr);
                return Err(failed(format!("{}: {}", output.status, complaint.trim())));
            };
            Ok(Self {
                executable: base_executable.into(),
                version: version.into(),
                prefix: prefix.into(),
                libdir: libdir.into(),
                multiarch: multiarch.into(),
            })
        }

        /// Where the library may be, likeliest first: `LIBDIR`; Debian's folder below it; and beside the interpreter, where
        /// it is when an installation was moved after it was built, as those of uv and conda are.
        fn library_folders(&self) -> Vec<PathBuf> {
            let mut folders = vec![
                self.libdir.clone(),
                self.libdir.join(&self.multiarch),
                self.prefix.join("lib"),
                self.prefix.join("lib64"),
            ];
            folders.retain(|folder| folder.is_absolute());
            let mut seen = std::collections::HashSet::new();
            folders.retain(|folder| seen.insert(folder.components().collect::<PathBuf>()));
            folders
        }
    }

    /// The file the linker looks for when it is told to link `name`.
    fn library_file_name(name: &str) -> String {
        let macos = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos");
        format!("lib{name}.{}", if macos { "dylib" } else { "so" })
    }

    /// What to do about an interpreter that can never serve.
    fn other_interpreter() -> String {
        format!(
            "hint: choose another with PYO3_PYTHON=/path/to/python3.N, N from {} to {}",
            SUPPORTED.start(),
            SUPPORTED.end()
        )
    }

    /// What to do about an interpreter whose shared library or development files are missing.
    fn how_to_get_one(minor: u8, version: &str) -> String {
        format!(
            "hint: install the library, or choose another interpreter with PYO3_PYTHON=/path/to/python3.N:\n\
             \x20 Debian, Ubuntu:  apt install libpython3.{minor}-dev, then PYO3_PYTHON=/usr/bin/python3.{minor}\n\
             \x20 Fedora:          dnf install python3.{minor}-devel (of the system's own Python: python3-devel)\n\
             \x20 pyenv:           PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force {version}\n\
             \x20 uv:              uv python install 3.{minor}, then PYO3_PYTHON=$(uv python find --managed-python 3.{minor})\n\
             \x20 conda:           conda create -n embed python=3.{minor}, then PYO3_PYTHON=<the environment>/bin/python"
        )
    }
}
