//! Indentation, positions, and what a compiled cell says of itself.

use super::*;

#[test]
fn an_indented_cell_runs_as_if_it_were_not() {
    with_python(|bench| {
        for (source, wanted) in [
            ("    a = 1\n    b = 2\n    a + b\n", "Expression 3"),
            ("\ta = 1\n\tif a:\n\t\ta = 5\n\ta\n", "Expression 5"),
            ("  1", "Expression 1"),
            (
                "\n  # first\n\n    x = 1\n# less\n\n    return x",
                "Return 1",
            ),
            ("    if 1:\n        return 2\n    3", "Flagged Value 2"),
            ("    f = (1 +\n1)\n    f", "Expression 2"),
            (
                "    t = '''one\n      two\n\n   \n      \nthree'''\n    return t",
                "Return 'one\\n  two\\n\\n\\n  \\nthree'",
            ),
            ("    x = 1 + \\\n  1\n    x", "Expression 2"),
            // Strings of a cell that is not indented stay.
            (
                "s = '''a\n    b\n   \nc'''\nreturn s",
                "Return 'a\\n    b\\n   \\nc'",
            ),
            ("\n\ns = '''\n    b'''\ns", "Expression '\\n    b'"),
            ("   # comment\ns = '''\n   b'''\ns", "Expression '\\n   b'"),
        ] {
            bench.check(&[(source, wanted)])?;
        }
        let compiled = bench.compile("\t a = 1\r\n\t a\r\n")?;
        assert_eq!(compiled.source.as_deref(), Some("a = 1\na\n"));
        assert_eq!(compiled.indentation, 2);
        let compiled = bench.compile("a = 1\na\n")?;
        assert_eq!(compiled.source, None);
        assert_eq!(compiled.indentation, 0);
        assert_eq!(bench.compile("a\r\nb")?.source.as_deref(), Some("a\nb"));
        Ok(())
    });
}

#[test]
fn a_cell_says_whether_it_awaits_and_has_functions() {
    with_python(|bench| {
        for (source, awaits, has_functions) in [
            ("1", false, false),
            ("x = 1\nx", false, false),
            ("await x", true, false),
            ("await x\n1", true, false),
            ("1\nreturn await x", true, false),
            ("if 1: return await x", true, false),
            ("async for i in x: pass", true, false),
            ("async def f(): await x", false, true),
            ("def f(): pass\n1", false, true),
            ("lambda: 1", false, true),
            ("class A: pass", false, true),
            ("if 1:\n    return lambda: 1", false, true),
        ] {
            let compiled = bench.compile(source)?;
            assert_eq!(compiled.awaits, awaits, "{source}");
            assert_eq!(compiled.has_functions, has_functions, "{source}");
            for part in compiled.parts.iter().flatten() {
                let name: String = part.getattr(bench.py, "co_filename")?.extract(bench.py)?;
                assert_eq!(name, "<cell>", "{source}");
            }
        }
        Ok(())
    });
}

#[test]
fn tracebacks_point_into_the_users_text() {
    with_python(|bench| {
        for (source, line, columns) in [
            ("x = 1\n\n1 + nope", 3, (4, 8)),
            ("x = 'é'; 1 + nope", 1, (14, 18)),
            ("# a\nreturn 1 + nope", 2, (11, 15)),
            ("x = 1; return nope", 1, (14, 18)),
            (
                "for i in range(3):\n    if i == 2:\n        return nope(i)\n",
                3,
                (15, 19),
            ),
            ("x = 1\nif x:\n    return x + nope", 3, (15, 19)),
            ("if 0: return 1\nnope", 2, (0, 4)),
            ("x = 1\n \x0cnope", 2, (2, 6)),
        ] {
            let compiled = bench.compile(source)?;
            let run = bench.run(&compiled, &bench.session()?);
            let Err(error) = run else {
                panic!("{source} runs");
            };
            let mut traceback = error.traceback(bench.py).map(Bound::into_any);
            let mut place = None;
            while let Some(frame) = traceback.filter(|frame| !frame.is_none()) {
                let code = frame.getattr("tb_frame")?.getattr("f_code")?;
                let index: usize = frame.getattr("tb_lasti")?.extract()?;
                let positions: Vec<(usize, usize, usize, usize)> = code
                    .call_method0("co_positions")?
                    .try_iter()?
                    .map(|position| position?.extract().or(Ok((0, 0, 0, 0))))
                    .collect::<PyResult<_>>()?;
                place = positions.get(index / 2).copied();
                traceback = Some(frame.getattr("tb_next")?);
            }
            assert_eq!(place, Some((line, line, columns.0, columns.1)), "{source}");
        }
        Ok(())
    });
}

#[test]
fn the_program_may_rebind_builtins() {
    with_python(|bench| {
        let session = bench.session()?;
        let names =
            "['isinstance', 'any', 'map', 'getattr', 'compile', 'tuple', 'type', 'SyntaxError']";
        let spoil = format!(
            "import builtins, ast, _ast\nsaved = {{n: getattr(builtins, n) for n in {names}}}\nclasses = ast.Return, _ast.While\nfor n in saved: setattr(builtins, n, None)\nast.Return = _ast.While = None\n"
        );
        assert_eq!(bench.cell(&spoil, &session)?, "Nothing");
        let value = bench.cell("for i in (1, 2):\n    return i", &session);
        let failure = bench.cell("if 1: return 2\nbreak", &session);
        let mend =
            "for n in saved: builtins.__dict__[n] = saved[n]\nast.Return, _ast.While = classes\n";
        assert_eq!(bench.cell(mend, &session)?, "Nothing");
        assert_eq!(value?, "Flagged Value 1");
        assert_eq!(failure?, "SyntaxError:2:1 'break' outside loop");
        Ok(())
    });
}
