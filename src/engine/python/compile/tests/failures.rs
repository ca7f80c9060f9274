//! What does not compile, and warnings.

use super::*;

#[test]
fn what_does_not_compile_fails_as_the_whole_cell_does() {
    with_python(|bench| {
        for (source, wanted) in [
            ("a = 1\nb = = 2\n", "SyntaxError:2:5 invalid syntax"),
            ("b = = 2\n1 + 1\n", "SyntaxError:1:5 invalid syntax"),
            ("a = 1\n1 +\n", "SyntaxError:2:4 invalid syntax"),
            ("1 +", "SyntaxError:1:4 invalid syntax"),
            ("a = 1; 1 +", "SyntaxError:1:11 invalid syntax"),
            ("f(", "SyntaxError:1:2 '(' was never closed"),
            ("x = 1\nf(\n1", "SyntaxError:2:2 '(' was never closed"),
            (")", "SyntaxError:1:1 unmatched ')'"),
            (
                "x = 1\n'abc",
                "SyntaxError:2:1 unterminated string literal (detected at line 2)",
            ),
            (
                "x = '''\n",
                "SyntaxError:1:5 unterminated triple-quoted string literal (detected at line 1)",
            ),
            (
                "print 'a'",
                "SyntaxError:1:1 Missing parentheses in call to 'print'. Did you mean print(...)?",
            ),
            (
                "def f():\n    a = 1\n      b = 2\n",
                "IndentationError:3:6 unexpected indent",
            ),
            (
                "x = 1\n    y = 2\n    y",
                "IndentationError:2:4 unexpected indent",
            ),
            (
                "    x = 1\ny = 2\n    y",
                "IndentationError:1:4 unexpected indent",
            ),
            (
                "if 1:\nx",
                "IndentationError:2:1 expected an indented block after 'if' statement on line 1",
            ),
            (
                "x = 1\nreturn x\n    y",
                "IndentationError:3:4 unexpected indent",
            ),
            ("x = 1\nx\n    y", "IndentationError:3:4 unexpected indent"),
            ("yield 1", "SyntaxError:1:1 'yield' outside function"),
            (
                "x = (yield 1)\nx",
                "SyntaxError:1:6 'yield' outside function",
            ),
            (
                "return (yield 1)",
                "SyntaxError:1:9 'yield' outside function",
            ),
            ("x := 1", "SyntaxError:1:3 invalid syntax"),
            ("return x := 1", "SyntaxError:1:10 invalid syntax"),
            ("return x for x in y", "SyntaxError:1:10 invalid syntax"),
            ("x for x in y", "SyntaxError:1:3 invalid syntax"),
            ("return 1)", "SyntaxError:1:9 unmatched ')'"),
            (
                "x = 1\nfrom __future__ import annotations",
                "SyntaxError:2:1 from __future__ imports must occur at the beginning of the file",
            ),
            (
                "x = 1\nglobal x",
                "SyntaxError:2:1 name 'x' is assigned to before global declaration",
            ),
            (
                "x = 1\nif x:\n    global x\n    return 1",
                "SyntaxError:3:5 name 'x' is used prior to global declaration",
            ),
            ("break", "SyntaxError:1:1 'break' outside loop"),
            (
                "if 1:\n    continue\nif 1: return 2",
                "SyntaxError:2:5 'continue' not properly in loop",
            ),
            (
                "if 1: return 2\nbreak",
                "SyntaxError:2:1 'break' outside loop",
            ),
            (
                "for i in (): pass\nelse: break\nif 1: return 2",
                "SyntaxError:2:7 'break' outside loop",
            ),
            (
                "x = 1\nreturn 1\nif x:\n    break",
                "SyntaxError:4:5 'break' outside loop",
            ),
            ("return 1\nb = = 2", "SyntaxError:2:5 invalid syntax"),
            (
                "return 1\ndef f():\n    break",
                "SyntaxError:3:5 'break' outside loop",
            ),
            (
                "class A:\n    return 3\n",
                "SyntaxError:2:5 'return' outside function",
            ),
            (
                "class A:\n    return 3\n1",
                "SyntaxError:2:5 'return' outside function",
            ),
            (
                "class A:\n    return 3\nif 1: return 2",
                "SyntaxError:2:5 'return' outside function",
            ),
            (
                "if 1: return 2\nclass A:\n    return 3",
                "SyntaxError:3:5 'return' outside function",
            ),
            (
                "try:\n    1\nexcept* ValueError:\n    return 1",
                "SyntaxError:4:5 'break', 'continue' and 'return' cannot appear in an except* block",
            ),
            (
                "a = 1\0",
                "SyntaxError:1:6 source code cannot contain null bytes",
            ),
            (
                "a\r\nб\0b",
                "SyntaxError:2:2 source code cannot contain null bytes",
            ),
            // In the positions of the text as it was given.
            ("    a = 1\n    b = = 2\n", "SyntaxError:2:9 invalid syntax"),
            (
                "    class A:\n        return 3\n",
                "SyntaxError:2:9 'return' outside function",
            ),
            (
                "\tif 1: return 2\n\tbreak",
                "SyntaxError:2:2 'break' outside loop",
            ),
            ("    f(\n    1", "SyntaxError:1:6 '(' was never closed"),
        ] {
            bench.check(&[(source, wanted)])?;
        }
        let deep = "(".repeat(20_000) + "1";
        assert_eq!(
            bench.cell(&deep, &bench.session()?)?,
            "SyntaxError:1:201 too many nested parentheses"
        );
        let long = format!("{}1", "-".repeat(100_000));
        let failure = bench.cell(&long, &bench.session()?)?;
        assert!(
            [
                "RecursionError while compiling",
                "MemoryError while compiling"
            ]
            .contains(&failure.as_str()),
            "{failure}"
        );
        Ok(())
    });
}

#[test]
fn errors_show_the_line_as_it_was_given() {
    with_python(|bench| {
        for (source, line) in [
            ("a = 1\nb = = 2\n", "b = = 2\n"),
            ("class A:\n    return 3", "    return 3"),
            ("if 1: return 2\nbreak # x\n", "break # x\n"),
            ("    a = 1\n    b = = 2\n", "    b = = 2\n"),
            ("\ta = 1\n\tbreak\n", "\tbreak\n"),
            ("a\0b", "a\0b"),
        ] {
            let Err(error) = bench.compile(source) else {
                panic!("{source} compiles");
            };
            let text: String = error.value(bench.py).getattr("text")?.extract()?;
            assert_eq!(text, line, "{source}");
            assert!(error.traceback(bench.py).is_none(), "{source}");
        }
        Ok(())
    });
}

#[test]
fn warnings_come_exactly_once() {
    with_python(|bench| {
        for source in [
            "x = '\\d'",
            "'\\d'",
            "x = '\\d'\ny = '\\q'\nx + '\\w'",
            "1 is 1",
            "x = 1 is 1\n2 is 2",
            "assert (1, 'x')",
            "assert (1, 'x')\n1 is 1",
            "x = '\\d'; '\\q'",
            "x = '\\d'\n'\\q'; 1 is 1; x",
            "a, lambda: '\\d'",
            "def f():\n    '\\d'\n    return 1 is 1\nf()",
            // Failures.
            "x = '\\d'\nb = = 2",
            "x = '\\d'\n'\\q' +",
            "class A:\n    '\\d'\n    return 1 is 1",
        ] {
            let plain = bench.support.call_method1("plain_warnings", (source,))?;
            let ours = bench
                .support
                .call_method1("warnings_of", (bench.compiling(source)?,))?;
            let (plain, plain_error): (Vec<String>, Option<String>) = plain.extract()?;
            let (ours, error): (Vec<String>, Option<String>) = ours.extract()?;
            assert!(!ours.is_empty(), "{source}");
            assert_eq!((ours, error), (plain, plain_error), "{source}");
        }
        // A plain `compile` ends at the `return`.
        for (source, wanted) in [
            ("x = '\\d'\nreturn 1 is 1", 2),
            ("x = '\\d'\nif 1 is 1: return '\\q'\n2 is 2", 4),
            ("return 1, *['\\d']", 1),
            ("x = '\\d'\nreturn \\\n '\\d'", 2),
            ("    x = '\\d'\n    x", 1),
        ] {
            let ours = bench
                .support
                .call_method1("warnings_of", (bench.compiling(source)?,))?;
            let (ours, error): (Vec<String>, Option<String>) = ours.extract()?;
            assert_eq!((ours.len(), error), (wanted, None), "{source}: {ours:?}");
        }
        Ok(())
    });
}

#[test]
fn a_warning_can_be_an_error() {
    with_python(|bench| {
        for (source, wanted) in [
            (
                "x = 1\nx is 1",
                "2: \"is\" with a literal. Did you mean \"==\"?",
            ),
            ("x = '\\d'\n1", "1: invalid escape sequence '\\d'"),
            ("x = '\\d'", "1: invalid escape sequence '\\d'"),
            ("x = '\\d'\nreturn 1", "1: invalid escape sequence '\\d'"),
            (
                "x = 1\nreturn x is 1",
                "2: \"is\" with a literal. Did you mean \"==\"?",
            ),
            (
                "x = 1\nif x is 1: return 1",
                "2: \"is\" with a literal. Did you mean \"==\"?",
            ),
        ] {
            let ours = bench
                .support
                .call_method1("as_errors", (bench.compiling(source)?,))?;
            assert_eq!(
                ours.extract::<Option<String>>()?.as_deref(),
                Some(wanted),
                "{source}"
            );
        }
        Ok(())
    });
}
