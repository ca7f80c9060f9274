//! Both languages, at a prompt and from a pipe.

use proptest::prelude::*;

use super::*;

const PYTHON: Language = Language::Python;
const JAVASCRIPT: Language = Language::JavaScript;

#[test]
fn a_statement_is_whole_at_once() {
    for text in [
        "1 + 1",
        "x = [1, 2]",
        "x = 'a # b'",
        "\"it's\"",
        "",
        "# only a comment:",
        "x = {'a': 1}  # :",
        "for n in range(3): print(n)",
        "f(\n1,\n)",
        "'''a\nb'''",
        "x = 1 + \\\n2",
        ":vars",
    ] {
        assert!(is_complete(PYTHON, text), "{text:?}");
    }
}

#[test]
fn open_brackets_strings_and_backslashes_need_more() {
    for text in [
        "f(",
        "x = [1,",
        "{'a': (1",
        "'''a",
        "x = \"\"\"a\n\n",
        "x = 1 + \\",
        "f(  # )",
        "'''\\'''",
        "x = 'a\\",
    ] {
        assert!(!is_complete(PYTHON, text), "{text:?}");
    }
}

#[test]
fn an_empty_line_ends_a_block() {
    for block in [
        "if x:",
        "def f():  # why",
        "def f():\n    return 1",
        "@cached",
        "@cached\ndef f(): pass\nif x:",
        "class A:\n    x = 1\n    y = (\n2)",
        "if x:\n    y\nelse:",
        "def f(\n  a,\n):",
    ] {
        assert!(!is_complete(PYTHON, block), "{block:?}");
        assert!(is_complete(PYTHON, &format!("{block}\n")), "{block:?}");
        assert!(is_complete(PYTHON, &format!("{block}\n    ")), "{block:?}");
    }
}

#[test]
fn wrong_input_is_for_the_language_to_judge() {
    for text in [")", "x = 'a", "]]", "x = (1))"] {
        assert!(is_complete(PYTHON, text), "{text:?}");
    }
}

fn gathered(language: Language, text: &str) -> Vec<String> {
    let mut gatherer = Gatherer::default();
    let lines = text.lines();
    let mut cells: Vec<String> = lines
        .flat_map(|line| gatherer.line(language, line))
        .collect();
    cells.extend(gatherer.rest());
    cells
}

#[test]
fn lines_from_a_pipe_need_no_empty_line_after_a_block() {
    assert_eq!(
        gathered(
            PYTHON,
            "def f():\n    x = 1\n\n    return x\nf()\n:vars\ny = 2"
        ),
        [
            "def f():\n    x = 1\n\n    return x",
            "f()",
            ":vars",
            "y = 2"
        ]
    );
    assert_eq!(
        gathered(PYTHON, "if x:\n    1\n# why\nelse:\n    2\n3"),
        ["if x:\n    1\n# why\nelse:\n    2", "3"]
    );
    assert_eq!(
        gathered(PYTHON, "@a\n@b\ndef f():\n  pass\n@c\ndef g():\n  pass"),
        ["@a\n@b\ndef f():\n  pass", "@c\ndef g():\n  pass"]
    );
    assert_eq!(
        gathered(PYTHON, "x = (1,\n\n2)\n\n\ny"),
        ["x = (1,\n\n2)", "y"]
    );
    assert_eq!(
        gathered(PYTHON, "f('''\n:quit\n''')"),
        ["f('''\n:quit\n''')"]
    );
}

#[test]
fn javascript_is_whole_at_once() {
    for text in [
        "1 + 1",
        "const x = [1, 2]",
        "x = 'a // b'",
        "\"it's\"",
        "",
        "// only a comment {",
        "f(\n1,\n)",
        "`a\nb ${ {x: `}`}.x } c`",
        "/[(/]/.test('(')",
        "a / b / (c)",
        "x++",
        "return /(/ .test(x) /* ( */",
        "if (x) { y }",
        "if (x) y; else z",
        "try { a } catch { b }",
        "try { a } finally { b }",
        "do { a } while (x)",
        "rows.map((row) => row.name)\n  .join(', ')",
        "promise.catch(f)",
        "Array.of",
        "let x: Array<Promise<string>>",
        "const y = x!",
        "function f() {}",
        "function f(x: number): string;",
        "class A { static { } }",
        "while (x) y()",
        "#!/usr/bin/env node",
        "`\\``",
        ":vars",
    ] {
        assert!(is_complete(JAVASCRIPT, text), "{text:?}");
    }
}

#[test]
fn open_brackets_strings_templates_and_comments_need_more() {
    for text in [
        "f(",
        "x = [1,",
        "({'a': (1",
        "`a",
        "`a ${",
        "`a ${ `b` ",
        "`a ${b} ",
        "f(  // )",
        "/* why",
        "f(/[)]/",
        "'a\\",
        "function f() {",
        "if (x) {\n  y\n\n",
        "`\\`",
    ] {
        assert!(!is_complete(JAVASCRIPT, text), "{text:?}");
    }
}

#[test]
fn an_empty_line_ends_what_expects_more() {
    for text in [
        "x =",
        "a +",
        "const f = (a) =>",
        "rows.",
        "x ?",
        "if (x)",
        "if (x) y\nelse",
        "for await (const x of y)",
        "while (f(1))",
        "try { a }",
        "do { a }",
        "function f()",
        "class A",
        "await",
        "typeof",
    ] {
        assert!(!is_complete(JAVASCRIPT, text), "{text:?}");
        assert!(is_complete(JAVASCRIPT, &format!("{text}\n")), "{text:?}");
    }
}

#[test]
fn wrong_javascript_is_for_the_language_to_judge() {
    for text in [
        ")", "x = 'a", "]]", "x = (1))", "}", "/[", "x = /(", "const",
    ] {
        assert!(is_complete(JAVASCRIPT, text), "{text:?}");
    }
}

#[test]
fn lines_of_javascript_from_a_pipe_make_cells() {
    assert_eq!(
        gathered(
            JAVASCRIPT,
            "function f() {\n  const x = 1\n\n  return x\n}\nf()\n:vars\ny = 2"
        ),
        [
            "function f() {\n  const x = 1\n\n  return x\n}",
            "f()",
            ":vars",
            "y = 2"
        ]
    );
    assert_eq!(
        gathered(JAVASCRIPT, "if (x) {\n  1\n}\n// why\nelse {\n  2\n}\n3"),
        ["if (x) {\n  1\n}\n// why\nelse {\n  2\n}", "3"]
    );
    assert_eq!(
        gathered(JAVASCRIPT, "try {\n  1\n}\ncatch {\n}\nfinally {\n}\nx"),
        ["try {\n  1\n}\ncatch {\n}\nfinally {\n}", "x"]
    );
    assert_eq!(
        gathered(JAVASCRIPT, "if (x) {\n}\nif (y) {\n}"),
        ["if (x) {\n}", "if (y) {\n}"]
    );
    assert_eq!(gathered(JAVASCRIPT, "f(`\n:quit\n`)"), ["f(`\n:quit\n`)"]);
}

proptest! {
    #[test]
    fn no_line_is_lost_and_none_is_made_up(
        language in prop::sample::select(vec![PYTHON, JAVASCRIPT]),
        lines in prop::collection::vec("[a-z(){}\\[\\]'\"\\\\:@#`$/*é \t]{0,12}", 0..12),
    ) {
        let text = lines.join("\n");
        let said = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
        };
        prop_assert_eq!(said(&gathered(language, &text).join("\n")), said(&text));
    }
}
