//! [`Refuge`]: an in-process session that goes on in a worker once its interpreter hangs for good.
//!
//! What the session held is gone then, as its host was told; from the next cell on it has a process of its own. Where no
//! worker executable is found, the session answers `unavailable`, as it would without a refuge.

use std::sync::{Arc, OnceLock};

use super::{Placed, Reply, in_process, worker};
use crate::engine::{Opening, Variable};
use crate::outcome::Json;
use crate::output::Transcript;
use crate::runtime::{RuntimeError, SessionBuilder};
use crate::session::Ticket;

/// What the first cell in the worker says.
const NOTICE: &str = "the interpreter of this process is stuck in an earlier cell, so the session was started afresh in a process of its own: everything it held is gone";

pub(super) struct Refuge {
    home: in_process::Seat,
    builder: SessionBuilder,
    opening: Opening,
    transcript: Arc<Transcript>,
    /// The seat in a worker, made when it is needed; none where there can be none.
    worker: OnceLock<Option<Box<dyn Placed>>>,
}

impl Refuge {
    pub(super) fn new(
        home: in_process::Seat,
        builder: SessionBuilder,
        opening: Opening,
        transcript: Arc<Transcript>,
    ) -> Self {
        Self {
            home,
            builder,
            opening,
            transcript,
            worker: OnceLock::new(),
        }
    }

    /// Where the session is now.
    fn seat(&self) -> &dyn Placed {
        if !self.home.is_stuck() {
            return &self.home;
        }
        let worker = self.worker.get_or_init(|| self.seek().ok());
        match worker {
            Some(worker) => worker.as_ref(),
            None => &self.home,
        }
    }

    fn seek(&self) -> Result<Box<dyn Placed>, RuntimeError> {
        let lost = Some(NOTICE.to_owned());
        worker::place(&self.builder, &self.opening, self.transcript.clone(), lost)
    }
}

impl Placed for Refuge {
    fn run(&self, ticket: Arc<Ticket>) {
        self.seat().run(ticket);
    }

    fn stop(&self, ticket: &Arc<Ticket>) {
        self.home.stop(ticket);
        if let Some(Some(worker)) = self.worker.get() {
            worker.stop(ticket);
        }
    }

    fn reset(&self, reply: Reply<()>) {
        self.seat().reset(reply);
    }

    fn inspect(&self, reply: Reply<Vec<Variable>>) {
        self.seat().inspect(reply);
    }

    fn members(&self, path: Vec<String>, reply: Reply<Vec<String>>) {
        self.seat().members(path, reply);
    }

    fn bind(&self, name: String, value: Json, reply: Reply<()>) {
        self.seat().bind(name, value, reply);
    }

    fn undo(&self, reply: Reply<u64>) {
        self.seat().undo(reply);
    }

    fn close(&self, reply: Option<Reply<()>>) {
        match self.worker.get() {
            Some(Some(worker)) => {
                self.home.close(None);
                worker.close(reply);
            }
            _ => self.home.close(reply),
        }
    }
}
