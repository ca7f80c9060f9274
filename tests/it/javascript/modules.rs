//! `import`: files of the session's folder, and a clear word about anything else.

use serde_json::json;
use warmcell::{FailureKind, Language};

use super::on_each_engine;
use crate::support::{Cells, Judge, each, in_own_process};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "util.js",
            "export const one = 1; export default function hello(n) { return 'hello ' + n } export let count = 0; export const bump = () => ++count;",
        ),
        (
            "typed.ts",
            "import { one } from './util'; export interface Row { n: number } export enum E { A = 7 } export const two: number = one + 1;",
        ),
        ("data.json", r#"{ "rows": [1, 2] }"#),
        (
            "sub/inner.mjs",
            "import { one } from '../util.js'; export const three = one + 2; export { default as hi } from '../util.js';",
        ),
        ("broken.js", "export const a = ;\n"),
        ("throws.js", "throw new RangeError('while loading')"),
        (
            "waits.js",
            "export const late = await Promise.resolve('waited');",
        ),
        (
            "circle_a.js",
            "import { b } from './circle_b.js'; export const a = () => 'a' + b();",
        ),
        (
            "circle_b.js",
            "import { a } from './circle_a.js'; export const b = () => 'b' + typeof a;",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// What nothing in a cell uses may be a type, and so need not be there; what is used must.
#[test]
fn types_are_imported_as_nothing() {
    let folder = folder();
    std::fs::write(
        folder.path().join("uses.ts"),
        "import { Row, two } from './typed.ts'; import { Absent } from './absent'; export const rows: Row[] = [{ n: two }]; let a: Absent;",
    )
    .unwrap();
    on_each_engine(|engine| {
        let session = engine
            .turn
            .open(engine.builder(Language::TypeScript).cwd(folder.path()));
        session
            .cell("import { Row, two, E } from './typed.ts';\nimport { type Y, type Z } from './absent';\nimport type { X } from './absent';\nconst row: Row = { n: two }; row.n")
            .returned(json!(2));
        session.cell("E.A").returned(json!(7));
        session
            .cell("import { rows } from './uses'; rows")
            .returned(json!([{ "n": 2 }]));
        let outcome = session.cell("import { Row } from './typed.ts'; Row");
        assert_eq!(
            outcome.failed(FailureKind::Exception).message,
            "The requested module './typed.ts' does not provide an export named 'Row'"
        );
    });
}

#[test]
fn files_of_the_folder_are_imported() {
    let folder = folder();
    on_each_engine(|engine| {
        let session = engine.open(|builder| builder.cwd(folder.path()));
        session
            .cell("import hello, { one, bump as raise } from './util.js';\nimport * as util from './util';\n[hello('x'), one, raise(), util.one]")
            .returned(json!(["hello x", 1, 1, 1]));
        // A module is loaded once, and what it gave is bound in later cells.
        session
            .cell("[raise(), util.count, hello.name]")
            .returned(json!([2, 2, "hello"]));
        session
            .cell("import { two, E } from './typed.ts'; import { three, hi } from './sub/inner.mjs'; [two, E.A, three, hi(2)]")
            .returned(json!([2, 7, 3, "hello 2"]));
        session
            .cell("import data from './data.json'; data.rows")
            .returned(json!([1, 2]));
        session
            .cell("import data from './data.json' with { type: 'json' }; data.rows")
            .returned(json!([1, 2]));
        session
            .cell("import { late } from './waits.js'; late")
            .returned(json!("waited"));
        session
            .cell("import { a } from './circle_a.js'; a()")
            .returned(json!("abfunction"));
        session
            .cell("(await import('./util.js')).one")
            .returned(json!(1));
        session
            .cell("const name = './sub/inner.mjs'; const { three: dynamic } = await import(name); dynamic")
            .returned(json!(3));
        session.cell("import './util.js'; 5").returned(json!(5));
        session.cell("hello = 1").raised("TypeError");
        session
            .cell("import hello from './util.js'; hello(1)")
            .returned(json!("hello 1"));
    });
}

#[test]
fn what_cannot_be_imported_is_explained() {
    let folder = folder();
    on_each_engine(|engine| {
        let session = engine.open(|builder| builder.cwd(folder.path()));
        session.cell("let keep = 41").succeeded();
        each(
            [
                ("lodash", "packages are not installed"),
                ("@scope/package", "packages are not installed"),
                ("fs", "Node's modules are not available"),
                ("node:fs/promises", "Node's modules are not available"),
                ("https://esm.sh/lodash", "not loaded from the network"),
                ("/etc/passwd", "only files in the session's folder"),
                ("../outside.js", "outside the session's folder"),
                ("./missing.js", "there is no file `missing.js`"),
                ("./sub", "there is no file `sub`"),
                ("./broken.js", "broken.js:1:18"),
            ],
            |(specifier, reason)| {
                for code in [
                    format!("import x from '{specifier}'; x"),
                    format!("await import('{specifier}')"),
                    format!("export * from '{specifier}'"),
                ] {
                    let outcome = session.cell(&code);
                    let error = outcome
                        .error
                        .as_ref()
                        .unwrap_or_else(|| panic!("{code}: {outcome:#?}"));
                    assert!(
                        error.message.contains(reason),
                        "{code} on {}: {error:#?}",
                        engine.name
                    );
                    session.cell("keep").returned(json!(41));
                }
            },
        );
        let outcome = session.cell("import './throws.js'");
        assert_eq!(outcome.raised("RangeError").message, "while loading");
        let outcome = session.cell("import { nothing } from './util.js'");
        let error = outcome.raised("SyntaxError");
        assert!(error.message.contains("nothing"), "{error:#?}");
        session
            .cell("const fs = require('fs')")
            .raised("ReferenceError");
        session.cell("import.meta.url").failed(FailureKind::Syntax);
    });
}

/// A link is no way out of the folder.
#[test]
fn a_link_does_not_lead_out() {
    let (folder, outside) = (folder(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("secret.js"), "export default 'secret'").unwrap();
    std::os::unix::fs::symlink(
        outside.path().join("secret.js"),
        folder.path().join("link.js"),
    )
    .unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("way")).unwrap();
    on_each_engine(|engine| {
        let session = engine.open(|builder| builder.cwd(folder.path()));
        for specifier in ["./link.js", "./way/secret.js"] {
            let outcome = session.cell(&format!("import s from '{specifier}'; s"));
            let error = outcome.error.as_ref().expect("refused");
            assert!(
                error.message.contains("leads outside the session's folder"),
                "{error:#?}"
            );
        }
    });
}

#[test]
fn exports_are_harmless() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("export const a = 1; export function f() { return a } export class C {} const b = 2; export { a as x, b }; export default f() + b")
            .returned(json!(3));
        session
            .cell("[a, f(), typeof C, b]")
            .returned(json!([1, 1, "function", 2]));
        session
            .cell("export default { rows: [1] }")
            .returned(json!({ "rows": [1] }));
    });
}

/// Without a folder of its own a session sees no files, whatever the process's folder holds.
#[test]
fn a_session_without_a_folder_imports_nothing() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let outcome = engine.javascript().cell("import x from './Cargo.toml'");
            let error = outcome.error.as_ref().expect("refused");
            assert!(
                error.message.contains("the session has no folder"),
                "{error:#?}"
            );
        });
    });
}

/// What a cell says of loops, of its end and of places holds in a module, too.
#[test]
fn a_module_is_told_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let loops = "export const h = [];\nfor (let i = 0; i < 3; i++) { h.push(() => i); if (i === 1) continue; h.bad = () => { throw new Error(i) } }\n";
    for (name, text) in [
        ("loops.js", loops),
        ("loops.mjs", loops),
        (
            "loops.ts",
            "interface Row { n: number }\nexport const h: any = [];\n\nfor (let i: number = 0; i < 3; i++) { h.push((): number => i); if (i === 1) continue; h.bad = () => { throw new Error(String(i)) } }\n",
        ),
        ("brace.js", "const a = 1;\nexport { a }"),
        ("comment.js", "const a = 1;\nexport { a } // a"),
        ("typed.ts", "const a: number = 1;\nexport { a }"),
        ("word.js", "let async = 1; export const a = 1; async"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    on_each_engine(|engine| {
        // The engines differ in what of `new Error(i)` they call its place.
        let columns = match engine.name {
            "boa" => [93, 109],
            _ => [103, 126],
        };
        each(
            [
                ("loops.js", 2, columns[0]),
                ("loops.mjs", 2, columns[0]),
                ("loops.ts", 4, columns[1]),
            ],
            |(file, line, column)| {
                let session = engine.open(|builder| builder.cwd(folder.path()));
                session
                    .cell(&format!("import {{ h }} from './{file}'; h.map(f => f())"))
                    .returned(json!([0, 1, 2]));
                let outcome = session.cell("h.bad()");
                let traceback = outcome.raised("Error").traceback.clone().unwrap();
                let place = format!("./{file}:{line}:{column}\n        for (let i");
                assert!(traceback.contains(&place), "{place}: {traceback}");
            },
        );
        each(["brace.js", "comment.js", "typed.ts", "word.js"], |file| {
            let session = engine.open(|builder| builder.cwd(folder.path()));
            session
                .cell(&format!("import {{ a }} from './{file}'; a"))
                .returned(json!(1));
        });
        let session = engine.javascript();
        session.cell("let async = 1; async").returned(json!(1));
        session.cell("async // async").returned(json!(1));
    });
}
