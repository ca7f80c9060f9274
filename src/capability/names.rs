//! Which names capabilities may have: they stand in the namespaces of every language, and hide nothing there.

use std::collections::BTreeSet;

use super::Capability;

/// Words of Python and JavaScript that no variable can have.
const RESERVED: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "arguments",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "elif",
    "else",
    "enum",
    "eval",
    "except",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "global",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "match",
    "new",
    "nonlocal",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "public",
    "raise",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "type",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "NaN",
    "Infinity",
    "self",
    "cls",
];

/// Names that are there in one language or the other, and that programs use.
const TAKEN: &[&str] = &[
    "host",
    "CapabilityError",
    "console",
    "display",
    "globalThis",
    "process",
    "require",
    "module",
    "exports",
    "Object",
    "Function",
    "Array",
    "Number",
    "String",
    "Boolean",
    "Symbol",
    "BigInt",
    "Math",
    "Date",
    "JSON",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "WeakRef",
    "Error",
    "Intl",
    "Temporal",
    "Iterator",
    "Buffer",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "AbortController",
    "AbortSignal",
    "Event",
    "EventTarget",
    "Atomics",
    "crypto",
    "performance",
    "atob",
    "btoa",
    "structuredClone",
    "queueMicrotask",
    "setTimeout",
    "setInterval",
    "setImmediate",
    "clearTimeout",
    "clearInterval",
    "fetch",
    "escape",
    "unescape",
    "isNaN",
    "isFinite",
    "parseInt",
    "parseFloat",
    "abs",
    "aiter",
    "all",
    "anext",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "tuple",
    "vars",
    "zip",
    "exit",
    "quit",
    "constructor",
    "print",
    "exec",
];

/// Refuses names that cannot be, are taken, or stand there twice.
pub(super) fn check(capabilities: &[Capability]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for capability in capabilities {
        let name = capability.name();
        check_capability(name)?;
        if !seen.insert(name) {
            return Err(format!("two capabilities are named `{name}`"));
        }
        let mut actions = BTreeSet::new();
        for action in &capability.actions {
            if action.name.is_empty() {
                return Err(format!("an action of the capability `{name}` has no name"));
            }
            if action.name == "then" {
                return Err(format!(
                    "an action of the capability `{name}` is named `then`, which makes a promise of the capability in JavaScript\nhint: choose another name"
                ));
            }
            if !actions.insert(&action.name) {
                return Err(format!(
                    "two actions of the capability `{name}` are named `{}`",
                    action.name
                ));
            }
        }
    }
    Ok(())
}

/// Whether a name can be written as it is in every language.
pub(super) fn is_word(name: &str) -> bool {
    is_identifier(name) && !RESERVED.contains(&name)
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
}

fn check_capability(name: &str) -> Result<(), String> {
    if !is_identifier(name) || name.starts_with('_') {
        return Err(format!(
            "a capability is named {name:?}, which is no name in every language\nhint: use letters, digits and `_`, a letter first"
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!(
            "a capability is named `{name}`, which is a word of a language\nhint: choose another name"
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "a capability is named `{name}`, which would hide what cells have under that name\nhint: choose another name"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused_and_say_why() {
        for (name, part) in [
            ("", "no name in every language"),
            ("a-b", "no name in every language"),
            ("1x", "no name in every language"),
            ("$t", "no name in every language"),
            ("__builtins__", "no name in every language"),
            ("é", "no name in every language"),
            ("class", "a word of a language"),
            ("match", "a word of a language"),
            ("_", "no name in every language"),
            ("await", "a word of a language"),
            ("console", "would hide"),
            ("JSON", "would hide"),
            ("print", "would hide"),
            ("len", "would hide"),
        ] {
            let refused = check(&[Capability::new(name)]).unwrap_err();
            assert!(refused.contains(part), "{name}: {refused}");
        }
        for name in ["fs", "shell", "my_tools", "http2", "json", "os"] {
            assert_eq!(check(&[Capability::new(name)]), Ok(()), "{name}");
        }
        let twice = [Capability::new("fs"), Capability::new("fs")];
        assert_eq!(
            check(&twice),
            Err("two capabilities are named `fs`".to_owned())
        );
    }
}
