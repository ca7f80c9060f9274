//! What an `import` finds: files of the session's folder. Anything else is explained.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::rewrite::{Flavour, Positions, module_javascript};

/// The extensions that are tried where a specifier has none, as TypeScript users expect.
const EXTENSIONS: [&str; 4] = ["ts", "js", "mjs", "json"];
/// The largest module that is read.
const MAX_BYTES: u64 = 16 << 20;
/// How it begins what an import is refused with; the specifier follows.
pub(super) const REFUSAL: &str = "cannot import `";
/// How it ends where there is nothing to import from.
pub(super) const NO_FOLDER: &str = "the session has no folder";

/// Where a session's modules come from.
#[derive(Debug, Default, Clone)]
pub(super) struct Modules {
    /// The folder that relative specifiers of cells start from, and that none leaves.
    root: Option<PathBuf>,
}

/// A module, found and made ready to run.
#[derive(Debug)]
pub(super) enum Module {
    JavaScript(String, Box<Positions>),
    Json(String),
}

impl Modules {
    pub(super) fn new(root: Option<PathBuf>) -> Self {
        Self { root }
    }

    /// The name of the module that `specifier` means in the file `referrer`: `./` and its path in the folder.
    pub(super) fn resolve(&self, referrer: &str, specifier: &str) -> Result<String, String> {
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            return Err(explain(specifier));
        }
        let Some(root) = &self.root else {
            return Err(format!("{REFUSAL}{specifier}`: {NO_FOLDER}"));
        };
        let start = referrer
            .strip_prefix("./")
            .map(Path::new)
            .and_then(Path::parent)
            .unwrap_or(Path::new(""));
        let Some(path) = inside(&start.join(specifier)) else {
            return Err(format!(
                "cannot import `{specifier}`: it is outside the session's folder"
            ));
        };
        let found = candidates(&path)
            .into_iter()
            .find(|candidate| root.join(candidate).is_file());
        match found {
            Some(found) => Ok(format!("./{}", found.display())),
            None => Err(format!(
                "cannot import `{specifier}`: there is no file `{}` in the session's folder",
                path.display()
            )),
        }
    }

    /// Reads a module by the name that [`resolve`](Self::resolve) gave.
    pub(super) fn load(&self, name: &str) -> Result<Module, String> {
        let path = name.strip_prefix("./").unwrap_or(name);
        let Some(root) = &self.root else {
            return Err(format!("{REFUSAL}{name}`: {NO_FOLDER}"));
        };
        let full = root.join(path);
        let fail = |error: std::io::Error| format!("cannot read `{name}`: {error}");
        // A link may lead out of the folder.
        let (real, real_root) = (
            full.canonicalize().map_err(fail)?,
            root.canonicalize().map_err(fail)?,
        );
        if !real.starts_with(&real_root) {
            return Err(format!(
                "cannot import `{name}`: it leads outside the session's folder"
            ));
        }
        if fs::metadata(&real).map_err(fail)?.len() > MAX_BYTES {
            return Err(format!(
                "cannot import `{name}`: it has more than {MAX_BYTES} bytes"
            ));
        }
        let source = fs::read_to_string(&real).map_err(fail)?;
        let flavour = match real.extension().and_then(|extension| extension.to_str()) {
            Some("json") => return Ok(Module::Json(source)),
            Some("ts" | "mts") => Flavour::TypeScript,
            _ => Flavour::JavaScript,
        };
        match module_javascript(&source, flavour) {
            Ok((code, positions)) => Ok(Module::JavaScript(code, Box::new(positions))),
            Err(fault) => Err(match fault.position {
                Some(position) => format!(
                    "{name}:{}:{}: {}",
                    position.line, position.column, fault.message
                ),
                None => format!("{name}: {}", fault.message),
            }),
        }
    }
}

/// Why a specifier that is no path leads nowhere.
fn explain(specifier: &str) -> String {
    let reason = if specifier.starts_with("node:")
        || ["fs", "path", "os", "child_process", "http", "https"].contains(&specifier)
    {
        "Node's modules are not available: a cell reaches the world only through what its host offers"
    } else if specifier.contains("://") {
        "modules are not loaded from the network"
    } else if specifier.starts_with('/') {
        "only files in the session's folder can be imported, by a path that starts with `./`"
    } else {
        "packages are not installed: only files in the session's folder can be imported, by a path that starts with `./`"
    };
    format!("cannot import `{specifier}`: {reason}")
}

/// The path without `.` and `..`; nothing when it leaves where it starts.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(clean)
}

fn candidates(path: &Path) -> Vec<PathBuf> {
    let mut candidates = vec![path.to_owned()];
    // TypeScript is written with the name of the file it will become.
    if path.extension().is_some_and(|extension| extension == "js") {
        candidates.push(path.with_extension("ts"));
    }
    candidates.extend(EXTENSIONS.map(|extension| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    }));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_folder_are_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap_or_else(|error| panic!("{error}"))
        };
        write("util.ts", "export const a: number = 1;");
        write("data.json", "{}");
        let modules = Modules::new(Some(folder.path().to_owned()));
        assert_eq!(
            modules.resolve("<cell 1>", "./util"),
            Ok("./util.ts".to_owned())
        );
        assert_eq!(
            modules.resolve("<cell 1>", "./util.js"),
            Ok("./util.ts".to_owned())
        );
        assert_eq!(
            modules.resolve("./sub/a.js", "../data.json"),
            Ok("./data.json".to_owned())
        );
        for (specifier, part) in [
            ("../x.js", "outside the session's folder"),
            ("./missing", "there is no file `missing`"),
            ("lodash", "packages are not installed"),
            ("node:fs", "Node's modules are not available"),
            ("https://a.b/c.js", "not loaded from the network"),
        ] {
            let problem = modules
                .resolve("<cell 1>", specifier)
                .err()
                .unwrap_or_default();
            assert!(problem.contains(part), "{specifier}: {problem}");
        }
        match modules.load("./util.ts") {
            Ok(Module::JavaScript(code, _)) => assert_eq!(code, "export const a = 1;\n\n;"),
            other => panic!("{other:?}"),
        }
    }
}
