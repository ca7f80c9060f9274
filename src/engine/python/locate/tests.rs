//! Environments made of files, interpreters made of scripts, and one real `python -m venv`.

mod interpreters;

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
