//! Where a session's engine runs. A placement knows no language: it gets a [`Launch`](crate::engine::Launch) and drives
//! what comes out of it through the seam in [`crate::engine`].

mod grace;
mod in_process;
mod refuge;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub(crate) use self::grace::Grace;
use self::refuge::Refuge;
use crate::engine::{self, Opening, Variable};
use crate::outcome::Json;
use crate::output::Transcript;
use crate::runtime::{Backup, RuntimeError, SessionBuilder};
use crate::session::Ticket;

/// Where a session's engine runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// On a thread of this process: the fastest, for code you trust. A crash of the engine is a crash of the host.
    #[default]
    InProcess,
    /// In a process of the session's own: whatever a cell does, the host lives, and so does the session: when its process
    /// dies, a sleeping copy from before the cell takes its place.
    Worker,
}

/// How long what is no cell may take: making a session fresh, binding names, ending what a session held. Tasks and
/// finalisers of the program are stopped then.
pub(crate) const HOUSEKEEPING: Duration = Duration::from_secs(2);

/// An answer that comes later.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, RuntimeError>>;

/// A session's engine in its place. Every call returns at once; the answers come in the order of the calls.
pub(crate) trait Placed: Send + Sync {
    /// Runs the cell of `ticket` when its turn comes, and settles it.
    fn run(&self, ticket: Arc<Ticket>);

    /// The cell of `ticket` was running when a stop was asked for: see to it that it ends.
    fn stop(&self, ticket: &Arc<Ticket>);

    /// Makes the session a fresh one.
    fn reset(&self, reply: Reply<()>);

    /// Lists what the program bound.
    fn inspect(&self, reply: Reply<Vec<Variable>>);

    /// Lists the names of what a path of names leads to.
    fn members(&self, path: Vec<String>, reply: Reply<Vec<String>>);

    /// Puts a host's value into the session.
    fn bind(&self, name: String, value: Json, reply: Reply<()>);

    /// Takes the session back to before its last cell, and says which that was.
    fn undo(&self, reply: Reply<u64>);

    /// Ends the session after what was asked before.
    fn close(&self, reply: Option<Reply<()>>);
}

/// Puts a new session where its builder wants it.
pub(crate) async fn place(
    builder: &SessionBuilder,
    opening: Opening,
    transcript: Arc<Transcript>,
) -> Result<Box<dyn Placed>, RuntimeError> {
    match builder.placement {
        Placement::InProcess => {
            refuse_what_needs_a_process(builder)?;
            let again = builder.clone();
            let relaunch = Box::new(move || engine::launch(&again));
            let launch = engine::launch(builder)?;
            let engine = launch.engine;
            match in_process::place(launch, relaunch, opening.clone()).await {
                Ok(home) => {
                    let refuge = Refuge::new(home, builder.clone(), opening, transcript);
                    Ok(Box::new(refuge))
                }
                Err(problem) if in_process::is_stuck(engine) => {
                    // It has held nothing that could be lost.
                    worker::place(builder, &opening, transcript, None).map_err(|_| problem)
                }
                Err(problem) => Err(problem),
            }
        }
        Placement::Worker => worker::place(builder, &opening, transcript, None),
    }
}

fn refuse_what_needs_a_process(builder: &SessionBuilder) -> Result<(), RuntimeError> {
    let refused = |text: String| Err(RuntimeError::InvalidOption(text));
    if let Some(limit) = builder.limits.of_a_process().next() {
        return refused(format!(
            "`{limit}` needs a process of its own: an engine in this process shares what the host has\nhint: leave `{limit}` out, or open the session in a worker (`placement`)"
        ));
    }
    if builder.sandbox != worker::Sandbox::Off || !builder.network {
        let what = match builder.network {
            true => "`sandbox`",
            false => "`network`",
        };
        return refused(format!(
            "{what} needs a process of its own\nhint: open the session in a worker (`placement`)"
        ));
    }
    if builder.backup == Backup::Undo {
        return refused(
            "`backup` is `undo`, which needs a process of its own\nhint: open the session in a worker (`placement`)"
                .to_owned(),
        );
    }
    Ok(())
}
