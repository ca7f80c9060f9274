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

/// The language that somebody names, a Markdown fence for instance: by its own name or by an extension.
pub(super) fn of_name(name: &str) -> Option<Language> {
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
    let language = of_name(name);
    language.ok_or_else(|| {
        let names = listed(Language::ALL, |language| language.as_str());
        format!("the languages are {names}")
    })
}

/// Reads the value of `--engine`.
pub(super) fn parse_engine(name: &str) -> Result<JavaScriptEngine, String> {
    let all = JavaScriptEngine::ALL;
    let engine = all.iter().copied().find(|engine| engine.as_str() == name);
    engine.ok_or_else(|| {
        let names = listed(all, |engine| engine.as_str());
        format!("the engines of JavaScript are {names}")
    })
}

fn listed<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    let names: Vec<String> = all.iter().map(|one| format!("`{}`", name(*one))).collect();
    names.join(", ")
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

    #[test]
    fn an_extension_is_a_name_too() {
        assert_eq!(parse("ts"), Ok(Language::TypeScript));
        assert_eq!(parse("javascript"), Ok(Language::JavaScript));
        assert!(parse("").is_err() && parse("ruby").is_err());
    }
}
