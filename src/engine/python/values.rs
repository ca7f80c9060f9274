//! Values crossing the border: a live Python object becomes JSON text (here), a host's JSON becomes Python
//! objects (`incoming`).
//!
//! What lives here is the walk over containers. It runs none of the program's code: containers are read through
//! their C layout, never through `__iter__`, `items` or `__len__`, so an override changes nothing and raises nothing.
//! It keeps its own stack, so nesting costs no thread stack; it counts bytes while it writes, so a value over its
//! budget costs no more than its budget; and it lets signal handlers run every [`STEPS_BETWEEN_SIGNALS`] steps, so a
//! deadline reaches it. Such a handler, or a finalizer that a garbage collection runs, is all that can change a
//! container meanwhile: every open container is therefore an owned reference, its size is read again at each step, and
//! a borrowed item never outlives a step.
//! All of this leans on the interpreter lock; a free-threaded CPython would need locks of its own here.

mod class;
mod description;
mod incoming;
mod numpy;
mod ordered;
mod path;
mod refusal;
#[cfg(test)]
mod tests;
mod text;
mod writer;

use std::collections::HashSet;
use std::ops::Range;
use std::ptr;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{Borrowed, ffi};

use super::cpython;
use crate::engine::Integers;

pub(super) use incoming::{from_json, from_json_within};
pub(super) use refusal::Refusal;

use path::Segment;
use refusal::Fault;
use writer::{Shape, Writer};

/// How many containers may stand within each other; most JSON readers stop near this, Python's own included.
const MAXIMUM_DEPTH: usize = 1_000;

/// How many items are written between two looks at pending signals: about a millisecond's worth.
const STEPS_BETWEEN_SIGNALS: usize = 65_536;

/// Writes `object` as JSON text of at most `budget` bytes.
///
/// # Errors
///
/// A [`Refusal`] when the object is not lossless JSON, is over the budget, or a signal handler raised.
pub(super) fn to_json(
    object: &Bound<'_, PyAny>,
    budget: usize,
    integers: Integers,
) -> Result<String, Refusal> {
    let mut text = String::new();
    to_json_into(object, &mut text, budget, integers)?;
    Ok(text)
}

/// Appends what [`to_json`] would return to `text`, which keeps its content when the object is refused.
///
/// # Errors
///
/// As [`to_json`].
pub(super) fn to_json_into(
    object: &Bound<'_, PyAny>,
    text: &mut String,
    budget: usize,
    integers: Integers,
) -> Result<(), Refusal> {
    let start = text.len();
    let mut walk = Walk {
        writer: Writer::new(text, budget, integers),
        open: Vec::new(),
    };
    let walked = walk
        .run(object)
        .map_err(|fault| walk.refusal(fault, budget));
    if walked.is_err() {
        text.truncate(start);
    }
    walked
}

/// One conversion under way.
struct Walk<'t, 'py> {
    writer: Writer<'t>,
    /// The containers around the next item, outermost first.
    open: Vec<Container<'py>>,
}

impl<'py> Walk<'_, 'py> {
    fn run(&mut self, object: &Bound<'py, PyAny>) -> Result<(), Fault> {
        if let Some(shape) = self.writer.write(object.as_borrowed())? {
            self.enter(object.clone(), shape)?;
        }
        let mut steps = 0_usize;
        while let Some(container) = self.open.last_mut() {
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN_SIGNALS) {
                object.py().check_signals().map_err(Fault::Interrupted)?;
            }
            let Some(item) = container.next(&mut self.writer)? else {
                container.close(&mut self.writer);
                self.open.pop();
                continue;
            };
            if let Some(shape) = self.writer.write(item)? {
                let item = item.to_owned();
                self.enter(item, shape)?;
            }
        }
        self.writer.check_budget()
    }

    /// Makes a container the innermost open one.
    fn enter(&mut self, object: Bound<'py, PyAny>, shape: Shape) -> Result<(), Fault> {
        self.refuse_a_cycle(&object)?;
        if self.open.len() == MAXIMUM_DEPTH {
            return Err(Fault::Nested);
        }
        let container = Container::open(object, shape, &mut self.writer)?;
        self.open.extend(container);
        Ok(())
    }

    /// Looks for `object` among the containers that it stands in.
    ///
    /// A scan needs no hash set to keep up to date: at the usual depth of a few levels it costs a few compares, and
    /// [`MAXIMUM_DEPTH`] bounds it.
    fn refuse_a_cycle(&self, object: &Bound<'py, PyAny>) -> Result<(), Fault> {
        match self.open.iter().position(|around| around.object.is(object)) {
            None => Ok(()),
            Some(level) => Err(Fault::Cycle { level }),
        }
    }

    /// Says where the fault is: the open containers are the path to it.
    fn refusal(&self, fault: Fault, budget: usize) -> Refusal {
        let path = |levels: usize| {
            let segments = self.open.iter().take(levels);
            path::render(segments.map(|container| container.segment(self.writer.text())))
        };
        let depth = self.open.len();
        match fault {
            Fault::Value { problem, hint } => Refusal::NotJson {
                path: path(depth),
                problem,
                hint,
            },
            Fault::Key { problem, hint } => Refusal::NotJson {
                path: path(depth.saturating_sub(1)),
                problem,
                hint,
            },
            Fault::Cycle { level } => Refusal::cycle(path(depth), &path(level)),
            Fault::Nested => Refusal::nested(path(depth), MAXIMUM_DEPTH),
            Fault::TooLarge => Refusal::TooLarge { limit: budget },
            Fault::Interrupted(raised) => Refusal::Interrupted(raised),
        }
    }
}

/// A container that is being written.
struct Container<'py> {
    /// The program's object, owned: a signal handler may drop every other reference to it.
    object: Bound<'py, PyAny>,
    place: Place<'py>,
}

/// How far a container is written.
enum Place<'py> {
    List {
        next: isize,
    },
    Tuple {
        next: isize,
    },
    Dict {
        /// The object itself, or its entries in the order that an `OrderedDict` keeps.
        entries: Bound<'py, PyDict>,
        position: isize,
        /// Where in the text the key of the current entry stands, quotes included.
        key: Option<Range<usize>>,
        /// Whether keys were compared by their text, as keys with a hash of their own need.
        compared: bool,
    },
}

impl<'py> Container<'py> {
    /// Writes the opening bracket; an empty container is written whole and needs no place.
    fn open(
        object: Bound<'py, PyAny>,
        shape: Shape,
        writer: &mut Writer<'_>,
    ) -> Result<Option<Self>, Fault> {
        // SAFETY: `shape` says what `object` is an instance of; all three read its size from its memory.
        let length = unsafe {
            match shape {
                Shape::List => cpython::list_size(object.as_ptr()),
                Shape::Tuple => cpython::tuple_size(object.as_ptr()),
                Shape::Dict => ffi::PyDict_Size(object.as_ptr()),
            }
        };
        if length == 0 {
            writer.push_str(match shape {
                Shape::List | Shape::Tuple => "[]",
                Shape::Dict => "{}",
            });
            return Ok(None);
        }
        // The shortest JSON of so many items bounds what is worth walking: `0,` each, or `"":0,`.
        writer.foresee(
            length,
            match shape {
                Shape::List | Shape::Tuple => 2,
                Shape::Dict => 5,
            },
        )?;
        let place = match shape {
            Shape::List => Place::List { next: 0 },
            Shape::Tuple => Place::Tuple { next: 0 },
            Shape::Dict => Place::Dict {
                // SAFETY: `shape` says that `object` is a dict.
                entries: ordered::entries(unsafe { object.cast_unchecked() })?,
                position: 0,
                key: None,
                compared: false,
            },
        };
        writer.push(match shape {
            Shape::List | Shape::Tuple => '[',
            Shape::Dict => '{',
        });
        Ok(Some(Self { object, place }))
    }

    /// Moves to the next item, having written what stands before it: a comma, a key.
    ///
    /// The item is borrowed from the container: it is used up before a signal handler can run.
    fn next(&mut self, writer: &mut Writer<'_>) -> Result<Option<Borrowed<'_, 'py, PyAny>>, Fault> {
        let py = self.object.py();
        let container = self.object.as_ptr();
        let item = match &mut self.place {
            Place::List { next } => {
                // SAFETY: `open` made this place for a list, which stays one.
                if *next >= unsafe { cpython::list_size(container) } {
                    return Ok(None);
                }
                if *next > 0 {
                    writer.push(',');
                }
                *next += 1;
                // SAFETY: the index was below the list's size just now, and nothing ran since.
                unsafe { cpython::list_item(container, *next - 1) }
            }
            Place::Tuple { next } => {
                // SAFETY: `open` made this place for a tuple, which stays one.
                if *next >= unsafe { cpython::tuple_size(container) } {
                    return Ok(None);
                }
                if *next > 0 {
                    writer.push(',');
                }
                *next += 1;
                // SAFETY: the index was below the tuple's size just now, and nothing ran since.
                unsafe { cpython::tuple_item(container, *next - 1) }
            }
            Place::Dict {
                entries,
                position,
                key,
                compared,
            } => {
                let mut key_object = ptr::null_mut();
                let mut value = ptr::null_mut();
                // SAFETY: `entries` is a dict; both pointers are valid for writes. `PyDict_Next` checks the position
                // against the dict as it is now, and calls nothing.
                let more = unsafe {
                    ffi::PyDict_Next(entries.as_ptr(), position, &mut key_object, &mut value)
                };
                if more == 0 {
                    return Ok(None);
                }
                if key.is_some() {
                    writer.push(',');
                }
                // SAFETY: `PyDict_Next` said there is an entry: its key is an object that the dict owns.
                let name = unsafe { Borrowed::from_ptr(py, key_object) };
                *key = Some(write_key(name, entries, compared, writer)?);
                value
            }
        };
        // SAFETY: a null pointer, or an object that the container owns and keeps while `self` is borrowed.
        match unsafe { Borrowed::from_ptr_or_opt(py, item) } {
            Some(item) => Ok(Some(item)),
            None => Err(Fault::unfilled()),
        }
    }

    fn close(&self, writer: &mut Writer<'_>) {
        writer.push(match self.place {
            Place::List { .. } | Place::Tuple { .. } => ']',
            Place::Dict { .. } => '}',
        });
    }

    /// The step from this container to its current item.
    fn segment<'t>(&self, text: &'t str) -> Segment<'t> {
        match &self.place {
            Place::List { next } | Place::Tuple { next } => Segment::Index(next - 1),
            Place::Dict { key, .. } => Segment::Key(
                key.clone()
                    .and_then(|key| text.get(key))
                    .unwrap_or_default(),
            ),
        }
    }
}

/// Writes the key of an entry and its colon; returns where the key stands.
fn write_key<'py>(
    key: Borrowed<'_, 'py, PyAny>,
    entries: &Bound<'py, PyDict>,
    compared: &mut bool,
    writer: &mut Writer<'_>,
) -> Result<Range<usize>, Fault> {
    if !key.is_instance_of::<PyString>() {
        return Err(description::refuse_key(key));
    }
    // SAFETY: reads the type of a live object.
    if unsafe { ffi::PyUnicode_CheckExact(key.as_ptr()) } == 0 && !*compared {
        refuse_repeated_text(entries)?;
        *compared = true;
    }
    let start = writer.text().len();
    // SAFETY: `key` is a str, by the check above.
    let name = unsafe { key.cast_unchecked::<PyString>() };
    writer.string(name).map_err(Fault::of_a_key)?;
    let end = writer.text().len();
    writer.push(':');
    Ok(start..end)
}

/// Refuses a dict in which two keys have the same text.
///
/// Exact strings cannot collide; a subclass of `str` with a `__hash__` or `__eq__` of its own can, so this runs once
/// for each dict that holds one.
fn refuse_repeated_text(entries: &Bound<'_, PyDict>) -> Result<(), Fault> {
    let keys: Vec<Bound<'_, PyString>> = entries
        .iter()
        .filter_map(|(key, _)| key.cast_into().ok())
        .collect();
    let mut seen = HashSet::with_capacity(keys.len());
    // A key without text (a lone surrogate) is refused when it is written.
    for text in keys.iter().filter_map(|key| key.to_str().ok()) {
        if !seen.insert(text) {
            return Err(Fault::repeated_key(text));
        }
    }
    Ok(())
}
