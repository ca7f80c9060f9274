//! Why a value does not become JSON: inside the walk (`Fault`, which knows no place) and outside it
//! ([`Refusal`], which does). The words of every problem that is not about a type are here.

use pyo3::PyErr;

/// Why a value was not handed over.
#[derive(Debug)]
pub(in crate::engine::python) enum Refusal {
    /// The value is not lossless JSON.
    NotJson {
        /// Where, like `rows[3].score`; empty for the value itself.
        path: String,
        /// What is there, worded to follow the path: `is nan, which JSON cannot hold`.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The JSON text would be over its budget.
    TooLarge {
        /// The budget, in bytes.
        limit: usize,
    },
    /// A signal handler raised while the value was walked, or memory ran out: the Python exception.
    Interrupted(PyErr),
}

impl Refusal {
    /// What happened, to what; one line, without the hint.
    pub(in crate::engine::python) fn message(&self) -> String {
        match self {
            Self::NotJson { path, problem, .. } => {
                format!("{} {problem}", subject(path, "the value"))
            }
            Self::TooLarge { limit } => {
                format!("the value is over its budget of {limit} bytes of JSON text")
            }
            Self::Interrupted(raised) => format!("the value was not converted: {raised}"),
        }
    }

    /// What to do about it, if there is something to do.
    pub(in crate::engine::python) fn hint(&self) -> Option<&str> {
        match self {
            Self::NotJson { hint, .. } => hint.as_deref(),
            Self::TooLarge { .. } => Some(
                "return a part or a summary of it, or write it to a file and return the file's name",
            ),
            Self::Interrupted(_) => None,
        }
    }

    /// The container at `path` stands within itself, at `around`.
    pub(super) fn cycle(path: String, around: &str) -> Self {
        Self::NotJson {
            path,
            problem: format!(
                "leads back to {}: a cycle, which JSON cannot hold",
                subject(around, "the value itself")
            ),
            hint: Some("put a name or an id there in place of the object".to_owned()),
        }
    }

    /// The container at `path` stands too deep.
    pub(super) fn nested(path: String, levels: usize) -> Self {
        Self::NotJson {
            path,
            problem: format!("is nested deeper than {levels} levels, which JSON readers refuse"),
            hint: Some("return it flat, for example as a list of its parts".to_owned()),
        }
    }
}

fn subject(path: &str, root: &str) -> String {
    if path.is_empty() {
        root.to_owned()
    } else {
        format!("`{path}`")
    }
}

/// How many bits an integer may have for which `str` is sure to work: CPython refuses one of more than 4300 digits.
const STR_BITS: u64 = 14_284;

/// What stopped the walk; where, the walk knows.
#[derive(Debug)]
pub(super) enum Fault {
    /// The item being written is not JSON.
    Value {
        problem: String,
        hint: Option<String>,
    },
    /// The innermost open dict has a key that is not JSON.
    Key {
        problem: String,
        hint: Option<String>,
    },
    /// The item being written is the open container at this level.
    Cycle { level: usize },
    /// The item being written is a container too many.
    Nested,
    /// The text is over its budget.
    TooLarge,
    /// Python raised.
    Interrupted(PyErr),
}

impl Fault {
    /// A fault of the item being written.
    pub(super) fn value(problem: impl Into<String>, hint: &str) -> Self {
        Self::Value {
            problem: problem.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// A fault of a key of the dict being written.
    pub(super) fn key(problem: impl Into<String>, hint: &str) -> Self {
        Self::Key {
            problem: problem.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// The same fault, found while a key was written.
    pub(super) fn of_a_key(self) -> Self {
        match self {
            Self::Value { problem, hint } => Self::Key {
                problem: format!("has a key that {problem}"),
                hint,
            },
            other => other,
        }
    }

    pub(super) fn not_finite(number: f64) -> Self {
        let name = if number.is_nan() {
            "nan"
        } else if number > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        Self::value(
            format!("is {name}, which JSON cannot hold"),
            "put `None` there for a number that is missing",
        )
    }

    pub(super) fn beyond_64_bits(bits: u64) -> Self {
        Self::value(
            "is an integer of more than 64 bits, which JSON readers do not hold exactly",
            match bits <= STR_BITS {
                true => "`str(x)` keeps every digit",
                false => "`hex(x)` keeps every digit",
            },
        )
    }

    pub(super) fn beyond_a_double(digits: &str) -> Self {
        Self::value(
            format!("is {digits}, an integer beyond 2^53 - 1, which a double cannot hold exactly"),
            "`str(x)` keeps every digit",
        )
    }

    pub(super) fn lone_surrogate(code: u32) -> Self {
        Self::value(
            format!("holds the lone surrogate `\\u{code:04x}`, which is no character"),
            "`x.encode(\"utf-8\", \"replace\").decode()` puts `?` in its place",
        )
    }

    pub(super) fn repeated_key(text: &str) -> Self {
        let mut shown: String = text.chars().take(40).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self::key(
            format!("has two keys with the text `{shown}`, which JSON cannot tell apart"),
            "make the keys plain `str` with `str.__str__(key)`",
        )
    }

    /// An `OrderedDict` whose keys cannot be put in order without calling them.
    pub(super) fn unordered_key() -> Self {
        Self::value(
            "is an `OrderedDict` with a key of a subclass of `str`, whose order only the key's own code can tell",
            "`dict(x)` makes it a plain dict",
        )
    }

    /// An `OrderedDict` whose order and entries do not agree.
    pub(super) fn broken_order() -> Self {
        Self::value(
            "is an `OrderedDict` whose order no longer matches its entries",
            "change it through its own methods, not through those of `dict`",
        )
    }

    /// A list or tuple that C code is still filling.
    pub(super) fn unfilled() -> Self {
        Self::Value {
            problem: "is a place that nothing was put in yet".to_owned(),
            hint: None,
        }
    }
}
