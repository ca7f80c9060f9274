//! The child processes of a cell, which end with it when it is stopped.
//!
//! They are found in `/proc`: children of this process that were forked by the interpreter's thread or one of the program's
//! (the host's own children, forked by its threads, are never touched) and that started after the cell did, with all their
//! descendants.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// When the running cell started, in clock ticks since the machine did.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The threads that may fork in the program's name, by their kernel ids. Locked for a look or a push.
static THREADS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// The calling thread forks in the program's name.
pub(super) fn note_thread() {
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if !threads.contains(&thread) {
        threads.push(thread);
    }
}

/// This process is a copy, in which none of the threads is.
pub(super) fn forget_threads() {
    THREADS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
}

/// A cell starts.
pub(super) fn note_start() {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills in the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now) };
    // `/proc` counts in hundredths of a second on every Linux there is.
    let ticks = now.tv_sec as u64 * 100 + now.tv_nsec as u64 / 10_000_000;
    STARTED.store(ticks, Ordering::Relaxed);
}

/// What was found when the cell's end began, with when it started: a child that dies leaves its own to the system's first
/// process, where nobody could tell whose they were. Locked to add to it and to take it.
static NOTED: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// The processes that earlier cells left. Locked to set it and to look.
static STAY: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// A process, told from a later one of the same id by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    started: u64,
}

/// Notes what the running cell started, before anything is done to it.
pub(super) fn note_those_of_the_cell() {
    let found = find();
    *NOTED.lock().unwrap_or_else(PoisonError::into_inner) = found;
}

/// Kills what the running cell started, and what that started.
pub(super) fn kill_those_of_the_cell() {
    let mut victims = find();
    victims.extend(NOTED.lock().unwrap_or_else(PoisonError::into_inner).iter());
    for victim in victims {
        if start_of(victim.id) == Some(victim.started) {
            // SAFETY: a signal to a process that was a descendant of ours a moment ago.
            unsafe { libc::kill(victim.id, libc::SIGKILL) };
        }
    }
}

/// A cell that started processes has ended: those that are alive stay. Their start and that of the next cell may lie in the
/// same hundredth of a second.
pub(super) fn note_those_that_stay() {
    let stay = children().into_iter().filter_map(process).collect();
    *STAY.lock().unwrap_or_else(PoisonError::into_inner) = stay;
}

/// The cell has ended.
pub(super) fn forget() {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn find() -> Vec<Process> {
    let started = STARTED.load(Ordering::Relaxed);
    let stay = STAY.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_new = |process: &Process| process.started >= started && !stay.contains(process);
    let children: Vec<i32> = children()
        .into_iter()
        .filter_map(process)
        .filter(is_new)
        .map(|process| process.id)
        .collect();
    if children.is_empty() {
        return Vec::new();
    }
    descendants(&children)
        .into_iter()
        .chain(children)
        .filter_map(process)
        .collect()
}

/// The children of the threads that fork in the program's name.
fn children() -> Vec<i32> {
    let threads = THREADS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let lists = threads
        .iter()
        .filter_map(|thread| fs::read_to_string(format!("/proc/self/task/{thread}/children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|id| id.parse().ok())
                .collect::<Vec<i32>>()
        })
        .collect()
}

fn process(id: i32) -> Option<Process> {
    Some(Process {
        id,
        started: start_of(id)?,
    })
}

fn descendants(of: &[i32]) -> Vec<i32> {
    let mut by_parent: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            && let Some(parent) = stat_field(id, 1).and_then(|parent| i32::try_from(parent).ok())
        {
            by_parent.entry(parent).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    let mut parents = of.to_vec();
    while let Some(parent) = parents.pop() {
        if let Some(children) = by_parent.remove(&parent) {
            found.extend(&children);
            parents.extend(children);
        }
    }
    found
}

fn start_of(process: i32) -> Option<u64> {
    stat_field(process, 19)
}

/// A number of `/proc/PID/stat`, counted from the state, which follows the name in parentheses.
fn stat_field(process: i32, index: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?
        .1
        .split_whitespace()
        .nth(index)?
        .parse()
        .ok()
}
