//! An agent's side of a conversation: four rounds over one session, each building on what the last one left there. The session
//! has a process of its own, so that nothing a model writes can hurt the agent.
//!
//! Run it with `cargo run --example agent`. In a real agent the cells come from a model, and what is printed here goes back
//! to it.

#![expect(clippy::print_stdout, reason = "it shows a conversation")]

use std::error::Error;
use std::time::Duration;

use warmcell::{Cell, Language, Limits, Outcome, Placement, Session};

/// What the user asks, and the cell that a model might answer with.
const ROUNDS: [(&str, &str); 4] = [
    (
        "Load examples/data.csv.",
        r#"
import csv

with open("examples/data.csv", newline="") as file:
    rows = [{**row, "score": int(row["score"])} for row in csv.DictReader(file)]
print(f"loaded {len(rows)} rows with the columns {', '.join(rows[0])}")
"#,
    ),
    (
        "What is the average score?",
        r#"
from statistics import mean

return {"average": mean(row["score"] for row in rows)}
"#,
    ),
    (
        "Who are the top three?",
        r#"
ranked = sorted(rows, key=lambda row: row["score"], reverse=True)
return [row["name"] for row in ranked[:3]]
"#,
    ),
    (
        "Show me Carol's row.",
        r#"
return next(row for row in rows if row["name"] == "Carol")
"#,
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    // This program is the worker of its own sessions, which therefore survive whatever a cell does.
    warmcell::worker::init();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(converse())
}

async fn converse() -> Result<(), Box<dyn Error>> {
    let session = Session::builder(Language::Python)
        .placement(Placement::Worker)
        .cwd(env!("CARGO_MANIFEST_DIR"))
        .limits(Limits::default().with_timeout(Duration::from_secs(10)))
        .open()
        .await?;
    for (question, code) in ROUNDS {
        println!("user: {question}");
        println!("cell: {}", code.trim().replace('\n', "\n      "));
        let outcome = session.run(Cell::from(code))?.await;
        println!("outcome: {}\n", serde_json::to_string(&outcome)?);
        if let Some(advice) = advice(&outcome) {
            println!("the model should know: {advice}\n");
        }
    }
    session.close().await;
    Ok(())
}

/// What a model needs besides the outcome itself, so that its next cell is a better one.
fn advice(outcome: &Outcome) -> Option<String> {
    let error = outcome.error.as_ref()?;
    let hint = error
        .hint
        .as_deref()
        .unwrap_or("mend the cell and send it again");
    Some(format!("the cell failed ({}): {hint}", error.kind.as_str()))
}
