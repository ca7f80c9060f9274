//! The tools as clients list them: names, descriptions, flat schemas, annotations.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use warmcell::tool::{DEFAULT_SESSION, Specification};

use super::Settings;
use super::desk::{WAIT, WAIT_SECONDS};

/// Every tool, in the order in which a model should think of them.
pub(super) fn list(settings: &Settings) -> Vec<Tool> {
    let names: Vec<&str> = settings
        .languages
        .iter()
        .map(|language| language.as_str())
        .collect();
    vec![
        run_code(settings),
        tool(
            "wait_cell",
            "Waits for the cell that a session still runs, or stops it, and tells what came of it. The cell is never run again.",
            json!({
                "session": session("The session whose cell is waited for."),
                "wait_seconds": wait_seconds(),
                "stop": {
                    "type": "boolean",
                    "description": "Stop the cell; the session keeps its variables. Default: false.",
                },
            }),
            &[],
            ToolAnnotations::with_title("Wait for a cell")
                .read_only(false)
                .destructive(false)
                .idempotent(false)
                .open_world(false),
        ),
        tool(
            "reset_session",
            "Stops what a session runs and forgets everything it holds: variables, imports, functions. Files stay. Use it when a session is beyond repair, not between tasks.",
            json!({
                "session": session("The session to reset."),
                "language": {
                    "type": "string",
                    "enum": names,
                    "description": "Which of the sessions of that name. Default: all of them.",
                },
            }),
            &[],
            ToolAnnotations::with_title("Reset a session")
                .read_only(false)
                .destructive(true)
                .idempotent(true)
                .open_world(false),
        ),
        tool(
            "read_output",
            "Reads a part of a file that a result names: of output that was cut, or of a large value.",
            json!({
                "path": { "type": "string", "description": "The file, as the result names it." },
                "offset": { "type": "integer", "minimum": 0, "description": "How many lines to pass over. Default: 0." },
                "lines": { "type": "integer", "minimum": 1, "description": "How many lines to read. Default: 200." },
            }),
            &["path"],
            ToolAnnotations::with_title("Read output")
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        ),
    ]
}

fn run_code(settings: &Settings) -> Tool {
    let specification = Specification::of(&settings.languages);
    let mut properties = specification.parameters["properties"].clone();
    properties["wait_seconds"] = wait_seconds();
    let stubs = match &*settings.stubs {
        "" => String::new(),
        stubs => format!("\n\nCells can call these functions of the host:\n\n{stubs}"),
    };
    let rules: String = settings
        .rules
        .iter()
        .map(|rule| format!("\n- {rule}"))
        .collect();
    let description = format!(
        "{}{rules}\n- A cell that runs for longer than `wait_seconds` goes on: the answer then shows its output so far. Use `wait_cell` to wait for it or to stop it; never send it again.{stubs}",
        specification.description
    );
    tool(
        specification.name,
        &description,
        properties,
        &["code"],
        ToolAnnotations::with_title("Run code")
            .read_only(false)
            .destructive(true)
            .idempotent(false)
            .open_world(settings.network),
    )
}

fn tool(
    name: &'static str,
    description: &str,
    properties: Value,
    required: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Tool::new(name, description.to_owned(), Arc::new(schema)).with_annotations(annotations)
}

fn session(what: &str) -> Value {
    json!({ "type": "string", "description": format!("{what} Default: {DEFAULT_SESSION}.") })
}

fn wait_seconds() -> Value {
    json!({
        "type": "number",
        "minimum": WAIT_SECONDS.start(),
        "maximum": WAIT_SECONDS.end(),
        "description": format!("How long to wait for the cell's end before answering that it still runs. Default: {}.", WAIT.as_secs()),
    })
}
