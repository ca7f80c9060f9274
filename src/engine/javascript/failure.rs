//! What a cell threw, as a [`Failure`]: class, message and the user's frames with their source lines, read without running
//! the program's code.

use super::inspect::{Detail, inspect};
use super::modules;
use super::realm::{Class, Kind, Realm};
use super::rewrite::{Position, SyntaxFault};
use super::sources::{Frame, Sources, error_header, error_name, inherited_text};
use super::values::class_name;
use crate::outcome::{Failure, FailureKind};

/// How many causes of an error are told.
const MAX_CAUSES: usize = 5;
/// How many bytes of a message are told.
const MAX_MESSAGE: usize = 16 << 10;

/// A source that did not parse.
pub(super) fn syntax(fault: SyntaxFault, source: &str, file: &str) -> Failure {
    let mut failure = Failure::new(FailureKind::Syntax, fault.message).with_name("SyntaxError");
    failure.hint = fault.hint;
    if let Some(position) = fault.position {
        failure.line = Some(position.line);
        failure.column = Some(position.column);
        failure.traceback = Some(excerpt(source, file, position, &failure.message));
    }
    failure
}

/// The line that did not parse, with a caret under the place.
fn excerpt(source: &str, file: &str, position: Position, message: &str) -> String {
    const LONGEST: usize = 200;
    let line = source.lines().nth(position.line as usize - 1).unwrap_or("");
    let place = format!("{file}:{}:{}", position.line, position.column);
    if position.column as usize > LONGEST {
        return format!("SyntaxError: {message}\n    at {place}");
    }
    let line: String = line.chars().take(LONGEST).collect();
    let indent: String = line
        .chars()
        .take(position.column as usize - 1)
        .map(|character| if character == '\t' { '\t' } else { ' ' })
        .collect();
    format!("SyntaxError: {message}\n    at {place}\n        {line}\n        {indent}^")
}

/// What the cell of `file` threw.
pub(super) fn thrown<R: Realm>(
    realm: &mut R,
    sources: &Sources,
    thrown: &R::Value,
    file: &str,
) -> Failure {
    if realm.kind(thrown) != Kind::Object(Class::Error) {
        let text = cut(inspect(realm, sources, thrown, Detail::DISPLAY));
        return Failure::new(
            FailureKind::Exception,
            format!("the cell threw {text}, which is not an Error"),
        )
        .with_hint("throw an `Error`, which says where it comes from");
    }
    let constructor = class_name(realm, thrown);
    let frames = sources.frames_of(realm, thrown);
    let mut failure = Failure::new(
        FailureKind::Exception,
        cut(inherited_text(realm, thrown, "message").unwrap_or_default()),
    )
    .with_name(error_name(realm, thrown, constructor.as_deref()));
    let here = frames
        .iter()
        .find(|frame| frame.file == file && frame.position.is_some());
    failure.line = here
        .and_then(|frame| frame.position)
        .map(|position| position.line);
    failure.column = here
        .and_then(|frame| frame.position)
        .map(|position| position.column);
    failure.traceback = Some(traceback(realm, sources, thrown));
    failure
}

/// Says where the cell stood, by an engine's stack.
pub(super) fn place(failure: &mut Failure, sources: &Sources, stack: Option<&str>, file: &str) {
    let frames = sources.frames(stack.unwrap_or(""));
    let here = frames
        .iter()
        .find(|frame| frame.file == file && frame.position.is_some());
    failure.line = here
        .and_then(|frame| frame.position)
        .map(|position| position.line);
    failure.column = here
        .and_then(|frame| frame.position)
        .map(|position| position.column);
    if !frames.is_empty() {
        let mut text = String::new();
        frames
            .iter()
            .for_each(|frame| push_frame(sources, frame, &mut text));
        failure.traceback = Some(text.trim_start_matches('\n').to_owned());
    }
}

/// Says of what a module could not be had for where one of `imports`, the declarations of the cell, asks for it. Engines make
/// such an error where no code runs, without a stack.
pub(super) fn place_import(
    failure: &mut Failure,
    sources: &Sources,
    imports: &[(String, Position)],
    file: &str,
) {
    if failure.line.is_some() {
        return;
    }
    let message = &failure.message;
    if message.starts_with(modules::REFUSAL) && message.ends_with(modules::NO_FOLDER) {
        failure.hint = Some("open it with `cwd`".to_owned());
    }
    let is_meant = |specifier: &str| {
        let refused = message
            .strip_prefix(modules::REFUSAL)
            .is_some_and(|rest| rest.starts_with(&format!("{specifier}`")));
        // A module that does not parse is told with the place in it.
        refused || message.starts_with(&format!("{specifier}:"))
    };
    let Some((_, position)) = imports.iter().find(|(specifier, _)| is_meant(specifier)) else {
        return;
    };
    failure.line = Some(position.line);
    failure.column = Some(position.column);
    let traceback = failure.traceback.get_or_insert_default();
    push_frame(sources, &Frame::of(file, *position), traceback);
}

/// An error with its frames, their source lines, and its causes.
pub(super) fn traceback<R: Realm>(realm: &mut R, sources: &Sources, error: &R::Value) -> String {
    let mut text = String::new();
    let mut current = Some(error.clone());
    let mut told = Vec::new();
    for depth in 0..MAX_CAUSES {
        let Some(error) = current.take() else { break };
        if depth > 0 {
            text.push_str("\ncaused by: ");
        }
        if realm.kind(&error) != Kind::Object(Class::Error) {
            text.push_str(&cut(inspect(realm, sources, &error, Detail::DISPLAY)));
            break;
        }
        let identity = realm.identity(&error);
        if let Some(number) = told.iter().position(|known| *known == identity) {
            // As `inspect` has it: of errors that cause one another, the number is that of the error in this list.
            text.push_str(&format!("[Circular *{}]", number + 1));
            break;
        }
        told.push(identity);
        let constructor = class_name(realm, &error);
        text.push_str(&cut(error_header(realm, &error, constructor.as_deref())));
        for frame in sources.frames_of(realm, &error) {
            push_frame(sources, &frame, &mut text);
        }
        let cause = realm.key("cause");
        current = realm
            .property(&error, &cause)
            .and_then(|property| property.into_value());
    }
    text
}

fn push_frame(sources: &Sources, frame: &Frame, text: &mut String) {
    text.push_str("\n    at ");
    text.push_str(&frame.to_string());
    if let Some(line) = sources.line_of(frame) {
        text.push_str("\n        ");
        text.push_str(line);
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_MESSAGE {
        text.truncate(text.floor_char_boundary(MAX_MESSAGE));
        text.push('…');
    }
    text
}
