//! [`Watch`]: what a session's processes use of processor, memory and process numbers, as the kernel tells it.
//!
//! The allocator's own limits come first, and a cell can catch them; this is for what goes by them. Short cells are never
//! looked at. The worker's own size is read here, every 25 ms; what it started is counted by the supervisor, which knows whose
//! a process is, every 100 ms.

use std::fs;
use std::time::{Duration, Instant};

use super::death::Death;
use super::process::Process;
use crate::limits::Limits;
use crate::outcome::FailureKind;

/// How often a cell is looked at.
const EVERY: Duration = Duration::from_millis(25);

/// How many looks pass between two counts of all processes.
const LOOKS_A_COUNT: u32 = 4;

/// What a process may hold beyond its limit: the interpreter itself and its libraries.
const SLACK_MB: u64 = 256;

/// How many processes cells may have when nothing else is said.
const PROCESSES: u64 = 512;

/// Over one cell.
pub(super) struct Watch {
    process: i32,
    memory_mb: u64,
    processes: u64,
    /// The processor time that all may have used by the end of the cell, in milliseconds.
    processor_ms: Option<u64>,
    used_ms: u64,
    looks: u32,
    next: Instant,
}

impl Watch {
    /// A cell begins.
    pub(super) fn new(process: &mut Process, limits: &Limits) -> Self {
        let processor_ms = limits.cpu.map(|most| {
            let before = process.usage().map_or(0, |used| used.processor_ms);
            before.saturating_add(u64::try_from(most.as_millis()).unwrap_or(u64::MAX))
        });
        Self {
            process: process.id(),
            memory_mb: limits.memory_mb,
            processes: limits.processes.unwrap_or(PROCESSES),
            processor_ms,
            used_ms: 0,
            looks: 0,
            next: Instant::now() + EVERY,
        }
    }

    pub(super) fn next_look(&self) -> Instant {
        self.next
    }

    /// Looks, when it is time to. Gives why the processes must end at once, should they.
    pub(super) fn look(&mut self, now: Instant, process: &mut Process) -> Option<Death> {
        if now < self.next {
            return None;
        }
        self.next = now + EVERY;
        self.looks += 1;
        if let Some(resident) = resident_mb(self.process)
            && resident > self.memory_mb + SLACK_MB
        {
            return Some(too_large(resident, self.memory_mb));
        }
        // The processor's time is counted at each look: it is all that stops such a cell.
        if self.processor_ms.is_none() && !self.looks.is_multiple_of(LOOKS_A_COUNT) {
            return None;
        }
        let used = process.usage()?;
        self.used_ms = used.processor_ms;
        if used.resident_mb > self.memory_mb + SLACK_MB {
            return Some(too_large(used.resident_mb, self.memory_mb));
        }
        too_many(used.processes, self.processes)
    }

    /// Whether the cell and its children have used more processor time than they may.
    pub(super) fn is_over_processor_time(&self) -> bool {
        self.processor_ms.is_some_and(|most| self.used_ms >= most)
    }
}

/// Counts what cells have left running. Gives whether that is anything, or why it must end.
pub(super) fn count_between_cells(process: &mut Process, limits: &Limits) -> Result<bool, Death> {
    let Some(used) = process.usage() else {
        return Ok(false);
    };
    let death = too_many(used.processes, limits.processes.unwrap_or(PROCESSES));
    death.map_or(Ok(used.processes > 0), Err)
}

fn too_large(resident_mb: u64, limit_mb: u64) -> Death {
    Death::of(
        FailureKind::Memory,
        format!(
            "the worker process was killed when it held {resident_mb} MiB of memory, over its limit of {limit_mb} MiB"
        ),
    )
}

fn too_many(processes: u64, limit: u64) -> Option<Death> {
    (processes > limit).then(|| {
        let text = format!(
            "the worker process was killed when its cells had {processes} processes, over the limit of {limit}"
        );
        Death::of(FailureKind::WorkerExit, text)
    })
}

fn resident_mb(process: i32) -> Option<u64> {
    let sizes = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = sizes.split_whitespace().nth(1)?.parse().ok()?;
    Some((pages << 12) >> 20)
}
