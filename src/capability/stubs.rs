//! Typed stubs of what a session offers, for the prompt: Python and TypeScript declarations with one-line docs. Sorted and
//! stable, so that a prompt's cache holds.

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
            let parameters: Vec<String> = action
                .signature
                .parameters()
                .map(|(name, is_required, sorts, _)| {
                    let sort = python_sort(&sorts);
                    match is_required {
                        true => format!("{name}: {sort}"),
                        false => format!("{name}: {sort} = ..."),
                    }
                })
                .chain(action.signature.is_open().then(|| "**more".to_owned()))
                .collect();
            let parameters = parameters.join(", ");
            if is_identifier(&action.name) {
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
                .map(|(name, is_required, sorts, _)| {
                    let mark = if is_required { "" } else { "?" };
                    format!("{name}{mark}: {}", typescript_sort(&sorts))
                })
                .collect();
            let name = match is_identifier(&action.name) {
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
    text.push_str("\n// Every call returns a promise. Optional arguments may also be given by name, in an object at the end.\n");
    text
}

/// What an action does, and what its parameters are.
fn docs(action: &OfferedAction) -> String {
    let parameters: Vec<String> = action
        .signature
        .parameters()
        .filter(|(.., description)| !description.is_empty())
        .map(|(name, _, _, description)| format!("{name}: {description}"))
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

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
}

fn python_sort(sorts: &[&str]) -> String {
    joined(sorts, |sort| match sort {
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

fn typescript_sort(sorts: &[&str]) -> String {
    joined(sorts, |sort| match sort {
        "integer" | "number" => "number",
        "array" => "unknown[]",
        "object" => "Record<string, unknown>",
        "string" => "string",
        "boolean" => "boolean",
        _ => "null",
    })
    .unwrap_or_else(|| "unknown".to_owned())
}

fn joined(sorts: &[&str], word: impl Fn(&str) -> &'static str) -> Option<String> {
    let words: Vec<&str> = sorts.iter().map(|sort| word(sort)).collect();
    (!words.is_empty()).then(|| words.join(" | "))
}
