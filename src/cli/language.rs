//! Which language a file or an argument is in, and on which engine it runs: the one table of names and extensions.

use std::path::Path;

use warmcell::{JavaScriptEngine, Language};

/// The extensions of a language's files, the usual one first.
fn extensions(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["py"],
        Language::JavaScript => &["js", "mjs", "cjs"],
        Language::TypeScript => &["ts", "mts", "cts"],
        _ => &[],
    }
}

/// The language of a file, by its extension.
pub(super) fn of_file(path: &Path) -> Option<Language> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Language::ALL
        .iter()
        .copied()
        .find(|language| extensions(*language).contains(&extension.as_str()))
}

/// The language that a Markdown fence names, by its own name or by an extension.
pub(super) fn of_fence(name: &str) -> Option<Language> {
    let name = name.trim().to_ascii_lowercase();
    let is_it = |language: &&Language| {
        language.as_str() == name || extensions(**language).contains(&name.as_str())
    };
    Language::ALL.iter().find(is_it).copied()
}

/// Every extension there is, as messages list them.
pub(super) fn all_extensions() -> String {
    let all: Vec<String> = Language::ALL
        .iter()
        .flat_map(|language| extensions(*language))
        .map(|extension| format!("`.{extension}`"))
        .collect();
    all.join(", ")
}

/// Reads the value of `--language`.
pub(super) fn parse(name: &str) -> Result<Language, String> {
    named(name, Language::ALL, |language| language.as_str())
        .map_err(|names| format!("the languages are {names}"))
}

/// Reads the value of `--engine`.
pub(super) fn parse_engine(name: &str) -> Result<JavaScriptEngine, String> {
    named(name, JavaScriptEngine::ALL, |engine| engine.as_str())
        .map_err(|names| format!("the engines of JavaScript are {names}"))
}

fn named<T: Copy>(name: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T, String> {
    all.iter()
        .copied()
        .find(|one| as_str(*one) == name)
        .ok_or_else(|| {
            let names: Vec<String> = all
                .iter()
                .map(|one| format!("`{}`", as_str(*one)))
                .collect();
            names.join(", ")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        assert_eq!(of_file(Path::new("a/b.py")), Some(Language::Python));
        assert_eq!(of_file(Path::new("B.PY")), Some(Language::Python));
        assert_eq!(of_file(Path::new("b.mjs")), Some(Language::JavaScript));
        assert_eq!(of_file(Path::new("b.mts")), Some(Language::TypeScript));
        assert_eq!(of_file(Path::new("b.d.ts")), Some(Language::TypeScript));
        assert_eq!(of_file(Path::new("py")), None);
        assert_eq!(of_file(Path::new("a.py.txt")), None);
    }
}
