//! `run` and Python files that are programs: what they find beside them, and the processes that they start.

use std::ffi::OsStr;
use std::fs;

use super::{Files, assert_ended, ran};

/// Runs files of a folder from elsewhere, in a placement.
fn ran_in(placement: &str, files: &[&OsStr]) -> crate::support::Exited {
    let mut arguments: Vec<&OsStr> = vec![
        "run".as_ref(),
        "--placement".as_ref(),
        placement.as_ref(),
        "--timeout".as_ref(),
        "60".as_ref(),
    ];
    arguments.extend(files);
    ran(arguments)
}

const PLACEMENTS: [&str; 2] = ["in-process", "worker"];

#[test]
fn a_script_finds_its_file_and_the_modules_beside_it() {
    let files = Files::new();
    fs::create_dir(files.path().join("other")).expect("a folder");
    let script = files.file(
        "script.py",
        "import beside\nfrom pathlib import Path\nprint(beside.name, Path(__file__).name, Path(__file__).is_absolute(), Path('other').exists())",
    );
    let other = files.file("other/second.py", "print(Path(__file__).parts[-2:])");
    files.file("beside.py", "name = 'neighbour'");
    for placement in PLACEMENTS {
        let ended = ran_in(placement, &[script.as_ref(), other.as_ref()]);
        let stdout = "neighbour script.py True False\n('other', 'second.py')\n";
        assert_ended(&ended, 0, stdout, "");
    }
}

#[test]
fn processes_that_start_afresh_find_the_functions_of_the_script() {
    let files = Files::new();
    let script = files.file(
        "pool.py",
        "import multiprocessing
import beside

def square(number):
    return number * number + beside.zero

if __name__ == '__main__':
    for method in ('spawn', 'forkserver', 'fork'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, [1, 2, 3]))
",
    );
    files.file("beside.py", "zero = 0");
    for placement in PLACEMENTS {
        let ended = ran_in(placement, &[script.as_ref()]);
        let stdout = "spawn [1, 4, 9]\nforkserver [1, 4, 9]\nfork [1, 4, 9]\n";
        assert_eq!(
            (ended.status, ended.stdout.as_str()),
            (0, stdout),
            "{}",
            ended.stderr
        );
    }
}
