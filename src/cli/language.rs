//! Which language a file or an argument is in: the one table of names and extensions.

use std::path::Path;

use warmcell::Language;

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
    Language::ALL
        .iter()
        .copied()
        .find(|language| language.as_str() == name)
        .ok_or_else(|| {
            let names: Vec<String> = Language::ALL
                .iter()
                .map(|language| format!("`{}`", language.as_str()))
                .collect();
            format!("the languages are {}", names.join(", "))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        assert_eq!(of_file(Path::new("a/b.py")), Some(Language::Python));
        assert_eq!(of_file(Path::new("B.PY")), Some(Language::Python));
        assert_eq!(of_file(Path::new("py")), None);
        assert_eq!(of_file(Path::new("a.py.txt")), None);
    }
}
