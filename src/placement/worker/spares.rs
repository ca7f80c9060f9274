//! Spares: workers that have come to life and have no session yet, one for each configuration, so that a session starts, and a
//! lost one starts afresh, without waiting for an interpreter.
//!
//! [`SPARES`] is locked to take or to leave one, never while one starts. Each is started on a thread of its own, which ends
//! with that; they live as long as the host does, and a few configurations have one.

use std::sync::{Mutex, PoisonError};
use std::thread;

use super::plan::Configuration;
use super::process::Process;

/// How many configurations have a spare; the one that was asked for longest ago goes first.
const MOST: usize = 4;

static SPARES: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

struct Spare {
    configuration: Configuration,
    /// None while it starts.
    process: Option<Process>,
}

/// A worker of this configuration that waits and is alive.
pub(super) fn take(configuration: &Configuration) -> Option<Process> {
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = spares
        .iter()
        .position(|spare| spare.configuration == *configuration && spare.process.is_some())?;
    let spare = spares.remove(index);
    drop(spares);
    let mut process = spare.process?;
    if process.is_waiting() {
        Some(process)
    } else {
        process.end();
        None
    }
}

/// Sees to it that there is a spare of this configuration soon. What hinders one is told by whoever needs a worker.
pub(super) fn replenish(configuration: &Configuration) {
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    if spares
        .iter()
        .any(|spare| spare.configuration == *configuration)
    {
        return;
    }
    spares.push(Spare {
        configuration: configuration.clone(),
        process: None,
    });
    let over = match spares.len() > MOST {
        true => spares.remove(0).process,
        false => None,
    };
    drop(spares);
    if let Some(process) = over {
        process.end();
    }
    let its = configuration.clone();
    let started = thread::Builder::new()
        .name("warmcell-spare".to_owned())
        .stack_size(1 << 20)
        .spawn(move || place(&its, Process::warm(&its).ok()));
    if started.is_err() {
        place(configuration, None);
    }
}

/// Puts a worker, or nothing, where one was awaited.
fn place(configuration: &Configuration, process: Option<Process>) {
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = spares
        .iter()
        .position(|spare| spare.configuration == *configuration);
    let unwanted = match (index, process) {
        (Some(index), Some(process)) => {
            let old = spares[index].process.replace(process);
            drop(spares);
            old
        }
        (Some(index), None) => {
            let spare = spares.remove(index);
            drop(spares);
            spare.process
        }
        (None, process) => {
            drop(spares);
            process
        }
    };
    if let Some(process) = unwanted {
        process.end();
    }
}
