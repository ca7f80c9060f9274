//! A session as a tool of a model: what the model is told ([`specification`]), how its call is read ([`Call`]), how cells
//! run ([`run`]) and what it reads of their outcomes ([`render`]).
//!
//! Nothing here knows a transport or a vendor: a host puts the specification into the shape its model takes, and hands back
//! the text. All of it is deterministic, so that prompts stay cacheable and transcripts comparable.

mod arguments;
mod call;
mod html;
mod images;
mod render;
mod specification;
mod text;

use crate::cell::Cell;
use crate::outcome::Outcome;
use crate::runtime::RuntimeError;
use crate::session::Session;

pub use arguments::{Arguments, InvalidArguments};
pub use call::{Call, DEFAULT_SESSION};
pub use images::{Image, images};
pub use render::{Rendering, render};
pub use specification::{Specification, specification};

/// Runs cells in order until one fails; those after it never run. The outcomes are those of the cells that ran, so that
/// [`Rendering::given`] can say which did not.
///
/// # Errors
///
/// [`RuntimeError`] when the session takes no cell: it is closed, or a cell's own timeout is out of range. Once a cell has
/// run, its outcome is handed over all the same, and nothing after it runs.
///
/// # Cancel safety
///
/// Dropping the future stops the cell that runs; none after it starts.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session, tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), warmcell::RuntimeError> {
/// let session = Session::builder(Language::Python).open().await?;
/// let cells = ["rows = [3, 1, 2]", "1/0", "rows.clear()"];
/// let outcomes = tool::run(&session, cells).await?;
/// let rendering = tool::Rendering::new(Language::Python).given(cells.len());
/// let text = tool::render(&outcomes, &rendering);
/// assert!(text.starts_with("2 of 3 cells ran: the last of them failed, and the 1 after it was not run\n"), "{text}");
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
pub async fn run<C: Into<Cell>>(
    session: &Session,
    cells: impl IntoIterator<Item = C>,
) -> Result<Vec<Outcome>, RuntimeError> {
    let mut outcomes = Vec::new();
    for cell in cells {
        let outcome = match session.run(cell.into()) {
            Ok(execution) => execution.await,
            Err(problem) if outcomes.is_empty() => return Err(problem),
            Err(_) => break,
        };
        let is_last = !outcome.ok;
        outcomes.push(outcome);
        if is_last {
            break;
        }
    }
    Ok(outcomes)
}
