//! Runs the cases in `tests/cases` through the library, in every placement, and reports every difference.
//!
//! A case opens sessions of its own and runs its cells in order; `tests/cases/README.md` says what each key means. A case
//! with `isolate = true` gets a process of its own, and so, in process, does a suite with a venv: a process has but one
//! interpreter. `WARMCELL_TEST_CASES` runs only those whose label contains its text.

mod differences;
mod displays;
mod suite;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use warmcell::{Cell, Language, Limits, Placement, Session, SessionBuilder};

use crate::support::{Alone, Cells, Opened, Turn, display_venv, settle, test_name, timed, turn};
use suite::{Case, CellCase, Opening, Suite, Venv};

#[test]
fn python_in_process() {
    let run = Run {
        suites: "python",
        placement: Placement::InProcess,
        engine: None,
    };
    run.all(test_name!());
}

#[cfg(feature = "javascript")]
#[test]
fn javascript_on_boa_in_process() {
    let run = Run {
        suites: "javascript",
        placement: Placement::InProcess,
        engine: Some("boa"),
    };
    run.all(test_name!());
}

#[cfg(feature = "quickjs")]
#[test]
fn javascript_on_quickjs_in_process() {
    let run = Run {
        suites: "javascript",
        placement: Placement::InProcess,
        engine: Some("quickjs"),
    };
    run.all(test_name!());
}

#[cfg(feature = "cli")]
#[test]
fn python_worker() {
    let run = Run {
        suites: "python",
        placement: Placement::Worker,
        engine: None,
    };
    run.all(test_name!());
}

#[cfg(all(feature = "cli", feature = "javascript"))]
#[test]
fn javascript_on_boa_worker() {
    let run = Run {
        suites: "javascript",
        placement: Placement::Worker,
        engine: Some("boa"),
    };
    run.all(test_name!());
}

#[cfg(all(feature = "cli", feature = "quickjs"))]
#[test]
fn javascript_on_quickjs_worker() {
    let run = Run {
        suites: "javascript",
        placement: Placement::Worker,
        engine: Some("quickjs"),
    };
    run.all(test_name!());
}

/// One pass over the suites of a language.
struct Run {
    suites: &'static str,
    placement: Placement,
    engine: Option<&'static str>,
}

impl Run {
    /// Runs every case that is meant for this placement and engine.
    fn all(&self, test: &'static str) {
        let only = std::env::var("WARMCELL_TEST_CASES").unwrap_or_default();
        let isolated = Alone::argument().filter(|_| Alone::is_meant(test));
        let (mut passed, mut elsewhere, mut failures) = (0, 0, Vec::new());
        for (file, suite) in suites(self.suites) {
            let is_apart = suite.venv.is_some() && self.placement == Placement::InProcess;
            if is_apart && isolated.is_none() && file.contains(&only) {
                // Making it the first time takes longer than a process of a test's own may.
                let _ = suite.venv.map(folder);
                // A whole suite, whose packages a slow machine reads for the first time.
                let alone = Alone::new(test)
                    .with_argument(&file)
                    .within(Duration::from_secs(300));
                let _ = alone.run(|| unreachable!("the child runs the cases"));
                passed += suite.cases.len();
                continue;
            }
            for case in &suite.cases {
                let label = format!("{file}: {}", case.name);
                let is_wanted = match &isolated {
                    Some(isolated) => label == *isolated || file == *isolated,
                    None => label.contains(&only) && !is_apart,
                };
                if !is_wanted {
                    continue;
                }
                if !self.is_meant_for(case) {
                    elsewhere += 1;
                    continue;
                }
                if case.isolate && isolated.is_none() {
                    let alone = Alone::new(test).with_argument(label);
                    let _ = alone.run(|| unreachable!("the child runs the cases"));
                    passed += 1;
                    continue;
                }
                let language = case.language.or(suite.language).unwrap_or_else(|| {
                    panic!("{label}: neither the case nor its suite names a language")
                });
                let found = self.case(case, language, suite.venv.map(folder));
                passed += usize::from(found.is_empty());
                failures.extend(found.iter().map(|found| format!("{label} {found}")));
            }
        }
        println!(
            "{} {:?}: {passed} cases passed; {elsewhere} are not for this placement or engine",
            self.suites, self.placement
        );
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
        assert!(passed > 0, "no case was run");
    }

    fn is_meant_for(&self, case: &Case) -> bool {
        let placed = case
            .placement
            .as_ref()
            .is_none_or(|placements| placements.contains(&placement_name(self.placement)));
        let engined = self.engine.is_none_or(|engine| {
            case.engines
                .as_ref()
                .is_none_or(|engines| engines.iter().any(|name| name == engine))
        });
        placed && engined
    }

    /// Runs the cells of a case in order; a line for every difference.
    fn case(&self, case: &Case, language: Language, venv: Option<PathBuf>) -> Vec<String> {
        let turn = turn();
        let mut sessions: HashMap<&str, Opened<'_>> = HashMap::new();
        let mut found = Vec::new();
        for (index, cell) in case.cells.iter().enumerate() {
            let session = sessions.entry(&cell.session).or_insert_with(|| {
                let language = cell.language.unwrap_or(language);
                self.open(&turn, case, language, venv.as_deref())
            });
            if cell.reset {
                session.reset_now();
            }
            for _ in 0..cell.repeat {
                let sentences = run_cell(session, cell);
                found.extend(
                    sentences
                        .into_iter()
                        .map(|sentence| format!("[cell {}] {sentence}", index + 1)),
                );
            }
        }
        found
    }

    fn open<'turn>(
        &self,
        turn: &'turn Turn,
        case: &Case,
        language: Language,
        venv: Option<&Path>,
    ) -> Opened<'turn> {
        let mut builder = Session::builder(language)
            .placement(self.placement)
            .limits(limits(case));
        if let Some(engine) = self.engine {
            let engine = serde_json::from_value(engine.into()).expect("an engine's name");
            builder = builder.javascript_engine(engine);
        }
        #[cfg(feature = "cli")]
        {
            builder = builder.worker_executable(env!("CARGO_BIN_EXE_warmcell"));
        }
        if let Some(venv) = venv {
            builder = builder.python(venv);
        }
        turn.open(opened_with(builder, &case.open))
    }
}

/// The folder of a suite's venv.
fn folder(venv: Venv) -> PathBuf {
    match venv {
        Venv::Display => display_venv(),
    }
}

fn run_cell(session: &Session, case: &CellCase) -> Vec<String> {
    let mut cell = Cell::new(case.source());
    if let Some(timeout) = case.timeout_ms {
        cell = cell.with_timeout(Duration::from_millis(timeout));
    }
    let (took, outcome) = timed(|| settle(session.start(cell)));
    differences::between(case, &outcome, took)
}

/// The limits of a case, under their names on the wire.
fn limits(case: &Case) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in &case.limits {
        let size = *value as usize;
        match name.as_str() {
            "timeoutMs" => limits.timeout = Some(Duration::from_millis(*value)),
            "cpuMs" => limits.cpu = Some(Duration::from_millis(*value)),
            "memoryMb" => limits.memory_mb = *value,
            "outputBytes" => limits.output_bytes = size,
            "valueBytes" => limits.value_bytes = size,
            "displayEntries" => limits.display_entries = size,
            _ => panic!("case `{}` sets the unknown limit `{name}`", case.name),
        }
    }
    limits
}

fn opened_with(mut builder: SessionBuilder, opening: &Opening) -> SessionBuilder {
    if let Some(cwd) = &opening.cwd {
        builder = builder.cwd(cwd);
    }
    if let Some(python) = &opening.python {
        builder = builder.python(python);
    }
    for (name, value) in &opening.env {
        builder = builder.env(name, value);
    }
    builder.integers(opening.integers.unwrap_or_default())
}

fn placement_name(placement: Placement) -> String {
    let name = serde_json::to_value(placement).expect("a placement has a name");
    name.as_str().expect("a text").to_owned()
}

/// The suites in a folder of `tests/cases`, each under its name there, in order.
fn suites(folder: &str) -> Vec<(String, Suite)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(folder);
    let mut suites: Vec<(String, Suite)> = std::fs::read_dir(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|file| {
            let stem = file
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&file).expect("a suite's text");
            let suite =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (format!("{folder}/{stem}"), suite)
        })
        .collect();
    suites.sort_by(|(one, _), (other, _)| one.cmp(other));
    suites
}
