//! [`Threads`]: whether all threads of the process but the engine's may be missing from a copy of it.
//!
//! A fork copies the thread that forks. The runtime's own threads are started again, and threads of Python are the engine's to
//! know. What is left are pools of native libraries: a few that were tested end theirs before a fork or start them again after
//! it (OpenBLAS and Arrow register for that, jemalloc's thread comes back when it is needed); as many threads as those say
//! they have may be left behind. With any other the copy would wait for ever for work that nobody does.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_int};
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

/// A library whose threads may be left behind, by a part of its file's name, and what says how many it has.
struct Pool {
    file: &'static str,
    /// Of each row the first that is there is asked.
    counts: &'static [&'static [&'static CStr]],
    /// The thread that asks works along.
    counts_caller: bool,
}

const LEAVABLE: [Pool; 2] = [
    Pool {
        file: "openblas",
        counts: &[&[
            c"scipy_openblas_get_num_threads64_",
            c"scipy_openblas_get_num_threads",
            c"openblas_get_num_threads64_",
            c"openblas_get_num_threads",
        ]],
        counts_caller: true,
    },
    Pool {
        file: "libarrow.so",
        counts: &[
            &[c"_ZN5arrow24GetCpuThreadPoolCapacityEv"],
            &[c"_ZN5arrow2io23GetIOThreadPoolCapacityEv"],
        ],
        counts_caller: false,
    },
];

/// The names of threads that come back by themselves.
const RETURNING: [&str; 1] = ["jemalloc_bg_thd"];

/// Libraries known to keep threads that do not survive a fork, by what their file names contain.
const KNOWN: [(&str, &str); 6] = [
    ("polars", "polars"),
    ("libtorch", "torch"),
    ("libmkl", "MKL"),
    ("libgomp", "OpenMP"),
    ("libtensorflow", "tensorflow"),
    ("duckdb", "duckdb"),
];

/// What was found of a set of threads holds for as long as there are no others.
#[derive(Default)]
pub(super) struct Threads {
    judged: BTreeSet<String>,
    verdict: Option<Result<(), String>>,
}

impl Threads {
    /// Whether the process has no threads but those that a copy can do without.
    pub(super) fn may_be_left(&mut self) -> Result<(), String> {
        let mut found = BTreeSet::new();
        for pause in [0, 100, 400] {
            // A thread that was joined is there for a moment still.
            thread::sleep(Duration::from_micros(pause));
            found = threads().map_err(|error| format!("its threads cannot be counted: {error}"))?;
            if found.len() <= own() {
                return Ok(());
            }
        }
        if self.judged == found
            && let Some(verdict) = &self.verdict
        {
            return verdict.clone();
        }
        let verdict = judge(&found);
        self.judged = found;
        self.verdict = Some(verdict.clone());
        verdict
    }
}

fn threads() -> io::Result<BTreeSet<String>> {
    let entries = fs::read_dir("/proc/self/task")?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}

/// Engine and presser; the main thread of a process that was copied is not in the copy.
fn own() -> usize {
    // SAFETY: takes nothing and cannot fail.
    let is_main_gone = unsafe { libc::gettid() == libc::getpid() };
    if is_main_gone { 2 } else { 3 }
}

fn judge(threads: &BTreeSet<String>) -> Result<(), String> {
    let returning = threads.iter().filter(|thread| {
        fs::read_to_string(format!("/proc/self/task/{thread}/comm"))
            .is_ok_and(|name| RETURNING.contains(&name.trim_end()))
    });
    let others = threads.len() - returning.count() - own();
    if others == 0 {
        return Ok(());
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files: BTreeSet<&str> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|start| &line[start..]))
        .collect();
    let name_of = |file: &str| {
        file.rsplit('/')
            .next()
            .map(str::to_owned)
            .unwrap_or_default()
    };
    for file in &files {
        let name = name_of(file);
        if let Some((_, library)) = KNOWN.iter().find(|(part, _)| name.contains(part)) {
            return Err(format!("threads of {library} are alive"));
        }
    }
    let may_be_left: usize = files
        .iter()
        .flat_map(|file| {
            let name = name_of(file);
            let pools = LEAVABLE.iter();
            pools
                .filter(move |pool| name.contains(pool.file))
                .map(|pool| pool.threads(file))
        })
        .sum();
    if others <= may_be_left {
        Ok(())
    } else {
        Err("threads of a native library are alive".to_owned())
    }
}

impl Pool {
    /// How many threads a library that is loaded may have.
    fn threads(&self, file: &str) -> usize {
        let Ok(path) = CString::new(file) else {
            return 0;
        };
        // SAFETY: the library is loaded, and only found again; it is let go below.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return 0;
        }
        let threads = self.counts.iter().filter_map(|names| {
            names.iter().find_map(|name| {
                // SAFETY: the name is a text, the handle is open.
                let count = unsafe { libc::dlsym(handle, name.as_ptr()) };
                if count.is_null() {
                    return None;
                }
                // SAFETY: these functions of these libraries take nothing and give a number.
                let count: extern "C" fn() -> c_int = unsafe { std::mem::transmute(count) };
                usize::try_from(count()).ok()
            })
        });
        let threads: usize = threads.sum();
        // SAFETY: the handle is open.
        unsafe { libc::dlclose(handle) };
        threads.saturating_sub(usize::from(self.counts_caller))
    }
}
