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

/// Kills what the running cell started, and what that started.
pub(super) fn kill_those_of_the_cell() {
    let started = STARTED.load(Ordering::Relaxed);
    let threads = THREADS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let mut victims: Vec<i32> = threads
        .iter()
        .filter_map(|thread| fs::read_to_string(format!("/proc/self/task/{thread}/children")).ok())
        .flat_map(|children| {
            children
                .split_whitespace()
                .filter_map(|child| child.parse().ok())
                .collect::<Vec<i32>>()
        })
        .filter(|child| start_of(*child).is_some_and(|ticks| ticks >= started))
        .collect();
    if victims.is_empty() {
        return;
    }
    victims.extend(descendants(&victims));
    for victim in victims {
        // SAFETY: a signal to a process that was a descendant of ours a moment ago; children of ours keep their id until
        // the program waits for them.
        unsafe { libc::kill(victim, libc::SIGKILL) };
    }
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
