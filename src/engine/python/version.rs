//! Which libpython this build is for, and whether the process loaded that one.
//!
//! All CPythons of a minor version share one SONAME, so a program without the rpath that `build.rs` gives (or with a
//! `LD_LIBRARY_PATH` that overrules it) silently runs on whatever `libpython3.11.so.1.0` the loader finds first. Nothing here
//! needs an initialised interpreter: the check comes before `Py_Initialize`.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The version of the libpython this build was linked with, such as `3.11.7`.
pub(crate) const BUILT_VERSION: &str = env!("WARMCELL_PYTHON_VERSION");

/// Its minor version, such as `11`: with it a virtual environment has to agree.
pub(crate) const BUILT_MINOR: u8 = parse_minor(env!("WARMCELL_PYTHON_MINOR"));

/// The interpreter that belongs to it, on the machine of the build.
pub(crate) const BUILT_EXECUTABLE: &str = env!("WARMCELL_PYTHON_EXECUTABLE");

/// The installation both belong to, on the machine of the build: `sys.base_prefix`.
pub(crate) const BUILT_PREFIX: &str = env!("WARMCELL_PYTHON_PREFIX");

/// The folder it was found in, which is also the rpath.
pub(crate) const BUILT_LIBDIR: &str = env!("WARMCELL_PYTHON_LIBDIR");

/// The process runs on another libpython than the one this build is for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process loaded libpython {loaded} from `{}`, but this build is for {BUILT_VERSION} in `{BUILT_LIBDIR}`\n\
     hint: give the host program an rpath: a build.rs with `if let Ok(libdir) = std::env::var(\"DEP_WARMCELL_LIBDIR\") \
     {{ println!(\"cargo::rustc-link-arg=-Wl,-rpath,{{libdir}}\") }}`; and see that LD_LIBRARY_PATH names no other libpython",
    library.display()
)]
pub(crate) struct WrongLibrary {
    loaded: String,
    library: PathBuf,
}

/// Compares the libpython of this process with the one the build was linked with.
///
/// The same version is right wherever it lies; another patch level is right where the build found its library, since there
/// the system upgraded it in place and patch levels are binary compatible.
pub(crate) fn loaded_version_matches() -> Result<(), WrongLibrary> {
    judge(&loaded_version(), loaded_library())
}

fn judge(loaded: &str, library: PathBuf) -> Result<(), WrongLibrary> {
    let minor_agrees = minor_of(loaded) == minor_of(BUILT_VERSION);
    if loaded == BUILT_VERSION || minor_agrees && lies_in(&library, Path::new(BUILT_LIBDIR)) {
        return Ok(());
    }
    Err(WrongLibrary {
        loaded: loaded.to_owned(),
        library,
    })
}

/// `3.11` of `3.11.7`.
fn minor_of(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

fn lies_in(library: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let parent = library.parent().and_then(real);
    parent.is_some() && parent == real(folder)
}

/// The first word of `Py_GetVersion`, such as `3.11.7`.
pub(crate) fn loaded_version() -> String {
    // SAFETY: CPython documents `Py_GetVersion` as callable before initialisation; it returns a static C string.
    let text = unsafe { CStr::from_ptr(pyo3::ffi::Py_GetVersion()) };
    let text = text.to_string_lossy();
    text.split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The file that `Py_GetVersion` was loaded from; empty where the loader cannot say.
pub(crate) fn loaded_library() -> PathBuf {
    let symbol = pyo3::ffi::Py_GetVersion as *const () as *const libc::c_void;
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `dladdr` reads no memory at `symbol`; it fills `found` when it returns non-zero, and then only is it read. The
    // name it gives belongs to the loader and lives as long as libpython, which is linked in and never unloaded.
    unsafe {
        if libc::dladdr(symbol, found.as_mut_ptr()) == 0 {
            return PathBuf::new();
        }
        let name = found.assume_init().dli_fname;
        if name.is_null() {
            return PathBuf::new();
        }
        PathBuf::from(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()))
    }
}

const fn parse_minor(text: &str) -> u8 {
    match u8::from_str_radix(text, 10) {
        Ok(minor) => minor,
        Err(_) => panic!("build.rs bakes a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_program_loads_the_library_it_was_built_for() {
        assert_eq!(loaded_version_matches(), Ok(()));
        assert!(
            lies_in(&loaded_library(), Path::new(BUILT_LIBDIR)),
            "`{}` is not in `{BUILT_LIBDIR}`",
            loaded_library().display()
        );
    }

    #[test]
    fn the_same_version_is_right_anywhere() {
        assert_eq!(
            judge(BUILT_VERSION, PathBuf::from("/elsewhere/libpython.so")),
            Ok(())
        );
    }

    #[test]
    fn another_patch_level_is_right_where_the_build_found_its_library() {
        let upgraded = format!("3.{BUILT_MINOR}.99");
        assert_eq!(judge(&upgraded, loaded_library()), Ok(()));
        assert!(judge(&upgraded, PathBuf::from("/elsewhere/libpython.so")).is_err());
    }

    #[test]
    fn another_minor_version_is_wrong_even_there() {
        assert!(judge(&format!("3.{}.0", BUILT_MINOR + 1), loaded_library()).is_err());
    }

    #[test]
    fn the_message_names_both_libraries_and_the_way_out() {
        let error = judge("3.8.1", PathBuf::from("/elsewhere/libpython3.8.so.1.0")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the process loaded libpython 3.8.1 from `/elsewhere/libpython3.8.so.1.0`, \
                 but this build is for {BUILT_VERSION} in `{BUILT_LIBDIR}`\n\
                 hint: give the host program an rpath: a build.rs with \
                 `if let Ok(libdir) = std::env::var(\"DEP_WARMCELL_LIBDIR\") \
                 {{ println!(\"cargo::rustc-link-arg=-Wl,-rpath,{{libdir}}\") }}`; \
                 and see that LD_LIBRARY_PATH names no other libpython"
            )
        );
    }
}
