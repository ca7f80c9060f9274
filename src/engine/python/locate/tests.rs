//! Environments made of files, interpreters made of scripts, and one real `python -m venv`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;

/// A folder to work in, and a build for Python 3.11 whose interpreter lies in it.
struct Machine {
    /// Removes the folder when the test ends.
    _folder: TempDir,
    root: PathBuf,
    built: PathBuf,
    prefix: PathBuf,
    search_path: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let machine = Self {
            _folder: folder,
            built: root.join("built/bin/python3.11"),
            prefix: root.join("built"),
            search_path: root.join("path"),
            root,
        };
        machine.folder("path");
        machine.python("built/bin/python3.11", "cpython", "3.11");
        machine
    }

    fn locate(
        &self,
        asked: Option<&str>,
        cwd: &str,
        virtual_env: Option<&Path>,
    ) -> Result<Located, LocateError> {
        let build = Build {
            minor: 11,
            executable: &self.built,
            prefix: &self.prefix,
            search_path: self.search_path.as_os_str(),
        };
        build.locate(
            asked.map(Path::new),
            &self.root.join(cwd),
            virtual_env.map(Path::as_os_str),
        )
    }

    /// What asking for `asked` in the machine's folder gives.
    fn ask_for(&self, asked: &str) -> Result<PathBuf, LocateError> {
        let located = self.locate(Some(asked), "", None)?;
        assert_eq!(
            (located.home, located.chosen_by, located.notice),
            (None, ChosenBy::Option, None)
        );
        Ok(located.executable)
    }

    fn folder(&self, path: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// An executable script. A shell writes it: were it open for writing in this process while another test starts a child,
    /// that child could not be told from a writer, and the script would be refused as "text file busy".
    fn script(&self, path: &str, body: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod +x "$1""#;
        let status = Command::new("/bin/sh")
            .args(["-c", write, "sh"])
            .arg(&path)
            .arg(body)
            .status()
            .unwrap();
        assert!(status.success());
        path
    }

    /// An interpreter of the build's installation that answers with `implementation`, `version` and its own path.
    fn python(&self, path: &str, implementation: &str, version: &str) -> PathBuf {
        self.python_of(&self.prefix, path, implementation, version)
    }

    fn python_of(&self, prefix: &Path, path: &str, implementation: &str, version: &str) -> PathBuf {
        let format = r"warmcell-python\0%s\0%s\0%s\0%s\n";
        let prefix = prefix.display();
        let body = format!("printf '{format}' '{implementation}' '{version}' '{prefix}' \"$0\"");
        self.script(path, &body)
    }

    /// A virtual environment whose `pyvenv.cfg` holds `settings`, with the `lib` folder of `version`; `@` stands for the
    /// installation of the build.
    fn environment(&self, path: &str, settings: &str, version: &str) -> PathBuf {
        let settings = settings.replace('@', self.prefix.to_str().unwrap());
        self.file(&format!("{path}/pyvenv.cfg"), &settings);
        self.folder(&format!("{path}/lib/python{version}/site-packages"));
        self.folder(&format!("{path}/bin"));
        symlink(&self.built, self.root.join(path).join("bin/python")).unwrap();
        self.root.join(path)
    }

    fn environment_3_11(&self, path: &str) -> PathBuf {
        self.environment(path, "home = @/bin\nversion = 3.11.7\n", "3.11")
    }

    fn environment_3_13(&self, path: &str) -> PathBuf {
        self.environment(path, "home = @/bin\nversion = 3.13.0\n", "3.13")
    }
}

fn located(executable: PathBuf, chosen_by: ChosenBy) -> Located {
    Located {
        executable,
        home: None,
        chosen_by,
        notice: None,
    }
}

#[test]
fn without_any_environment_the_python_of_the_build_serves() {
    let machine = Machine::new();
    assert_eq!(
        machine.locate(None, "", None),
        Ok(located(machine.built.clone(), ChosenBy::Built))
    );
}

#[test]
fn an_environment_is_named_by_its_own_interpreter_not_by_what_that_links_to() {
    let machine = Machine::new();
    let folder = machine.environment_3_11(".venv");
    let expected = located(folder.join("bin/python"), ChosenBy::Nearby(folder));
    assert_eq!(machine.locate(None, "", None), Ok(expected));
}

#[test]
fn the_active_environment_comes_before_the_nearby_one() {
    let machine = Machine::new();
    machine.environment_3_11(".venv");
    let active = machine.environment_3_11("elsewhere/env");
    let expected = located(active.join("bin/python"), ChosenBy::VirtualEnv);
    assert_eq!(machine.locate(None, "", Some(&active)), Ok(expected));
}

#[test]
fn an_empty_virtual_env_is_none() {
    let machine = Machine::new();
    assert_eq!(
        machine.locate(None, "", Some(Path::new(""))),
        Ok(located(machine.built.clone(), ChosenBy::Built))
    );
}

#[test]
fn what_was_asked_for_comes_before_the_active_environment() {
    let machine = Machine::new();
    let active = machine.environment_3_11("active");
    let asked = machine.environment_3_11("asked");
    let expected = located(asked.join("bin/python"), ChosenBy::Option);
    assert_eq!(
        machine.locate(Some("asked"), "", Some(&active)),
        Ok(expected)
    );
}

#[test]
fn a_dotted_environment_comes_before_a_plain_one_and_the_nearest_folder_before_its_parents() {
    let machine = Machine::new();
    let far = machine.environment_3_11("project/.venv");
    machine.folder("project/inner/deep");
    let chosen = |cwd: &str| machine.locate(None, cwd, None).unwrap().chosen_by;
    assert_eq!(chosen("project/inner/deep"), ChosenBy::Nearby(far));
    let plain = machine.environment_3_11("project/inner/venv");
    assert_eq!(chosen("project/inner/deep"), ChosenBy::Nearby(plain));
    let dotted = machine.environment_3_11("project/inner/.venv");
    assert_eq!(chosen("project/inner/deep"), ChosenBy::Nearby(dotted));
}

#[test]
fn the_parents_of_a_working_directory_are_those_of_the_folder_it_leads_to() {
    let machine = Machine::new();
    let folder = machine.environment_3_11("real/.venv");
    machine.environment_3_11("shown/.venv");
    symlink(machine.folder("real/work"), machine.root.join("shown/link")).unwrap();
    assert_eq!(
        machine.locate(None, "shown/link", None).unwrap().chosen_by,
        ChosenBy::Nearby(folder)
    );
}

#[test]
fn a_folder_that_only_has_the_name_is_no_environment() {
    let machine = Machine::new();
    machine.folder("project/venv");
    machine.file("project/.venv", "a note\n");
    let folder = machine.environment_3_11("venv");
    let expected = located(folder.join("bin/python"), ChosenBy::Nearby(folder));
    assert_eq!(machine.locate(None, "project", None), Ok(expected));
}

#[test]
fn a_found_environment_of_another_version_is_passed_over_with_a_notice() {
    let machine = Machine::new();
    let nearby = machine.environment_3_13(".venv");
    let built = machine.built.display();
    assert_eq!(
        machine.locate(None, "", None),
        Ok(Located {
            executable: machine.built.clone(),
            home: None,
            chosen_by: ChosenBy::Built,
            notice: Some(format!(
                "`{}` is Python 3.13, this build embeds 3.11; `{built}` is used instead",
                nearby.display()
            )),
        })
    );
}

#[test]
fn the_second_environment_of_the_nearest_folder_serves_but_none_further_up() {
    let machine = Machine::new();
    machine.environment_3_11(".venv");
    let other = machine.environment_3_13("project/.venv");
    assert_eq!(
        machine.locate(None, "project", None).unwrap().chosen_by,
        ChosenBy::Built
    );
    let fitting = machine.environment_3_11("project/venv");
    let executable = fitting.join("bin/python");
    let notice = format!(
        "`{}` is Python 3.13, this build embeds 3.11; `{}` is used instead",
        other.display(),
        executable.display()
    );
    let expected = Located {
        executable,
        home: None,
        chosen_by: ChosenBy::Nearby(fitting),
        notice: Some(notice),
    };
    assert_eq!(machine.locate(None, "project", None), Ok(expected));
}

#[test]
fn an_active_environment_that_is_gone_is_passed_over_with_a_notice() {
    let machine = Machine::new();
    let nearby = machine.environment_3_11(".venv");
    let gone = machine.root.join("gone");
    let executable = nearby.join("bin/python");
    let notice = format!(
        "VIRTUAL_ENV: `{}` does not exist; `{}` is used instead",
        gone.display(),
        executable.display()
    );
    let expected = Located {
        executable,
        home: None,
        chosen_by: ChosenBy::Nearby(nearby),
        notice: Some(notice),
    };
    assert_eq!(machine.locate(None, "", Some(&gone)), Ok(expected));
}

#[test]
fn an_environment_of_another_version_is_refused_when_asked_for() {
    let machine = Machine::new();
    let folder = machine.environment_3_13("env");
    let error = machine.ask_for("env").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`{0}` is Python 3.13, this build embeds 3.11\n\
             hint: choose a virtual environment made with python3.11, or rebuild with PYO3_PYTHON={0}/bin/python",
            folder.display()
        )
    );
}

#[test]
fn every_tool_s_way_to_write_the_version_is_read() {
    let machine = Machine::new();
    let settings = [
        "home = @/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n",
        "home = @/bin\nimplementation = CPython\nversion_info = 3.11.7.final.0\nvirtualenv = 20.25.0\n",
        "home = @/bin\nimplementation = CPython\nuv = 0.9.0\nversion_info = 3.11.7\n",
        "home=@/bin\r\nVERSION=3.11\r\n",
    ];
    for (number, settings) in settings.into_iter().enumerate() {
        let folder = machine.environment(&number.to_string(), settings, "3.11");
        assert_eq!(
            machine.ask_for(&number.to_string()),
            Ok(folder.join("bin/python")),
            "{settings}"
        );
    }
}

#[test]
fn an_environment_of_another_implementation_is_refused() {
    let machine = Machine::new();
    machine.environment(
        "env",
        "implementation = PyPy\nversion_info = 3.11.9\n",
        "3.11",
    );
    let error = machine.ask_for("env").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` is PyPy, this build embeds CPython 3.11\n\
             hint: choose a CPython 3.11 or a virtual environment made with it",
            machine.root.join("env").display()
        )
    );
}

#[test]
fn a_free_threaded_environment_is_told_by_its_library_folder() {
    let machine = Machine::new();
    machine.environment("env", "version = 3.11.7\n", "3.11t");
    let error = machine.ask_for("env").unwrap_err();
    assert_eq!(
        error.problem(),
        format!(
            "`{}` is Python 3.11t, this build embeds 3.11",
            machine.root.join("env").display()
        )
    );
}

#[test]
fn a_broken_environment_says_what_is_wrong_with_it() {
    let machine = Machine::new();
    let problem = |asked: &str| machine.ask_for(asked).unwrap_err().problem();
    let root = machine.root.display();

    let folder = machine.environment_3_11("dangling");
    fs::remove_file(folder.join("bin/python")).unwrap();
    symlink("/gone/python3.11", folder.join("bin/python")).unwrap();
    let dangling = format!(
        "`{root}/dangling` is broken: `{root}/dangling/bin/python` leads to `/gone/python3.11`, which is not there"
    );
    assert_eq!(problem("dangling"), dangling);
    assert_eq!(problem("dangling/bin/python"), dangling);

    let folder = machine.environment_3_11("bare");
    fs::remove_file(folder.join("bin/python")).unwrap();
    assert_eq!(
        problem("bare"),
        format!("`{root}/bare` is broken: `{root}/bare/bin/python` is not there")
    );
    assert_eq!(
        problem("bare/bin/python"),
        format!("`{root}/bare/bin/python` does not exist")
    );

    machine.environment("silent", "home = @/bin\n", "3.11");
    assert_eq!(
        problem("silent"),
        format!("`{root}/silent` is broken: its `pyvenv.cfg` names no version")
    );

    machine.environment("odd", "version = new\n", "3.11");
    assert_eq!(
        problem("odd"),
        format!("`{root}/odd` is broken: its `pyvenv.cfg` names no version")
    );

    machine.environment("empty", "version = 3.11.7\n", "3.12");
    assert_eq!(
        problem("empty"),
        format!("`{root}/empty` is broken: it has no folder `lib/python3.11`")
    );
    assert_eq!(
        machine.ask_for("empty").unwrap_err().hint(),
        format!("make it anew with `python3.11 -m venv --clear {root}/empty`")
    );
}

#[test]
fn a_broken_environment_that_was_only_found_is_passed_over() {
    let machine = Machine::new();
    machine.environment(".venv", "home = @/bin\n", "3.11");
    let located = machine.locate(None, "", None).unwrap();
    assert_eq!(located.executable, machine.built);
    assert_eq!(
        located.notice,
        Some(format!(
            "`{}/.venv` is broken: its `pyvenv.cfg` names no version; `{}` is used instead",
            machine.root.display(),
            machine.built.display()
        ))
    );
}

#[test]
fn an_interpreter_inside_an_environment_stays_the_one_that_was_named() {
    let machine = Machine::new();
    let folder = machine.environment_3_11("env");
    symlink("python", folder.join("bin/python3.11")).unwrap();
    assert_eq!(
        machine.ask_for("env/bin/python3.11"),
        Ok(folder.join("bin/python3.11"))
    );
    assert_eq!(
        machine.ask_for("./env/bin/python"),
        Ok(folder.join("bin/python"))
    );
    let absolute = folder.join("bin/python");
    assert_eq!(machine.ask_for(absolute.to_str().unwrap()), Ok(absolute));
}

#[test]
fn another_program_of_an_environment_is_no_python() {
    let machine = Machine::new();
    machine.environment_3_11("env");
    let pip = machine.script("env/bin/pip", "echo 'no such option: -I' >&2; exit 2");
    let error = machine.ask_for("env/bin/pip").unwrap_err();
    assert_eq!(
        error.problem(),
        format!(
            "`{}` is no python: it answers `no such option: -I`",
            pip.display()
        )
    );
}

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

/// The python of this very build, which is a real one.
#[test]
fn an_environment_made_by_the_python_of_the_build_is_accepted_and_finds_its_packages() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let venv = cwd.join(".venv");
    let made = Command::new(BUILT_EXECUTABLE)
        .args(["-I", "-m", "venv", "--without-pip"])
        .arg(&venv)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let executable = venv.join("bin/python");
    let expected = located(executable.clone(), ChosenBy::Nearby(venv.clone()));
    assert_eq!(locate(None, &cwd, None), Ok(expected));
    let expected = located(executable.clone(), ChosenBy::VirtualEnv);
    assert_eq!(
        locate(None, Path::new("/"), Some(venv.as_os_str())),
        Ok(expected)
    );
    let answer = ask::ask(&executable, &cwd, ask::DEADLINE).unwrap();
    assert_eq!(
        answer,
        ask::Answer {
            implementation: "cpython".into(),
            version: format!("3.{BUILT_MINOR}"),
            prefix: BUILT_PREFIX.into(),
            executable,
        }
    );
}

#[test]
fn the_python_of_the_build_answers_for_itself() {
    assert_eq!(
        locate(Some(Path::new(BUILT_EXECUTABLE)), Path::new("/"), None),
        Ok(located(BUILT_EXECUTABLE.into(), ChosenBy::Option))
    );
    assert_eq!(
        locate(None, Path::new("/"), None::<&OsStr>),
        Ok(located(BUILT_EXECUTABLE.into(), ChosenBy::Built))
    );
}
