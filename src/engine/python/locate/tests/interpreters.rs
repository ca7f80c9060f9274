//! Interpreters outside an environment: bare ones, shims, names on a path, and programs that are none.

use super::*;

#[test]
fn a_bare_interpreter_is_asked_for_its_version() {
    let machine = Machine::new();
    let fitting = machine.python("fitting/python3", "cpython", "3.11");
    let other = machine.python("other/python3", "cpython", "3.13");
    let threaded = machine.python("threaded/python3", "cpython", "3.11t");
    let pypy = machine.python("pypy/python3", "pypy", "3.11");
    assert_eq!(machine.ask_for("fitting/python3"), Ok(fitting));
    assert_eq!(
        machine.ask_for("other/python3").unwrap_err().to_string(),
        format!(
            "`{0}` is Python 3.13, this build embeds 3.11\n\
             hint: choose a virtual environment made with python3.11, or rebuild with PYO3_PYTHON={0}",
            other.display()
        )
    );
    assert_eq!(
        machine.ask_for("threaded/python3").unwrap_err().problem(),
        format!(
            "`{}` is Python 3.11t, this build embeds 3.11",
            threaded.display()
        )
    );
    assert_eq!(
        machine.ask_for("pypy/python3").unwrap_err().problem(),
        format!(
            "`{}` is pypy, this build embeds CPython 3.11",
            pypy.display()
        )
    );
}

#[test]
fn a_shim_leads_to_the_real_interpreter_of_the_working_directory() {
    let machine = Machine::new();
    machine.script("shims/python", r#"exec "$(cat which)" "$@""#);
    let real = machine.python("versions/3.11.7/bin/python", "cpython", "3.11");
    machine.file("which", real.to_str().unwrap());
    assert_eq!(machine.ask_for("shims/python"), Ok(real));
}

#[test]
fn an_environment_of_another_installation_keeps_the_standard_library_of_the_build() {
    let mut machine = Machine::new();
    let settings = "home = /usr/bin\nversion = 3.11.2\n";
    let folder = machine.environment(".venv", settings, "3.11");
    let expected = Located {
        executable: folder.join("bin/python"),
        home: Some(machine.prefix.clone()),
        chosen_by: ChosenBy::Nearby(folder),
        notice: None,
    };
    assert_eq!(machine.locate(None, "", None), Ok(expected));
    let asked = machine.locate(Some(".venv/bin/python"), "", None).unwrap();
    assert_eq!(asked.home, Some(machine.prefix.clone()));
    // On another machine there is nothing to keep to.
    machine.prefix = machine.root.join("gone");
    assert_eq!(machine.locate(None, "", None).unwrap().home, None);
}

#[test]
fn a_bare_interpreter_of_another_installation_is_refused() {
    let mut machine = Machine::new();
    let other = machine.folder("other");
    let python = machine.python_of(&other, "other/bin/python3", "cpython", "3.11");
    assert_eq!(
        machine
            .ask_for("other/bin/python3")
            .unwrap_err()
            .to_string(),
        format!(
            "`{0}` is of another installation than the one this build embeds, `{1}`\n\
             hint: make a virtual environment with `{0} -m venv` and choose that, or rebuild with PYO3_PYTHON={0}",
            python.display(),
            machine.prefix.display()
        )
    );
    machine.prefix = machine.root.join("gone");
    assert_eq!(machine.ask_for("other/bin/python3"), Ok(python));
}

#[test]
fn a_shim_of_an_environment_leads_into_it() {
    let machine = Machine::new();
    let folder = machine.environment_3_11("env");
    let inside = folder.join("bin/python3");
    fs::remove_file(folder.join("bin/python")).unwrap();
    machine.python("env/bin/python", "cpython", "3.11");
    symlink("python", &inside).unwrap();
    machine.script("shim", &format!("exec {} \"$@\"", inside.display()));
    assert_eq!(machine.ask_for("shim"), Ok(inside));
}

#[test]
fn the_folder_of_an_installation_stands_for_its_interpreter() {
    let machine = Machine::new();
    let python = machine.python("conda/bin/python", "cpython", "3.11");
    assert_eq!(machine.ask_for("conda"), Ok(python));
}

#[test]
fn a_bare_name_is_looked_up_on_path() {
    let machine = Machine::new();
    let python = machine.python("path/python3.11", "cpython", "3.11");
    assert_eq!(machine.ask_for("python3.11"), Ok(python));
    assert_eq!(
        machine.ask_for("python3.12"),
        Err(LocateError::Missing {
            path: machine.root.join("python3.12")
        })
    );
}

#[test]
fn what_does_not_exist_or_is_no_python_is_refused() {
    let machine = Machine::new();
    let root = machine.root.display();
    let problem = |asked: &str| machine.ask_for(asked).unwrap_err().problem();
    machine.file("notes.txt", "not a program\n");
    machine.folder("folder");
    machine.script("silent", "exit 3");
    assert_eq!(
        machine.ask_for("gone/.venv").unwrap_err().to_string(),
        format!(
            "`{root}/gone/.venv` does not exist\n\
             hint: name an interpreter or the folder of a virtual environment"
        )
    );
    assert_eq!(problem(""), "`` does not exist");
    assert_eq!(
        problem("notes.txt"),
        format!("`{root}/notes.txt` is no python: `{root}/notes.txt` is not executable")
    );
    assert_eq!(
        problem("folder"),
        format!("`{root}/folder` is no python: it holds neither `pyvenv.cfg` nor `bin/python`")
    );
    assert_eq!(
        problem("silent"),
        format!("`{root}/silent` is no python: it answers nothing")
    );
}

#[test]
fn a_program_that_never_answers_is_ended_with_its_children() {
    let machine = Machine::new();
    let pipe = machine.root.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let body = format!(
        "exec 3> '{}'; echo started >&3; sleep 60 & wait",
        pipe.display()
    );
    let program = machine.script("stuck", &body);
    let started = Instant::now();
    // It reads to the end, which comes when the last process that holds the other end is dead.
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe)
    });
    let reason = ask::ask(&program, &machine.root, Duration::from_secs(1)).unwrap_err();
    assert_eq!(reason, "it gave no answer within 1 s");
    // Wakes a reader that still waits for the program to open its end; without one it fails, and need not do anything.
    let _ = File::options()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&pipe);
    assert_eq!(reader.join().unwrap().unwrap(), "started\n");
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "its children lived on"
    );
}

#[test]
fn on_a_machine_without_the_python_of_the_build_the_first_on_path_that_fits_takes_its_place() {
    let mut machine = Machine::new();
    machine.built = machine.root.join("gone/python3.11");
    assert_eq!(
        machine.locate(None, "", None).unwrap_err().to_string(),
        format!(
            "no python 3.11 was found: `{}` of the build is not on this machine, and PATH has no `python3.11`\n\
             hint: install python3.11, or ask for an interpreter or virtual environment of that version",
            machine.built.display()
        )
    );
    // As the shim of a version that is not installed.
    machine.script("path/python3.11", "echo 'not installed' >&2; exit 127");
    let fitting = machine.python("second/python3.11", "cpython", "3.11");
    let folders = [machine.root.join("path"), machine.root.join("second")];
    machine.search_path = env::join_paths(folders).unwrap().into();
    assert_eq!(
        machine.locate(None, "", None),
        Ok(Located {
            executable: fitting.clone(),
            home: None,
            chosen_by: ChosenBy::Built,
            notice: Some(format!(
                "`{}` of the build is not on this machine; `{}` is used instead",
                machine.built.display(),
                fitting.display()
            )),
        })
    );
}

#[test]
fn only_another_user_s_environment_in_a_folder_shared_by_all_may_be_planted() {
    let (shared, open, own) = (0o41777, 0o40777, 0o40755);
    assert!(may_be_planted(shared, 1001, 1000));
    assert!(!may_be_planted(shared, 1000, 1000));
    assert!(!may_be_planted(shared, 0, 1000));
    assert!(!may_be_planted(open, 1001, 1000));
    assert!(!may_be_planted(own, 1001, 1000));
}

#[test]
fn an_own_environment_in_a_shared_folder_serves() {
    let machine = Machine::new();
    let shared = machine.folder("shared");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let folder = machine.environment_3_11("shared/.venv");
    assert_eq!(
        machine.locate(None, "shared", None).unwrap().chosen_by,
        ChosenBy::Nearby(folder)
    );
}
