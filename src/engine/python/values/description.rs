//! What an object that is not JSON is called, and what would make it JSON.
//!
//! An object is known by its lineage: by the name of a type, or by an attribute that a type defines and that tells
//! what its instances can do (`tolist`, `isoformat`, `model_dump`). Nothing is called and no attribute is looked up.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use pyo3::{Borrowed, ffi};

use super::class::Class;
use super::refusal::Fault;

/// The refusal of an object that is neither a scalar nor a container of JSON.
pub(super) fn refuse(object: Borrowed<'_, '_, PyAny>) -> Fault {
    let class = Class::of(object);
    let name = class.qualified_name();
    let kind = kind(object, &class);
    let what = match &kind {
        Some(Kind {
            noun: Some(noun), ..
        }) if is_builtin_name(&name) => (*noun).to_owned(),
        Some(Kind {
            noun: Some(noun), ..
        }) => format!("{} ({noun})", with_article(&name)),
        _ => with_article(&name),
    };
    Fault::Value {
        problem: format!("is {what}, which JSON cannot hold"),
        hint: kind.and_then(|kind| kind.hint).map(str::to_owned),
    }
}

/// The refusal of a key that is no string, for the dict that is being written.
pub(super) fn refuse_key(key: Borrowed<'_, '_, PyAny>) -> Fault {
    Fault::key(
        key_problem(key),
        "`{str(key): value for key, value in x.items()}` makes the keys strings",
    )
}

/// The same for a dict that is not yet open: the fault is the item's own.
pub(super) fn refuse_own_key(key: Borrowed<'_, '_, PyAny>) -> Fault {
    match refuse_key(key) {
        Fault::Key { problem, hint } => Fault::Value { problem, hint },
        other => other,
    }
}

fn key_problem(key: Borrowed<'_, '_, PyAny>) -> String {
    let shown = plain_text(key).map(|text| format!(" `{text}`"));
    format!(
        "has the key{} of type `{}`, and keys of JSON are strings",
        shown.unwrap_or_default(),
        Class::of(key).qualified_name()
    )
}

/// The text of a key whose type is the interpreter's own and short to write.
fn plain_text(key: Borrowed<'_, '_, PyAny>) -> Option<String> {
    if key.is_none() {
        return Some("None".to_owned());
    }
    if key.is_exact_instance_of::<PyBool>() {
        // SAFETY: reads the one True; compares addresses.
        let truth = key.as_ptr() == unsafe { ffi::Py_True() };
        return Some(if truth { "True" } else { "False" }.to_owned());
    }
    if key.is_exact_instance_of::<PyInt>() {
        return key.extract::<i64>().ok().map(|number| number.to_string());
    }
    if key.is_exact_instance_of::<PyFloat>() {
        return key
            .extract::<f64>()
            .ok()
            .map(|number| format!("{number:?}"));
    }
    None
}

fn is_builtin_name(name: &str) -> bool {
    by_name(name).is_some() && !name.contains('.')
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) {
        "an"
    } else {
        "a"
    };
    format!("{article} `{name}`")
}

/// What objects of a type are, in a word, and what to do with them.
struct Kind {
    noun: Option<&'static str>,
    hint: Option<&'static str>,
}

const LIST: &str = "`list(x)` makes it a list";
const TEXT: &str = "`str(x)` makes it text";
const TOLIST: &str = "`x.tolist()` makes it a list";
const ISOFORMAT: &str = "`x.isoformat()` makes it text";
const CALL: &str = "call it and return what it gives";
const MISSING: &str = "put `None` there for a value that is missing";

impl Kind {
    fn new(noun: &'static str, hint: &'static str) -> Self {
        Self {
            noun: Some(noun),
            hint: Some(hint),
        }
    }

    fn unnamed(hint: &'static str) -> Self {
        Self {
            noun: None,
            hint: Some(hint),
        }
    }
}

/// What is known of a type: a name says more than an attribute, and the nearest ancestor more than the next.
fn kind(object: Borrowed<'_, '_, PyAny>, class: &Class<'_>) -> Option<Kind> {
    class
        .lineage()
        .find_map(|ancestor| {
            let name = ancestor.qualified_name();
            by_name(&name).or_else(|| by_library(&name))
        })
        .or_else(|| by_attribute(class))
        .or_else(|| {
            // SAFETY: reads the type of a live object.
            let is_iterator = unsafe { ffi::PyIter_Check(object.as_ptr()) } != 0;
            is_iterator.then(|| Kind::new("an iterator", LIST))
        })
}

fn by_name(name: &str) -> Option<Kind> {
    Some(match name {
        "bytes" => Kind::new(
            "bytes",
            "`x.decode()` makes it text, `base64.b64encode(x).decode()` works for any bytes",
        ),
        "bytearray" => Kind::new(
            "a bytearray",
            "`x.decode()` makes it text, `base64.b64encode(x).decode()` works for any bytes",
        ),
        "memoryview" => Kind::new(
            "a memoryview",
            "`base64.b64encode(x).decode()` makes it text, `x.tolist()` a list",
        ),
        "set" => Kind::new("a set", "`sorted(x)` or `list(x)` makes it a list"),
        "frozenset" => Kind::new("a frozenset", "`sorted(x)` or `list(x)` makes it a list"),
        "complex" => Kind::new("a complex number", "`[x.real, x.imag]` keeps both parts"),
        "range" => Kind::new("a range", LIST),
        "slice" => Kind::new("a slice", "`[x.start, x.stop, x.step]` keeps its parts"),
        "ellipsis" => Kind {
            noun: Some("an ellipsis"),
            hint: None,
        },
        "generator" => Kind::new("a generator", LIST),
        "async_generator" => Kind::new(
            "an asynchronous generator",
            "`[item async for item in x]` makes it a list",
        ),
        "coroutine" => Kind::new("a coroutine", "`await x` gives what it returns"),
        "dict_keys" | "dict_values" | "dict_items" | "odict_keys" | "odict_values"
        | "odict_items" => Kind::new("a view of a dict", LIST),
        "mappingproxy" => Kind::new("a read-only view of a dict", "`dict(x)` makes it a dict"),
        "function" => Kind::new("a function", CALL),
        "builtin_function_or_method" => Kind::new("a built-in function", CALL),
        "method" => Kind::new("a method", CALL),
        "functools.partial" => Kind::new("a function", CALL),
        "module" => Kind::new("a module", "return something from it"),
        "type" => Kind::new("a class", "`x.__name__` gives its name"),
        "BaseException" => Kind::new("an exception", TEXT),
        "enum.Enum" => Kind::new("an enum member", "`x.value` or `x.name` is JSON"),
        "datetime.datetime" => Kind::new("a date and time", ISOFORMAT),
        "datetime.date" => Kind::new("a date", ISOFORMAT),
        "datetime.time" => Kind::new("a time", ISOFORMAT),
        "datetime.timedelta" => Kind::new(
            "a duration",
            "`x.total_seconds()` makes it a number of seconds",
        ),
        "decimal.Decimal" => {
            Kind::unnamed("`str(x)` keeps every digit, `float(x)` makes it a number")
        }
        "fractions.Fraction" => {
            Kind::unnamed("`str(x)` keeps it exact, `float(x)` makes it a number")
        }
        "collections.deque" | "collections.UserList" => Kind::unnamed(LIST),
        "collections.UserDict" | "collections.ChainMap" => {
            Kind::unnamed("`dict(x)` makes it a dict")
        }
        "types.SimpleNamespace" | "argparse.Namespace" => {
            Kind::unnamed("`vars(x)` makes it a dict")
        }
        "uuid.UUID" | "pathlib.PurePath" | "pathlib._local.PurePath" => Kind::unnamed(TEXT),
        "sqlite3.Row" => Kind::unnamed("`dict(x)` makes it a dict"),
        "re.Match" => Kind::unnamed("`x.group()` gives what matched"),
        "re.Pattern" => Kind::unnamed("`x.pattern` gives its text"),
        "array.array" | "numpy.ndarray" => Kind::unnamed(TOLIST),
        "numpy.datetime64" | "numpy.timedelta64" => Kind::unnamed(TEXT),
        "numpy.longdouble" => Kind::unnamed("`float(x)` makes it a number"),
        "numpy.complexfloating" => Kind::new(
            "a complex number",
            "`[float(x.real), float(x.imag)]` keeps both parts",
        ),
        _ => return None,
    })
}

/// Types of data frames, whose modules differ from release to release.
fn by_library(name: &str) -> Option<Kind> {
    let (library, rest) = name.split_once('.')?;
    let class = rest.rsplit('.').next()?;
    Some(match (library, class) {
        ("pandas", "DataFrame") => {
            Kind::unnamed("`x.to_dict(\"records\")` makes it a list of dicts")
        }
        ("pandas", "NAType" | "NaTType") => Kind::unnamed(MISSING),
        ("polars", "DataFrame") => Kind::unnamed("`x.to_dicts()` makes it a list of dicts"),
        _ => return None,
    })
}

/// What attributes give away, whoever wrote the type: the surest first.
fn by_attribute(class: &Class<'_>) -> Option<Kind> {
    let kinds = [
        (
            "model_dump",
            Kind::unnamed("`x.model_dump(mode=\"json\")` makes it a dict"),
        ),
        (
            "__dataclass_fields__",
            Kind::new("a dataclass", "`dataclasses.asdict(x)` makes it a dict"),
        ),
        (
            "__attrs_attrs__",
            Kind::new("an attrs class", "`attrs.asdict(x)` makes it a dict"),
        ),
        ("tolist", Kind::unnamed(TOLIST)),
        ("to_list", Kind::unnamed("`x.to_list()` makes it a list")),
        ("isoformat", Kind::unnamed(ISOFORMAT)),
        ("to_dict", Kind::unnamed("`x.to_dict()` makes it a dict")),
        ("_asdict", Kind::unnamed("`x._asdict()` makes it a dict")),
    ];
    kinds.into_iter().find_map(|(attribute, kind)| {
        class
            .lineage()
            .any(|ancestor| ancestor.defines(attribute))
            .then_some(kind)
    })
}
