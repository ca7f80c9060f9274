//! [`specification`]: what a model is told of the tool, before its first call.
//!
//! The words are chosen with care: they are all that keeps a model from sending everything again after an error, or a cell
//! that never ends a second time. They must hold for every placement and engine.

use std::fmt::Write;

use serde_json::{Value, json};

use super::call::{DEFAULT_SESSION, TIMEOUT_SECONDS};
use crate::runtime::Language;

/// A tool as models are told of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Specification {
    /// `run_code`.
    pub name: &'static str,
    /// What it does and how to use it well, as text.
    pub description: String,
    /// The JSON Schema of its arguments: a flat object, of which only `code` is required.
    pub parameters: Value,
}

/// The tool in every language that was built in.
///
/// # Examples
///
/// ```
/// let specification = warmcell::tool::specification();
/// assert_eq!(specification.name, "run_code");
/// assert_eq!(specification.parameters["required"], serde_json::json!(["code"]));
/// ```
pub fn specification() -> Specification {
    let is_built = |language: &Language| match language {
        Language::Python => cfg!(feature = "python"),
        Language::JavaScript | Language::TypeScript => cfg!(feature = "_javascript"),
    };
    let languages: Vec<Language> = Language::ALL.iter().copied().filter(is_built).collect();
    Specification::of(&languages)
}

impl Specification {
    /// The tool in these languages; the first one is that of a call which names none.
    pub fn of(languages: &[Language]) -> Self {
        let names: Vec<&str> = languages.iter().map(|language| language.as_str()).collect();
        let default = names.first().copied().unwrap_or_default();
        let parameters = json!({
            "type": "object",
            "properties": {
                "code": {
                    "type": "string",
                    "description": "The cell: plain source text, as it would stand in a file.",
                },
                "language": {
                    "type": "string",
                    "enum": names,
                    "description": format!("What the code is written in. Default: {default}."),
                },
                "session": {
                    "type": "string",
                    "description": format!("The session to run in, by a name of your choice; it starts when it is first used. Default: {DEFAULT_SESSION}. Use a name of your own when several agents work side by side."),
                },
                "timeout_seconds": {
                    "type": "number",
                    "minimum": TIMEOUT_SECONDS.start(),
                    "maximum": TIMEOUT_SECONDS.end(),
                    "description": "How long the cell may run before it is stopped. Give it for work that takes long.",
                },
                "reset": {
                    "type": "boolean",
                    "description": "Forget everything the session holds before the cell runs. Default: false.",
                },
                "cwd": {
                    "type": "string",
                    "description": "The folder to work in from here on; variables stay. Default: where the session is.",
                },
            },
            "required": ["code"],
            "additionalProperties": false,
        });
        Self {
            name: "run_code",
            description: describe(languages),
            parameters,
        }
    }
}

fn describe(languages: &[Language]) -> String {
    let has_python = languages.contains(&Language::Python);
    let has_javascript = languages
        .iter()
        .any(|language| *language != Language::Python);
    let mut text = String::from(
        "Runs a cell of code in a session that stays alive between calls, and tells what came of it.\n\n",
    );
    let mut rule = |rule: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "- {rule}");
    };
    if has_python {
        rule(
            "python is CPython with the packages of the project's virtual environment; subprocesses and files are there.",
        );
    }
    if has_javascript {
        rule(
            "javascript and typescript run on an embedded engine: no Node modules, no packages, no `require`, `process`, `fetch` or files; `import` finds files of the session's folder. TypeScript's types are erased, not checked.",
        );
    }
    rule(
        "State persists: variables, imports, functions, classes and tasks of a session are there in its later cells. Use them; do not import, load or compute again what is there.",
    );
    rule(
        "A last expression is the cell's value: JSON as it is, anything else as its text. `return X` at the top level ends the cell and promises JSON. Use `print` (or `console.log`) for what else you want to read.",
    );
    rule("`await` works at the top level. There is no standard input: write data into the code.");
    if has_python {
        rule("Do not call `asyncio.run` in a cell that also awaits: there is one loop already.");
    }
    rule(
        "Prefer small cells, one step each. After an error, correct and send only the cell that failed: what ran before it, and what it had bound itself, is kept.",
    );
    rule(
        "After a timeout, too, variables are kept; if not, the first lines of the result say so: `restored` is the session as it was before the cell, `lost` an empty one. No cell is ever run again by itself, and files and network effects stay. Do not send a cell that timed out unchanged: do less in it, or give a longer `timeout_seconds`.",
    );
    rule(
        "Long output is cut in its middle, and the result says by how much: filter or summarise in the session, or write to a file.",
    );
    rule(
        "Sessions are found by name and language: the same name in two languages is two sessions without common variables. When several agents work side by side, use a session name of your own, or you will change each other's variables.",
    );
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_is_not_offered_is_not_spoken_of() {
        let python = Specification::of(&[Language::Python]);
        assert!(!python.description.contains("javascript"));
        assert_eq!(
            python.parameters["properties"]["language"]["enum"],
            json!(["python"])
        );
        let javascript = Specification::of(&[Language::JavaScript]);
        assert!(!javascript.description.contains("CPython"));
        assert!(!javascript.description.contains("asyncio"));
    }

    #[test]
    fn the_schema_is_flat() {
        let parameters = specification().parameters;
        let properties = parameters["properties"].as_object().expect("an object");
        for (name, property) in properties {
            let members = property.as_object().expect("an object");
            let kind = members["type"].as_str().expect("one type");
            assert!(
                ["string", "number", "boolean"].contains(&kind),
                "{name}: {kind}"
            );
            for nested in ["oneOf", "anyOf", "allOf", "$ref", "properties", "items"] {
                assert!(!members.contains_key(nested), "{name}: {nested}");
            }
        }
    }
}
