//! Where an error comes from: a place in the source, or none where the engine leaves it in doubt.

use serde_json::json;
use warmcell::FailureKind;

use super::on_each_engine;
use crate::support::{Cells, Judge, each};

/// boa knows no place for a method, and names one before it.
#[test]
fn a_method_of_nothing_is_found_or_has_no_place() {
    on_each_engine(|engine| {
        if engine.name != "boa" {
            return;
        }
        each(
            [
                ("let a\n1\na.toFixed()", Some((3, 3))),
                ("let o = {}\no.x\no.x.toFixed(1)", Some((3, 3))),
                ("let o = {}\nconst q = 5\no.y.z", Some((3, 5))),
                ("let o\nlet k = 'x'\no[k]()", Some((3, 3))),
                ("let o\nObject.keys(o)", Some((2, 12))),
                ("let o\nObject.keys({})\no.x()", None),
                ("let o\nconsole.log(1)\no.x()", Some((3, 3))),
                ("let o\no.x?.y", None),
                (
                    "let o = {}\nconst f = () => {\n  const u = o.q\n  return u.map(x => x)\n}\nawait f()",
                    Some((4, 12)),
                ),
                (
                    "let o = {}, n = 0\nfor (const x of [1, 2]) {\n  n += x\n  console.log(n)\n  o.list.push(x)\n}",
                    Some((5, 5)),
                ),
                (
                    "let data = {}\nconst n = data.items\n  .filter(x => x.ok)\n  .map(x => x.n)",
                    Some((3, 4)),
                ),
                (
                    "class A { m() {\n  let z = 1\n  return this.q.w()\n} }\nnew A().m()",
                    Some((3, 17)),
                ),
                ("const m = new Map()\nm.get('a').push(1)", Some((2, 12))),
                ("let t\nreturn {\n  a: 1,\n  b: t.trim(),\n}", Some((4, 8))),
                ("let a, b = 1\nif (b.c) 1\na.x()\nb.y()", None),
            ],
            |(code, place)| {
                let outcome = engine.javascript().cell(code);
                let error = outcome.raised("TypeError");
                assert_eq!(error.line.zip(error.column), place, "{error:#?}");
                // The transformer has no place for a bracket: the column may be that of the token before.
                let outcome = engine.typescript().cell(code);
                let error = outcome.raised("TypeError");
                assert_eq!(error.line, place.map(|(line, _)| line), "{error:#?}");
            },
        );
    });
}

/// An error that is its own cause, or its cause's.
#[test]
fn a_circle_of_causes_is_told_once() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                (
                    "const e = new Error('one'); e.cause = e; throw e",
                    1,
                    "caused by: [Circular *1]",
                ),
                (
                    "const a = new Error('one'), b = new Error('two', { cause: a }); a.cause = b; throw a",
                    2,
                    "caused by: [Circular *1]",
                ),
                (
                    "const a = new Error('one'), b = new Error('two'); a.cause = b; b.cause = b; throw a",
                    2,
                    "caused by: [Circular *2]",
                ),
            ],
            |(code, causes, last)| {
                let outcome = session.cell(code);
                let traceback = outcome.raised("Error").traceback.clone().unwrap();
                assert_eq!(traceback.matches("caused by: ").count(), causes);
                assert_eq!(traceback.lines().last(), Some(last), "{traceback}");
            },
        );
    });
}

/// What a declaration imports and nobody has is told where the declaration stands.
#[test]
fn a_failed_import_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.js"), "export const a = ;\n").unwrap();
    on_each_engine(|engine| {
        each(
            [
                ("let k = 1\nimport fs from 'fs'", 2, 1),
                ("1; import { a } from './none.js'", 1, 4),
                ("\n  export * from './none.js'", 2, 3),
                ("import './broken.js'", 1, 1),
                ("import path from 'path'; import fs from 'fs'", 1, 1),
            ],
            |(code, line, column)| {
                let session = engine.open(|builder| builder.cwd(folder.path()));
                let outcome = session.cell(code);
                let error = outcome.raised("Error");
                assert_eq!((error.line, error.column), (Some(line), Some(column)));
                let source = code.lines().nth(line as usize - 1).unwrap().trim();
                let frame = format!("\n    at <cell 1>:{line}:{column}\n        {source}");
                let traceback = error.traceback.as_deref().unwrap();
                assert!(traceback.ends_with(&frame), "{traceback}");
            },
        );
        let outcome = engine.javascript().cell("import './a.js'");
        let error = outcome.failed(FailureKind::Exception);
        assert_eq!(error.hint.as_deref(), Some("open it with `cwd`"));
        assert_eq!(
            error.message,
            "cannot import `./a.js`: the session has no folder"
        );
        let session = engine.javascript();
        session
            .cell("(await import('./a.js').catch(e => e)).message")
            .returned(json!("cannot import `./a.js`: the session has no folder"));
    });
}
