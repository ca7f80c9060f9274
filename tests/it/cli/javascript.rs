//! JavaScript and TypeScript from a shell, on both engines.

use std::ffi::OsStr;
use std::fs;

use serde_json::{Value, json};

use super::{Files, assert_ended, ran};
use crate::support::{Program, Talk, warmcell};

const ENGINES: [&str; 2] = ["boa", "quickjs"];

/// What `run` makes of files of a folder.
fn ran_files(files: &Files, options: &[&str], names: &[&str]) -> crate::support::Exited {
    let paths = names.iter().map(|name| files.path().join(name));
    let mut arguments = vec![OsStr::new("run").to_owned()];
    arguments.extend(options.iter().map(|option| OsStr::new(option).to_owned()));
    arguments.extend(paths.map(Into::into));
    ran(arguments)
}

#[test]
fn run_mixes_files_of_all_languages_with_a_session_each() {
    let files = Files::new();
    files.file("a.py", "x = 20\nprint('python', x)");
    files.file(
        "b.ts",
        "#!/usr/bin/env node\nconst x: number = 22;\nenum Colour { Red = 'red' }\nconsole.log('typescript', x);\nx",
    );
    files.file("c.js", "console.log('javascript', x + 1, Colour.Red);");
    files.file("d.mjs", "export const y = x; console.error('late');");
    files.file("e.py", "print('python', x)");
    files.file("f.cjs", "if (y > 1) { console.log('done') }");
    let names = ["a.py", "b.ts", "c.js", "d.mjs", "e.py", "f.cjs"];
    for engine in ENGINES {
        assert_ended(
            &ran_files(&files, &["--engine", engine], &names),
            0,
            "python 20\ntypescript 22\njavascript 23 red\npython 20\ndone\n",
            "late\n",
        );
    }
}

/// A JavaScript file before a TypeScript one is of the same program.
#[test]
fn javascript_and_typescript_share_a_session_in_any_order() {
    let files = Files::new();
    files.file(
        "a.js",
        "const rows = [3, 1, 2]; function first(list) { return list[0]; }",
    );
    files.file(
        "b.mts",
        "const least: number = first(rows.toSorted()); console.log(least);",
    );
    assert_ended(&ran_files(&files, &[], &["a.js", "b.mts"]), 0, "1\n", "");
    // Types are none of JavaScript's business where no file is TypeScript.
    files.file("c.js", "const x: number = 1;");
    let ended = ran_files(&files, &[], &["a.js", "c.js"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert!(
        ended.stderr.starts_with("SyntaxError: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn imports_start_from_the_folder_of_the_first_file() {
    let files = Files::new();
    fs::create_dir(files.path().join("src")).expect("a folder");
    files.file(
        "src/util.ts",
        "export const double = (n: number): number => n * 2;",
    );
    files.file(
        "src/main.js",
        "import { double } from './util';\nconsole.log(double(21));",
    );
    for engine in ENGINES {
        assert_ended(
            &ran_files(&files, &["--engine", engine], &["src/main.js"]),
            0,
            "42\n",
            "",
        );
        let mut command = warmcell([
            "exec",
            "--engine",
            engine,
            "import { double } from './src/util'; double(4)",
        ]);
        command.current_dir(files.path());
        assert_ended(&Program::run(command, ""), 0, "8\n", "");
    }
}

#[test]
fn a_failing_file_ends_the_run_and_a_timeout_has_its_status() {
    let files = Files::new();
    files.file("fine.ts", "const x: number = 1;\nconsole.log('fine');");
    files.file("fails.ts", "type Row = { a: number };\n\nfunction f(row: Row): never {\n  throw new TypeError('no ' + row.a);\n}\nf({ a: 7 });");
    files.file("endless.js", "console.log('begun');\nwhile (true) {}");
    for engine in ENGINES {
        let ended = ran_files(
            &files,
            &["--engine", engine],
            &["fine.ts", "fails.ts", "fine.ts"],
        );
        assert_eq!(
            (ended.status, ended.stdout.as_str()),
            (1, "fine\n"),
            "{}",
            ended.stderr
        );
        assert!(
            ended
                .stderr
                .starts_with("TypeError: no 7\n    at f (<cell 2>:4:"),
            "{}",
            ended.stderr
        );
        assert!(
            ended
                .stderr
                .ends_with("fails.ts` is <cell 2>, and nothing after it was run\n"),
            "{}",
            ended.stderr
        );
        let ended = ran_files(
            &files,
            &["--engine", engine, "--timeout", "0.2"],
            &["endless.js"],
        );
        assert_eq!((ended.status, ended.stdout.as_str()), (124, "begun\n"));
        assert_eq!(
            ended
                .stderr
                .contains("hint: the `quickjs` engine runs such code"),
            engine == "boa",
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn exec_runs_both_languages_on_both_engines() {
    for engine in ENGINES {
        for language in ["javascript", "typescript"] {
            assert_ended(
                &ran([
                    "exec",
                    "--language",
                    language,
                    "--engine",
                    engine,
                    "const rows = [3, 1, 2]",
                    "console.log('sorting'); rows.toSorted()",
                    "console.error('quietly'); new Map([['é', 1n]])",
                    "return null",
                ]),
                0,
                "sorting\n[1,2,3]\nMap(1) { 'é' => 1n }\nnull\n",
                "quietly\n",
            );
        }
        // Only one of the languages has types, and an engine that is named says that it is JavaScript.
        let typed = "const x: number = 41; x + 1";
        assert_ended(
            &ran([
                "exec",
                "--language",
                "typescript",
                "--engine",
                engine,
                typed,
            ]),
            0,
            "42\n",
            "",
        );
        let ended = ran(["exec", "--engine", engine, typed]);
        assert_eq!(ended.status, 1);
        assert!(
            ended.stderr.starts_with("SyntaxError: "),
            "{}",
            ended.stderr
        );
    }
}

/// The binary counts what boa allocates; without that the limit would be refused.
#[test]
fn memory_limits_hold_on_both_engines() {
    for engine in ENGINES {
        let ended = ran([
            "exec",
            "--json",
            "--engine",
            engine,
            "--memory",
            "64",
            "const rows = []; while (true) rows.push([1, 2, 3])",
        ]);
        let outcome: Value = serde_json::from_str(&ended.stdout).expect("an outcome");
        assert_eq!(outcome["error"]["kind"], "memory", "{outcome}");
        assert_eq!(ended.status, 1);
    }
}

/// What a program reads of its errors is in the user's own lines, on top of what engines leave out.
#[test]
fn a_stack_as_a_program_reads_it_is_the_users() {
    let code = "interface Row { a: number }\n\nconst make = (row: Row) => new RangeError('a is ' + row.a);\nmake({ a: 7 }).stack.replaceAll(/:\\d+\\)?$/gm, '')";
    let plain = "const target = {}; Error.captureStackTrace(target); [target.stack.split('\\n').length, Object.keys(target)]";
    for engine in ENGINES {
        assert_ended(
            &ran([
                "exec",
                "--language",
                "typescript",
                "--engine",
                engine,
                code,
                plain,
                "Error.prototype.stack",
            ]),
            0,
            "\"RangeError: a is 7\\n    at make (<cell 1>:3\\n    at <cell 1>:4\"\n[2,[]]\n",
            "",
        );
    }
}

#[test]
fn options_that_do_not_fit_the_language_are_named() {
    for (arguments, said) in [
        (
            ["exec", "1", "--language", "python", "--engine", "boa"].as_slice(),
            "error: `--engine` is `boa`, which runs no Python\nhint: leave `--engine` out, or name the language with `--language`\n",
        ),
        (
            &["repl", "--language", "typescript", "--python", "."],
            "error: `--python` is given, and none of the code is Python\nhint: leave `--python` out\n",
        ),
    ] {
        assert_ended(&ran(arguments), 2, "", said);
    }
    let files = Files::new();
    files.file("a.py", "print('ran')");
    assert_eq!(ran_files(&files, &["--engine", "boa"], &["a.py"]).status, 2);
    let ended = ran(["exec", "1", "--engine", "v8"]);
    assert_eq!(ended.status, 2);
    assert!(
        ended
            .stderr
            .contains("the engines of JavaScript are `boa`, `quickjs`"),
        "{}",
        ended.stderr
    );
}

#[test]
fn doctor_knows_both_engines() {
    let ended = ran(["doctor", "--json"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let found: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let findings = found["engines"].as_array().expect("a list");
    let found: Vec<Value> = findings
        .iter()
        .map(|finding| json!([finding["language"], finding["engine"], finding["built"]]))
        .collect();
    assert_eq!(
        found,
        [
            json!(["python", "python", true]),
            json!(["javascript", "boa", true]),
            json!(["javascript", "quickjs", true]),
            json!(["typescript", "boa", true]),
            json!(["typescript", "quickjs", true]),
        ]
    );
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"))
        .expect("a lock file");
    for finding in &findings[1..] {
        let facts = &finding["facts"];
        assert_eq!(facts["engine"], finding["engine"]);
        let version = facts["version"].as_str().expect("a version");
        match finding["engine"].as_str() {
            // What Cargo chose; built outside this folder it is known as the manifest says it.
            Some("boa") => assert!(
                lock.contains(&format!("name = \"boa_engine\"\nversion = \"{version}")),
                "{version}"
            ),
            _ => assert!(version.starts_with("0."), "{version}"),
        }
        assert!(finding["cellMs"].as_f64().is_some(), "{finding}");
        let armed: Vec<&str> = facts["limits"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|limit| limit["armed"] == true)
            .filter_map(|limit| limit["limit"].as_str())
            .collect();
        assert_eq!(
            armed,
            ["timeoutMs", "memoryMb", "outputBytes", "valueBytes"]
        );
    }
    let told = ran(["doctor", "--engine", "quickjs"]);
    let headings: Vec<&str> = told
        .stdout
        .lines()
        .map(str::trim_start)
        .filter(|line| line.contains(" quickjs ") || line.contains(" boa "))
        .collect();
    assert_eq!(headings.len(), 2, "{}", told.stdout);
    assert!(
        headings[0].starts_with("javascript   quickjs 0."),
        "{}",
        told.stdout
    );
    assert!(
        headings[1].starts_with("typescript   quickjs 0."),
        "{}",
        told.stdout
    );
}

#[test]
fn repl_reads_javascript_from_a_pipe() {
    let cells = "const x = 20\nx +\n  22\nfunction f(n) {\n  const y = `${n}\n}`\n\n  return y\n}\nf('a')\nif (x > 100) {\n  1\n}\n// or else\nelse {\n  'small'\n}\nprocess\n:vars\n";
    for engine in ENGINES {
        let ended = Program::run(
            warmcell(["repl", "--language", "javascript", "--engine", engine]),
            cells,
        );
        assert_eq!(
            ended.stdout, "42\n\"a\\n}\"\n\"small\"\nx: number = 20\nf: function = [Function: f]\n",
            "{}",
            ended.stderr
        );
        assert!(
            ended.stderr.contains("ReferenceError: "),
            "{}",
            ended.stderr
        );
        assert_eq!(ended.status, 1);
    }
}

#[test]
fn repl_talks_javascript_with_a_person() {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = warmcell(["repl", "--engine", "quickjs"]);
    command
        .env("XDG_STATE_HOME", state.path())
        .env("NO_COLOR", "1");
    let mut talk = Talk::start(command);
    talk.until("with javascript on quickjs 0.");
    talk.until("`:help` tells what the prompt can do\r\n");
    talk.enter(">>> ", "const rows = [1, 2].map((n) => {");
    talk.enter("... ", "  return n * 2 })");
    talk.enter(">>> ", "rows");
    talk.until("\n[2, 4]\r\n");
    talk.enter(">>> ", "console.log('run' + 'ning'); while (true) {}");
    talk.until("\nrunning\r\n");
    talk.press("\x03");
    talk.until("error: the cell was cancelled\r\n");
    talk.enter(">>> ", "rows.length");
    talk.until("\n2\r\n");
    talk.until(">>> ");
    talk.press("\x04");
    assert_eq!(talk.finish(), 0);
    let history =
        fs::read_to_string(state.path().join("warmcell/history-javascript")).expect("a history");
    assert!(history.starts_with("const rows = "), "{history}");
}
