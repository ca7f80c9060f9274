//! The processes of the machine, as `/proc` tells of them: who the workers of this process are, and what it has open.

use std::fs;
use std::path::Path;

/// A process that was started by this one, or by what it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    pub(crate) threads: usize,
    pub(crate) command: String,
}

/// Everything alive that descends from this process.
pub(crate) fn descendants() -> Vec<Process> {
    let all: Vec<Process> = fs::read_dir("/proc")
        .expect("the processes")
        .flatten()
        .filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut family = vec![std::process::id() as i32];
    let mut found = Vec::new();
    while let Some(parent) = family.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            family.push(process.id);
            found.push(process.clone());
        }
    }
    found
}

/// A process that lives.
pub(crate) fn process(id: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        id,
        parent: fields.next()?.parse().ok()?,
        threads: fs::read_dir(format!("/proc/{id}/task")).ok()?.count(),
        command: fs::read_to_string(format!("/proc/{id}/cmdline"))
            .ok()?
            .replace('\0', " "),
    })
}

/// Whether a process is alive.
pub(crate) fn is_alive(id: i32) -> bool {
    process(id).is_some()
}

/// The supervisors of this process.
pub(crate) fn supervisors() -> Vec<i32> {
    roles("worker supervise ")
        .map(|process| process.id)
        .collect()
}

/// The workers of this process that are active: a backup has one thread.
pub(crate) fn workers() -> Vec<i32> {
    roles("worker run ")
        .filter(|process| process.threads > 1)
        .map(|process| process.id)
        .collect()
}

fn roles(role: &str) -> impl Iterator<Item = Process> {
    descendants()
        .into_iter()
        .filter(move |process| process.command.ends_with(role))
}

/// Halts a process of this test's.
pub(crate) fn halt(id: i32) {
    signal(id, libc::SIGSTOP);
}

/// Ends a process of this test's, as its own crash would, and waits until its end was noticed.
pub(crate) fn kill(id: i32) {
    signal(id, libc::SIGKILL);
    super::eventually("its supervisor has reaped it", || {
        !Path::new(&format!("/proc/{id}")).exists()
    });
}

fn signal(id: i32, signal: libc::c_int) {
    assert!(
        descendants().iter().any(|process| process.id == id),
        "{id} is not ours"
    );
    // SAFETY: a process that this one has started, by way of a session.
    unsafe { libc::kill(id, signal) };
}

/// How many descriptors this process has open.
pub(crate) fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("the descriptors")
        .count()
}
