//! A host program in a package of its own, `tests/host`, links the library and runs on the libpython it was linked with.
//!
//! This cannot be seen from inside this package, whose programs get their rpath from its own build script.

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_host_in_another_package_runs_on_the_libpython_it_was_linked_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = root.join("tests/host");
    // The same versions, folder and environment as here, so that it compiles little and downloads nothing.
    std::fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    // Where cargo builds: this test's program lies in `<target>/<profile>/deps`.
    let program = std::env::current_exe().unwrap();
    let target = program.ancestors().nth(3).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );

    let ran = Command::new(target.join("debug/warmcell-host"))
        // Cargo sets it for a test's process, and it comes before an rpath.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let [version, value] = stdout.lines().collect::<Vec<_>>()[..] else {
        panic!("two lines: {stdout}");
    };
    assert_eq!(
        version.split_whitespace().next(),
        Some(env!("WARMCELL_PYTHON_VERSION"))
    );
    assert_eq!(value, "2");
}
