//! Typed stubs of what a session offers, for the prompt: Python and TypeScript declarations with one-line docs. Sorted and
//! stable, so that a prompt's cache holds.

use super::names::is_word;
use super::signature::Described;
use super::{Offered, OfferedAction};
use crate::runtime::Language;

/// The declarations of everything that is offered, in a language; empty where nothing is.
pub(crate) fn stubs(language: Language, offered: &[Offered]) -> String {
    if offered.is_empty() {
        return String::new();
    }
    match language {
        Language::Python => python(offered),
        Language::JavaScript | Language::TypeScript => typescript(offered),
    }
}

fn python(offered: &[Offered]) -> String {
    let mut text = String::from(
        "class CapabilityError(Exception):\n    capability: str; action: str; kind: str; retryable: bool; data: object\n",
    );
    for capability in offered {
        text.push_str(&format!("\nclass {}:", capability.name));
        push_comment(&mut text, "  # ", &capability.description);
        text.push('\n');
        for action in &capability.actions {
            let parameters = python_parameters(action);
            if is_word(&action.name) {
                text.push_str(&format!("    def {}({parameters}): ...", action.name));
            } else {
                text.push_str(&format!(
                    "    # {}[{:?}]({parameters})",
                    capability.name, action.name
                ));
            }
            push_comment(&mut text, "  # ", &docs(action));
            text.push('\n');
        }
    }
    text.push_str("\n# Each call blocks until it is done; `await name.action.aio(...)` runs several at once with asyncio.gather.\n");
    text
}

/// Parameters whose names Python cannot write are given by their place.
fn python_parameters(action: &OfferedAction) -> String {
    let mut parameters = Vec::new();
    let mut by_place = 0;
    for parameter in action.signature.parameters() {
        let (name, sort) = (written(parameter.name), python_sort(&parameter));
        parameters.push(match parameter.is_required {
            true => format!("{name}: {sort}"),
            false => format!("{name}: {sort} = ..."),
        });
        if !is_word(parameter.name) {
            by_place = parameters.len();
        }
    }
    if by_place > 0 {
        parameters.insert(by_place, "/".to_owned());
    }
    if action.signature.is_open() {
        parameters.push("**more".to_owned());
    }
    parameters.join(", ")
}

fn typescript(offered: &[Offered]) -> String {
    let mut text = String::from(
        "declare class CapabilityError extends Error { capability: string; action: string; kind: string; retryable: boolean; data: unknown }\n",
    );
    for capability in offered {
        text.push_str(&format!("\ndeclare const {}: {{", capability.name));
        push_comment(&mut text, "  // ", &capability.description);
        text.push('\n');
        for action in &capability.actions {
            let parameters: Vec<String> = action
                .signature
                .parameters()
                .map(|parameter| {
                    let mark = if parameter.is_required { "" } else { "?" };
                    let name = written(parameter.name);
                    format!("{name}{mark}: {}", typescript_sort(&parameter))
                })
                .collect();
            let name = match is_word(&action.name) {
                true => action.name.clone(),
                false => format!("{:?}", action.name),
            };
            let parameters = parameters.join(", ");
            text.push_str(&format!("  {name}({parameters}): Promise<any>;"));
            push_comment(&mut text, "  // ", &docs(action));
            text.push('\n');
        }
        text.push_str("};\n");
    }
    text.push_str("\n// Every call returns a promise. Arguments may also be given by name, in an object at the end that holds nothing else.\n");
    text
}

/// What an action does, and what its parameters are.
fn docs(action: &OfferedAction) -> String {
    let parameters: Vec<String> = action
        .signature
        .parameters()
        .filter(|parameter| !parameter.description.is_empty())
        .map(|parameter| format!("{}: {}", parameter.name, parameter.description))
        .collect();
    match (action.description.is_empty(), parameters.is_empty()) {
        (_, true) => action.description.clone(),
        (true, false) => parameters.join("; "),
        (false, false) => format!("{} ({})", action.description, parameters.join("; ")),
    }
}

fn push_comment(text: &mut String, mark: &str, comment: &str) {
    if !comment.is_empty() {
        text.push_str(mark);
        // One line, whatever a description holds.
        text.push_str(&comment.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

/// A parameter's name, or the nearest one that can be written.
fn written(name: &str) -> String {
    if is_word(name) {
        return name.to_owned();
    }
    let letter = |other: char| {
        if other.is_ascii_alphanumeric() {
            other
        } else {
            '_'
        }
    };
    format!("{}_", name.chars().map(letter).collect::<String>())
}

fn python_sort(parameter: &Described<'_>) -> String {
    if !parameter.choices.is_empty() {
        return format!("Literal[{}]", quoted(parameter.choices, ", "));
    }
    joined(&parameter.sorts, |sort| match sort {
        "string" => "str",
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list",
        "null" => "None",
        _ => "dict",
    })
    .unwrap_or_else(|| "object".to_owned())
}

fn typescript_sort(parameter: &Described<'_>) -> String {
    if !parameter.choices.is_empty() {
        return quoted(parameter.choices, " | ");
    }
    joined(&parameter.sorts, |sort| match sort {
        "integer" | "number" => "number",
        "array" => "unknown[]",
        "object" => "Record<string, unknown>",
        "string" => "string",
        "boolean" => "boolean",
        _ => "null",
    })
    .unwrap_or_else(|| "unknown".to_owned())
}

fn quoted(choices: &[String], separator: &str) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("{choice:?}")).collect();
    quoted.join(separator)
}

fn joined(sorts: &[&str], word: impl Fn(&str) -> &'static str) -> Option<String> {
    let words: Vec<&str> = sorts.iter().map(|sort| word(sort)).collect();
    (!words.is_empty()).then(|| words.join(" | "))
}
