//! The sources of a session's cells, and stacks told in their positions.

use std::collections::{HashMap, VecDeque};

use super::realm::{Class, Kind, Realm, Text};
use super::rewrite::{Position, Positions};
use super::values::class_names;

/// How much memory the sources of earlier cells may take; the oldest are forgotten, and their frames lose their lines.
const MAX_BYTES: usize = 32 << 20;
/// How many frames of a stack are told.
const MAX_FRAMES: usize = 30;
/// How many classes of an error are looked at, from its own on.
const MOST_CLASSES: usize = 8;

/// What boa says of a property of undefined or null.
const NO_OBJECT: &str = "cannot convert 'null' or 'undefined' to object";

/// The sources of the cells so far, and of the modules that were loaded.
#[derive(Debug, Default)]
pub(super) struct Sources {
    cells: HashMap<String, Positions>,
    order: VecDeque<String>,
    bytes: usize,
}

/// A frame of the user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The function, if it has a name.
    pub(super) function: Option<String>,
    pub(super) file: String,
    pub(super) position: Option<Position>,
    /// Its position in what the engine ran.
    generated: Option<Position>,
}

impl Sources {
    /// The name by which engines and stacks know a cell.
    pub(super) fn file_of(number: u64) -> String {
        format!("<cell {number}>")
    }

    pub(super) fn insert(&mut self, file: String, positions: Positions) {
        self.bytes += positions.bytes();
        match self.cells.insert(file.clone(), positions) {
            // A module that did not load is read anew by the next `import`.
            Some(before) => self.bytes -= before.bytes(),
            None => self.order.push_back(file),
        }
        while self.bytes > MAX_BYTES && self.order.len() > 1 {
            if let Some(oldest) = self.order.pop_front()
                && let Some(positions) = self.cells.remove(&oldest)
            {
                self.bytes -= positions.bytes();
            }
        }
    }

    /// The frames of an engine's stack that are the user's, innermost first.
    pub(super) fn frames(&self, stack: &str) -> Vec<Frame> {
        stack
            .lines()
            .filter_map(|line| self.frame(line))
            .take(MAX_FRAMES)
            .collect()
    }

    /// The frames of an error. boa knows no place for a name: where nothing defines it, boa tells that of the call, of the
    /// property or of the statement around it, or none. Nor does it know one for a method. The source knows better. Where an error's own constructors lead to it,
    /// it comes from where they were called.
    pub(super) fn frames_of<R: Realm>(&self, realm: &mut R, error: &R::Value) -> Vec<Frame> {
        let stack = realm.stack(error).unwrap_or_default();
        let mut frames = self.frames(&stack);
        let classes = class_names(realm, error, MOST_CLASSES);
        let is_constructor = |frame: &Frame| {
            frame
                .function
                .as_ref()
                .is_some_and(|function| classes.contains(function))
        };
        let constructors = frames
            .iter()
            .take_while(|frame| is_constructor(frame))
            .count();
        if constructors < frames.len() {
            frames.drain(..constructors);
        }
        if let Some(frame) = frames.first_mut()
            && let Some(positions) = self.cells.get(&frame.file)
            && let Some(message) = inherited_text(realm, error, "message")
            && let Some(class) = inherited_text(realm, error, "name")
        {
            if let Some(name) = message.strip_suffix(" is not defined")
                && class == "ReferenceError"
                && let Some(place) = positions.place_of(name, frame.position)
            {
                frame.position = Some(place);
            } else if message == NO_OBJECT
                && class == "TypeError"
                && let Some(generated) = frame.generated
            {
                frame.position = positions.place_of_reading(generated);
            }
        }
        frames
    }

    /// Reads `at f (<cell 3>:1:2)` or `at <cell 3>:1:2`.
    fn frame(&self, line: &str) -> Option<Frame> {
        let line = line.trim().strip_prefix("at ")?;
        let (function, place) = match line
            .strip_suffix(')')
            .and_then(|line| line.rsplit_once('('))
        {
            Some((function, place)) => (function.trim(), place),
            None => ("", line),
        };
        let (file, position) = split_place(place)?;
        if !file.starts_with("<cell ") && !file.starts_with("./") {
            return None;
        }
        let is_named =
            !function.is_empty() && !function.starts_with('<') && !function.contains('$');
        let generated = position;
        let position = generated.map(|position| match self.cells.get(file) {
            Some(positions) => positions.locate(position),
            None => position,
        });
        Some(Frame {
            function: is_named.then(|| function.to_owned()),
            file: file.to_owned(),
            position,
            generated,
        })
    }

    /// The line of source that a frame stands on, without its indentation.
    pub(super) fn line_of(&self, frame: &Frame) -> Option<&str> {
        const LONGEST: usize = 200;
        let line = self
            .cells
            .get(&frame.file)?
            .line(frame.position?.line)?
            .trim();
        Some(&line[..line.floor_char_boundary(LONGEST)])
    }

    /// An error as its stack: class, message and frames.
    pub(super) fn error_text<R: Realm>(
        &self,
        realm: &mut R,
        error: &R::Value,
        constructor: Option<&str>,
    ) -> String {
        let mut text = error_header(realm, error, constructor);
        for frame in self.frames_of(realm, error) {
            text.push_str("\n    at ");
            text.push_str(&frame.to_string());
        }
        text
    }
}

impl Frame {
    /// A place of a cell's top level.
    pub(super) fn of(file: &str, position: Position) -> Self {
        Self {
            function: None,
            file: file.to_owned(),
            position: Some(position),
            generated: None,
        }
    }
}

impl std::fmt::Display for Frame {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match self.position {
            Some(Position { line, column }) => format!("{}:{line}:{column}", self.file),
            None => self.file.clone(),
        };
        match &self.function {
            Some(function) => write!(formatter, "{function} ({place})"),
            None => formatter.write_str(&place),
        }
    }
}

/// File and position of `<cell 3>:1:2`; boa writes `?` for what it does not know. QuickJS has frames on a line 0, of functions
/// that nobody wrote.
fn split_place(place: &str) -> Option<(&str, Option<Position>)> {
    let mut parts = place.rsplitn(3, ':');
    if let (Some(column), Some(line), Some(file)) = (parts.next(), parts.next(), parts.next()) {
        match (line.parse(), column.parse()) {
            (Ok(line), Ok(column)) if line > 0 => {
                return Some((
                    file,
                    Some(Position {
                        line,
                        column: u32::max(column, 1),
                    }),
                ));
            }
            (Ok(_), Ok(_)) => return None,
            _ if (line, column) == ("?", "?") => return Some((file, None)),
            _ => {}
        }
    }
    Some(match place.rsplit_once(':') {
        Some((file, line)) => match line.parse() {
            Ok(line) => (file, Some(Position { line, column: 1 })),
            Err(_) => (place, None),
        },
        None => (place, None),
    })
}

/// `TypeError: message`, as the error says of itself in plain properties.
pub(super) fn error_header<R: Realm>(
    realm: &mut R,
    error: &R::Value,
    constructor: Option<&str>,
) -> String {
    let name = error_name(realm, error, constructor);
    match inherited_text(realm, error, "message") {
        Some(message) if !message.is_empty() => format!("{name}: {message}"),
        _ => name,
    }
}

/// The class of an error: its `name`, unless that is the one it inherits from `Error` and its class has another.
pub(super) fn error_name<R: Realm>(
    realm: &mut R,
    error: &R::Value,
    constructor: Option<&str>,
) -> String {
    match inherited_text(realm, error, "name").filter(|name| !name.is_empty()) {
        Some(name) if name != "Error" => name,
        name => constructor
            .map(str::to_owned)
            .or(name)
            .unwrap_or_else(|| "Error".to_owned()),
    }
}

/// A plain string property of an object or its prototypes.
pub(super) fn inherited_text<R: Realm>(
    realm: &mut R,
    object: &R::Value,
    name: &str,
) -> Option<String> {
    let key = realm.key(name);
    let mut current = Some(object.clone());
    for _ in 0..20 {
        let object = current?;
        if realm.kind(&object) == Kind::Object(Class::Proxy) {
            return None;
        }
        if let Some(property) = realm.property(&object, &key) {
            let value = property.into_value()?;
            return match realm.kind(&value) {
                Kind::String(Text::Utf8(text)) => Some(text),
                Kind::String(text) => Some(text.into_lossy()),
                _ => None,
            };
        }
        current = realm.prototype(&object);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_engines_are_read_and_those_of_ours_left_out() {
        let stack = "    at inner (<cell 1>:2:9)\n    at forEach (native)\n    at <anonymous> (<cell 2>:1:4)\n    at <eval> (<cell 2>:3:1)\n    at log (warmcell:prelude:4:2)\n    at f (<cell 9>:?:?)\n    at <cell 9>:0:1\n    at <cell 4>:7:8";
        let frames: Vec<String> = Sources::default()
            .frames(stack)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            frames,
            [
                "inner (<cell 1>:2:9)",
                "<cell 2>:1:4",
                "<cell 2>:3:1",
                "f (<cell 9>)",
                "<cell 4>:7:8"
            ]
        );
    }
}
