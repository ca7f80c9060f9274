//! Spares: workers that stand ready before anybody asks, one for each configuration, so that a session starts, and a lost one
//! starts afresh, without waiting for an interpreter.
//!
//! A spare is opened in advance as the session before was, with its first backup asleep: the next session that is opened alike
//! only runs its cell. A configuration whose sessions are not opened alike has spares that are not opened.
//!
//! [`SPARES`] is locked to take or to leave one, never while one starts. Each is started on a thread of its own, which ends
//! with that; they live as long as the host does, and a few configurations have one.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::plan::{Configuration, Opened, Plan};
use super::process::Process;

/// How many configurations have a spare; the one that was asked for longest ago goes first.
const MOST: usize = 4;

static SPARES: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

struct Spare {
    configuration: Configuration,
    /// How the sessions of the configuration are opened; none where they are not opened alike.
    opened: Option<Opened>,
    state: State,
}

enum State {
    Taken,
    Starting,
    Ready(Box<Process>),
}

/// A worker for this plan that waits and is alive, opened or not.
pub(super) fn take(plan: &Plan) -> Option<Process> {
    let opened = plan.opened();
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    let spare = spares
        .iter_mut()
        .find(|spare| spare.configuration == plan.configuration)?;
    let is_alike = spare.opened.as_ref() == Some(&opened);
    if !is_alike {
        spare.opened = None;
    }
    let mut process = match mem::replace(&mut spare.state, State::Taken) {
        State::Ready(process) => *process,
        state => {
            spare.state = state;
            return None;
        }
    };
    drop(spares);
    if (is_alike || !process.is_open()) && process.is_waiting() {
        Some(process)
    } else {
        process.end();
        None
    }
}

/// Sees to it that there is a spare for this plan soon. What hinders one is told by whoever needs a worker.
pub(super) fn replenish(plan: &Plan) {
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = spares
        .iter()
        .position(|spare| spare.configuration == plan.configuration);
    let opened = match known {
        Some(index) if !matches!(spares[index].state, State::Taken) => return,
        Some(index) => spares.remove(index).opened,
        None => Some(plan.opened()),
    };
    spares.push(Spare {
        configuration: plan.configuration.clone(),
        opened: opened.clone(),
        state: State::Starting,
    });
    let over = (spares.len() > MOST).then(|| spares.remove(0).state);
    drop(spares);
    end(over);
    let configuration = plan.configuration.clone();
    let started = thread::Builder::new()
        .name("warmcell-spare".to_owned())
        .stack_size(1 << 20)
        .spawn(move || {
            let process = Process::ready(&configuration, opened.as_ref());
            place(&configuration, process.ok());
        });
    if started.is_err() {
        place(&plan.configuration, None);
    }
}

/// Puts a worker, or nothing, where one was awaited.
fn place(configuration: &Configuration, process: Option<Process>) {
    let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
    let state = process.map_or(State::Taken, |process| State::Ready(Box::new(process)));
    let unwanted = match spares
        .iter_mut()
        .find(|spare| spare.configuration == *configuration)
    {
        Some(spare) => mem::replace(&mut spare.state, state),
        None => state,
    };
    drop(spares);
    end(Some(unwanted));
}

fn end(state: Option<State>) {
    if let Some(State::Ready(process)) = state {
        process.end();
    }
}
