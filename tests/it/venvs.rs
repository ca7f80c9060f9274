//! Which Python a session sees: the one asked for, an active one, one that lies near, and what is refused.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use warmcell::{Language, RuntimeError, Session, SessionBuilder};

use crate::support::{
    Alone, Cells, Judge, in_own_process, numpy_venv, python_version, settle, test_name, turn, venv,
};

const WHERE: &str = "import os, site, sys\nreturn [os.path.realpath(sys.prefix), sys.prefix != sys.base_prefix, os.path.dirname(sys.executable) == os.path.join(sys.prefix, 'bin')]";

fn python() -> SessionBuilder {
    Session::builder(Language::Python)
}

/// The venv was ignored, or the python of the build was used: PyO3/pyo3#3284. Here for the version it was built with.
#[test]
fn the_venv_that_was_asked_for_is_used() {
    for form in ["", "bin/python", "bin/python3"] {
        let folder = venv();
        let alone = Alone::new(test_name!()).with_argument(folder.join(form));
        let run = alone.env_remove("VIRTUAL_ENV").run(|| {
            let asked = Alone::argument().unwrap();
            let turn = turn();
            let session = turn.open(python().python(asked.trim_end_matches('/')));
            let outcome = session.cell(WHERE);
            let home = venv_of(&asked);
            outcome.returned(json!([home, true, true]));
            assert_eq!(outcome.notice, None, "{outcome:#?}");
            session
                .cell("any(path.startswith(sys.prefix) and path.endswith('site-packages') for path in sys.path)")
                .returned(json!(true));
            session
                .cell("import subprocess\nsubprocess.run([sys.executable, '-c', 'import sys; print(sys.prefix)'], capture_output=True, text=True).stdout.strip() == sys.prefix")
                .returned(json!(true));
        });
        if run.is_none() {
            return;
        }
    }
}

fn venv_of(asked: &str) -> String {
    let path = Path::new(asked);
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap().parent().unwrap()
    };
    folder.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn an_active_venv_is_used() {
    let test = test_name!();
    if Alone::is_meant(test) {
        let turn = turn();
        turn.python().cell(WHERE).returned(json!([
            std::env::var("VIRTUAL_ENV").unwrap(),
            true,
            true
        ]));
        return;
    }
    let folder = venv().canonicalize().unwrap();
    let _ = Alone::new(test)
        .env("VIRTUAL_ENV", folder)
        .cwd("/")
        .run(|| unreachable!());
}

#[test]
fn a_venv_that_lies_near_is_used() {
    let test = test_name!();
    if Alone::is_meant(test) {
        let turn = turn();
        let session = turn.python();
        session
            .cell(WHERE)
            .returned(json!([Alone::argument().unwrap(), true, true]));
        return;
    }
    let folder = venv().canonicalize().unwrap();
    for name in [".venv", "venv"] {
        let place = tempfile::tempdir().unwrap();
        symlink(&folder, place.path().join(name)).unwrap();
        let deeper = place.path().join("a/b");
        std::fs::create_dir_all(&deeper).unwrap();
        let alone = Alone::new(test).env_remove("VIRTUAL_ENV").cwd(&deeper);
        let _ = alone.with_argument(&folder).run(|| unreachable!());
    }
}

/// Without any, it is the python of the build.
#[test]
fn without_a_venv_the_python_of_the_build_is_used() {
    let alone = Alone::new(test_name!()).env_remove("VIRTUAL_ENV").cwd("/");
    let _ = alone.run(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import sys\n[sys.prefix == sys.base_prefix, bool(sys.executable)]")
            .returned(json!([true, true]));
    });
}

/// A venv of another version has other packages: refused when it was asked for, with both versions in the message.
#[test]
fn a_venv_of_another_version_is_refused_by_name() {
    in_own_process!(|| {
        let place = tempfile::tempdir().unwrap();
        let foreign = foreign_venv(&place.path().join("foreign"));
        let problem = settle(python().python(&foreign).open()).expect_err("refused");
        let text = problem.to_string();
        let ours = python_version();
        assert!(
            text.contains("3.2") && text.contains(&ours),
            "{text} names 3.2 and {ours}"
        );
        assert!(
            text.contains(foreign.to_str().unwrap()) && text.contains("hint:"),
            "{text}"
        );
        // The refusal leaves the process as it was.
        let turn = turn();
        turn.python().cell("1").returned(json!(1));
    });
}

/// One that merely lies near is passed over with a notice, and a module that is missing says why.
#[test]
fn a_venv_of_another_version_that_lies_near_is_passed_over() {
    let test = test_name!();
    if Alone::is_meant(test) {
        let turn = turn();
        let session = turn.python();
        let first = session.cell("import sys\n'%d.%d' % sys.version_info[:2]");
        let ours: String = first.succeeded().value.as_ref().unwrap().parse().unwrap();
        let notice = first.notice.as_deref().expect("a notice");
        assert!(notice.contains("3.2") && notice.contains(&ours), "{notice}");
        let second = session.cell("2");
        assert_eq!(second.notice, None, "said once: {second:#?}");
        let missing = session.cell("import warm_missing_module");
        let error = missing.raised("ModuleNotFoundError");
        let hint = error.hint.as_deref().expect("a hint");
        assert!(hint.contains("3.2") && hint.contains(&ours), "{hint}");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    foreign_venv(&place.path().join(".venv"));
    let alone = Alone::new(test).env_remove("VIRTUAL_ENV").cwd(place.path());
    let _ = alone.run(|| unreachable!());
}

/// A venv that says it is of Python 3.2, which nothing here was ever built for.
fn foreign_venv(folder: &Path) -> std::path::PathBuf {
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::create_dir_all(folder.join("lib/python3.2/site-packages")).unwrap();
    std::fs::write(
        folder.join("pyvenv.cfg"),
        "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.2.1\n",
    )
    .unwrap();
    symlink("/usr/bin/env", folder.join("bin/python")).unwrap();
    folder.to_owned()
}

#[test]
fn what_is_no_python_is_refused_by_name() {
    in_own_process!(|| {
        let place = tempfile::tempdir().unwrap();
        let empty = place.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let text = place.path().join("text");
        std::fs::write(&text, "not a program").unwrap();
        for path in [
            empty,
            text,
            place.path().join("missing"),
            "/usr/bin/env".into(),
        ] {
            let problem = settle(python().python(&path).open()).expect_err("refused");
            let is_refusal = matches!(
                problem,
                RuntimeError::InvalidOption(_)
                    | RuntimeError::Unavailable(_)
                    | RuntimeError::Refused(_)
            );
            assert!(is_refusal, "{problem:?}");
            let said = problem.to_string();
            assert!(
                said.contains(path.to_str().unwrap()) && said.contains("hint:"),
                "{said}"
            );
        }
        let turn = turn();
        turn.python().cell("1").returned(json!(1));
    });
}

/// A process has one interpreter: a later session that asks for another one is told so.
#[test]
fn a_second_python_in_one_process_is_refused() {
    let test = test_name!();
    if Alone::is_meant(test) {
        let turn = turn();
        let first = turn.python();
        let asked = Alone::argument().unwrap();
        let problem = settle(python().python(&asked).open()).expect_err("refused");
        let said = problem.to_string();
        assert!(said.contains(&asked) && said.contains("hint:"), "{said}");
        first.cell("1").returned(json!(1));
        return;
    }
    let alone = Alone::new(test).env_remove("VIRTUAL_ENV").cwd("/");
    let _ = alone.with_argument(venv()).run(|| unreachable!());
}

/// numpy could not be imported again after a reset, or by a second session: numpy/numpy#28271.
#[test]
fn numpy_is_imported_again_and_again() {
    let test = test_name!();
    if Alone::is_meant(test) {
        let turn = turn();
        let venv = Alone::argument().unwrap();
        let session = turn.open(python().python(&venv));
        let import = "import numpy as np\na = np.arange(6).reshape(2, 3)\nreturn [int(a.sum()), (a @ a.T).tolist(), np.__name__]";
        for _ in 0..3 {
            session
                .cell(import)
                .returned(json!([15, [[5, 14], [14, 50]], "numpy"]));
            session.reset_now();
            session.cell("'np' in globals()").returned(json!(false));
        }
        let other = turn.open(python().python(&venv));
        other
            .cell(import)
            .returned(json!([15, [[5, 14], [14, 50]], "numpy"]));
        session
            .cell(import)
            .returned(json!([15, [[5, 14], [14, 50]], "numpy"]));
        other.reset_now();
        session
            .cell("float(np.linalg.norm(np.array([3.0, 4.0])))")
            .returned(json!(5.0));
        drop(other);
        numpy_values(&session);
        return;
    }
    let folder = numpy_venv();
    let _ = Alone::new(test)
        .env_remove("VIRTUAL_ENV")
        .with_argument(folder)
        .run(|| unreachable!());
}

/// numpy's scalars are values; its arrays are not, and the hint says what to do.
fn numpy_values(session: &Session) {
    session
        .cell("import numpy as np\nreturn [np.float64(1.5), np.int64(-3), np.bool_(True), np.float32(0.5), np.uint8(255), np.str_('s'), {'k': np.int32(1)}]")
        .returned(json!([1.5, -3, true, 0.5, 255, "s", {"k": 1}]));
    for (code, word) in [
        ("return {'a': [np.arange(3)]}", "tolist"),
        ("return {'a': [np.float64('nan')]}", "nan"),
        ("return {'a': [np.float32('nan')]}", "nan"),
        (
            "return {'a': [np.datetime64('2024-01-01', 'ns')]}",
            "str(x)",
        ),
        ("return {'a': [np.datetime64('NaT')]}", "str(x)"),
        ("return {'a': [np.timedelta64(1, 'ns')]}", "str(x)"),
        ("return {'a': [np.longdouble(1)]}", "float(x)"),
        ("return {'a': [np.complex64(1)]}", "x.real"),
        ("return {'a': [np.bytes_(b'a')]}", "decode"),
        ("return {'a': [np.void(b'a')]}", "tolist"),
        // The program's own subclass may define anything, so it is not asked.
        (
            "class Evil(np.int32):\n    def item(self): 1/0\nreturn {'a': [Evil(1)]}",
            "tolist",
        ),
    ] {
        let outcome = session.cell(code);
        let error = outcome.failed(warmcell::FailureKind::InvalidOutput);
        let said = format!(
            "{} {}",
            error.message,
            error.hint.as_deref().unwrap_or_default()
        );
        assert!(said.contains("a[0]") && said.contains(word), "{outcome:#?}");
    }
    let outcome = session.cell("np.arange(3)");
    outcome.returned_nothing();
    assert_eq!(outcome.display[0].data["text/plain"], "array([0, 1, 2])");
}
