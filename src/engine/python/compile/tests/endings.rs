//! What runs, and what the value is.

use super::*;

#[test]
fn a_cell_ends_with_its_last_expression_or_with_nothing() {
    with_python(|bench| {
        for (source, wanted) in [
            ("1 + 1", "Expression 2"),
            ("\n# first\n\n1 + 1  # last\n\n# end", "Expression 2"),
            ("x = 1", "Nothing"),
            ("x = 1\nx + 1", "Expression 2"),
            ("x = 1\nx", "Expression 1"),
            ("x = y = 1", "Nothing"),
            ("x = [1, 2]\nx[0] = 3", "Nothing"),
            ("x = 1\nx += 1", "Nothing"),
            ("x = 8\nx >>= 1\nx", "Expression 4"),
            ("x = 8\nx <<= 1", "Nothing"),
            ("x: int = 1", "Nothing"),
            ("x: int", "Nothing"),
            ("1 == 1", "Expression True"),
            ("1 <= 1", "Expression True"),
            ("1 != 1", "Expression False"),
            ("2 >= 1", "Expression True"),
            ("(y := 3)", "Expression 3"),
            ("[y := 3, y]", "Expression [3, 3]"),
            ("dict(a=1)", "Expression {'a': 1}"),
            ("(\n1,\n2\n)", "Expression (1, 2)"),
            ("[\n1,\n2,\n][0]", "Expression 1"),
            ("1, *[2, 3]", "Expression (1, 2, 3)"),
            ("*[2, 3],", "Expression (2, 3)"),
            ("2 ** 3 * 2", "Expression 16"),
            ("1 + \\\n  2", "Expression 3"),
            ("x = 1\n1 \\\n+ 1\n", "Expression 2"),
            ("not 1", "Expression False"),
            ("None", "Expression None"),
            ("...", "Expression Ellipsis"),
            ("(lambda a=1: a)()", "Expression 1"),
            ("f = lambda a=1: a", "Nothing"),
            ("f = lambda: 1\nf()", "Expression 1"),
            ("1 if 1 else lambda: 1", "Expression 1"),
            ("(1, lambda a=1: a)[0]", "Expression 1"),
            ("lambda_ = 1", "Nothing"),
            ("match = 4\nmatch", "Expression 4"),
            ("match = [4]\nmatch[0]", "Expression 4"),
            ("type = 3\ntype", "Expression 3"),
            ("case = print\ncase", "Expression <built-in function print>"),
            ("print = 3\nprint", "Expression 3"),
            ("def f(): pass", "Nothing"),
            ("if 1:\n    1", "Nothing"),
            ("if 1: 1", "Nothing"),
            ("for i in (): pass\nelse:\n    2", "Nothing"),
            ("try:\n    1\nfinally:\n    2\n3", "Expression 3"),
            ("with open('/dev/null') as f: f", "Nothing"),
            ("@property\ndef f(self): pass\n", "Nothing"),
            (
                "@property\n# note\n\ndef f(self): pass\nf is not None",
                "Expression True",
            ),
            ("import sys", "Nothing"),
            ("del __name__", "Nothing"),
            ("pass", "Nothing"),
            ("assert 1", "Nothing"),
            ("global z", "Nothing"),
            ("# nothing to do", "Nothing"),
            ("1;", "Nothing"),
            ("1; # hidden", "Nothing"),
            ("1;\n# comment", "Nothing"),
            ("1 \\\n \\\n ; # hidden", "Nothing"),
            ("x = 1; x + 1", "Expression 2"),
            ("x = 1; x + 1;", "Nothing"),
            ("1; x = 2", "Nothing"),
            ("x = 1; y = {'a': 2}; y['a']", "Expression 2"),
            ("1 # a ; b", "Expression 1"),
            ("'a;b'", "Expression 'a;b'"),
            ("'''a\nx = 1 # '''", "Expression 'a\\nx = 1 # '"),
            ("len('''\nx = 1\n''')", "Expression 7"),
            ("x = '''\n1\n'''", "Nothing"),
            ("x = '''\n1 # '''\nx", "Expression '\\n1 # '"),
            ("'it\\'s'\n", "Expression \"it's\""),
            (
                "r'\\'",
                "SyntaxError:1:1 unterminated string literal (detected at line 1)",
            ),
            ("rb'\\x' + b''", "Expression b'\\\\x'"),
            ("a = 'é🙂'; a + 'é'", "Expression 'é🙂é'"),
            ("ключ = 1\nключ", "Expression 1"),
            ("x = 3\nf'{x}' f\"{x!r:>{x}}\"", "Expression '3  3'"),
            ("x = 1\n\x0cx", "Expression 1"),
            ("x = 1\n \x0c  \x0cx = 2", "Nothing"),
            ("a = 1\r\nif a:\r\n    a = 2\r\na\r\n", "Expression 2"),
            ("a = 1\ra", "Expression 1"),
            ("'''a\r\nb'''", "Expression 'a\\nb'"),
            ("\u{feff}1", "Expression 1"),
            ("# -*- coding: latin-1 -*-\n'é'", "Expression 'é'"),
            ("# -*- coding: nonsense -*-\nx = 'é'\nx", "Expression 'é'"),
            ("'doc'\nx = 1\n__doc__", "Expression 'doc'"),
            (
                "from __future__ import annotations\ndef f(x: no): pass\nf.__annotations__",
                "Expression {'x': 'no'}",
            ),
            (
                "from __future__ import annotations\n(lambda: 1)()",
                "Expression 1",
            ),
            (
                "from __future__ import barry_as_FLUFL\n1 <> 2",
                "Expression True",
            ),
            ("'doc'\nfrom __future__ import annotations", "Nothing"),
        ] {
            bench.check(&[(source, wanted)])?;
        }
        Ok(())
    });
}

#[test]
fn a_return_ends_the_cell() {
    with_python(|bench| {
        for (source, wanted) in [
            ("return 1", "Return 1"),
            ("return None", "Return None"),
            ("return", "Nothing"),
            ("x = 1\nreturn", "Nothing"),
            ("x = 1\nreturn  # enough", "Nothing"),
            ("return;", "Nothing"),
            ("return 1;", "Return 1"),
            ("return (\n  1,\n  2\n)", "Return (1, 2)"),
            ("return{'a': 1}", "Return {'a': 1}"),
            ("return(1)", "Return 1"),
            ("return\t1 # x", "Return 1"),
            ("return \\\n  1", "Flagged Value 1"),
            ("return 1, *[2, 3]", "Flagged Value (1, 2, 3)"),
            ("return *[2, 3],", "Flagged Value (2, 3)"),
            ("return lambda: 1", "Return"),
            ("print('a'); x = 'é🙂'; return x", "Return 'é🙂'"),
            ("x = 'é'; return", "Nothing"),
            (
                "from __future__ import annotations\ndef f(x: no): return x\nreturn f(3)",
                "Return 3",
            ),
            ("return 1\n2", "Flagged Value 1"),
            ("return 1; 2", "Flagged Value 1"),
            ("return\n2", "Flagged Bare"),
            ("return 1\nreturn 2", "Flagged Value 1"),
            ("if True:\n    return 5\nprint('no')", "Flagged Value 5"),
            ("if True: return 5", "Flagged Value 5"),
            ("if True: x = 5; return x", "Flagged Value 5"),
            ("if True:\n    return\nno", "Flagged Bare"),
            ("if True:\n    return None\nno", "Flagged Value None"),
            (
                "if False:\n    return 1\n'last'",
                "Flagged Expression 'last'",
            ),
            ("if False:\n    return 1\nNone", "Flagged Expression None"),
            ("if False:\n    return 1\n'last';", "Flagged Nothing"),
            (
                "if False:\n    return 1\n'last' ;  # hidden",
                "Flagged Nothing",
            ),
            (
                "if False:\n    return 1\nx = ';'\n(\n'last'\n)",
                "Flagged Expression 'last'",
            ),
            ("if False:\n    return 1\nx = 1", "Flagged Nothing"),
            ("if False:\n    return 1\nelse:\n    2", "Flagged Nothing"),
            ("x = 1\nif x: return x\n2", "Flagged Value 1"),
            ("'doc'\nif 1: return __doc__", "Flagged Value 'doc'"),
            (
                "'doc'\nfrom __future__ import annotations\nif 1:\n    def f(x: no): pass\n    return f.__annotations__",
                "Flagged Value {'x': 'no'}",
            ),
            (
                "from __future__ import annotations\nif 1:\n    def f(x: no): pass\n    return __annotations__ if 0 else f.__annotations__",
                "Flagged Value {'x': 'no'}",
            ),
            ("global g\ng = 1\nif g: return g", "Flagged Value 1"),
            (
                "for i in range(9):\n    if i == 3:\n        return i\nelse:\n    print('no')",
                "Flagged Value 3",
            ),
            ("while True:\n    return 5", "Flagged Value 5"),
            (
                "for i in []: pass\nelse:\n    return 'else'",
                "Flagged Value 'else'",
            ),
            (
                "for i in range(9):\n    for j in range(9):\n        while True:\n            if i*j == 6: return (i, j)\n            break",
                "Flagged Value (1, 6)",
            ),
            ("match 3:\n    case 3: return 'm'\n0", "Flagged Value 'm'"),
            ("match = 3\nif match: return match", "Flagged Value 3"),
            (
                "try:\n    return 1\nexcept BaseException:\n    print('caught')",
                "Flagged Value 1",
            ),
            (
                "for i in range(3):\n    try:\n        1/0\n    finally:\n        return 'swallowed'",
                "Flagged Value 'swallowed'",
            ),
            (
                "try:\n    return 5\nfinally:\n    raise ValueError('late')",
                "ValueError: late",
            ),
            (
                "import contextlib\nwith contextlib.suppress(ValueError):\n    try:\n        return 1\n    finally:\n        raise ValueError\n2",
                "Flagged Expression 2",
            ),
            (
                "for i in range(2):\n    try:\n        return i\n    finally:\n        break\n'after'",
                "Flagged Expression 'after'",
            ),
            (
                "for i in range(2):\n    try:\n        return i\n    finally:\n        continue\ni",
                "Flagged Expression 1",
            ),
            (
                "try:\n    return 1\nfinally:\n    for x in [1]:\n        try:\n            return 2\n        finally:\n            break",
                "Flagged Value 1",
            ),
            (
                "x: int = 1\nif x:\n    return __annotations__",
                "Flagged Value {'x': <class 'int'>}",
            ),
            (
                "from math import *\nif True: return round(pi, 2)",
                "Flagged Value 3.14",
            ),
            (
                "if (w := 4): return [w*i for i in range(2)]",
                "Flagged Value [0, 4]",
            ),
            (
                "class A:\n    def f(self): return 1\nA().f()",
                "Expression 1",
            ),
            ("def f():\n    if 1:\n        return 4\nf()", "Expression 4"),
            ("async def f(): return 3\nreturn await f()", "Return 3"),
            (
                "async def f(): return 3\nif 1:\n    return await f()",
                "Flagged Value 3",
            ),
            (
                "import asyncio\nfor i in range(3):\n    if i: return await asyncio.sleep(0, i*10)",
                "Flagged Value 10",
            ),
            (
                "async def g():\n    yield 1\n    yield 2\nasync for q in g():\n    if q == 2: return q",
                "Flagged Value 2",
            ),
            (
                "if 1: return sorted(k for k in globals() if k != '__builtins__')",
                "Flagged Value ['__name__']",
            ),
            ("globals().clear()\nif 1: return 1", "Flagged Value 1"),
        ] {
            let globals = bench.session()?;
            let got = bench.cell(source, &globals)?;
            assert!(
                got == wanted || got.starts_with("Return <function <lambda>") && wanted == "Return",
                "{source}\ngives {got}, not {wanted}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_session_of_cells_is_one_module() {
    with_python(|bench| {
        bench.check(&[
            ("log=[]\ntry:\n    try:\n        return 7\n    except BaseException:\n        log.append('no')\n    finally:\n        log.append('inner')\nfinally: log.append('outer')\nno", "Flagged Value 7"),
            ("log", "Expression ['inner', 'outer']"),
            ("import contextlib\nl=[]\n@contextlib.contextmanager\ndef cm():\n    try: yield\n    except BaseException as e: l.append(e)\n    finally: l.append('exit')\nwith cm():\n    return 8\nno", "Flagged Value 8"),
            ("l", "Expression ['exit']"),
            ("import asyncio\nawait asyncio.sleep(0, 9)", "Expression 9"),
            ("ticks=0\nasync def bg():\n    global ticks\n    while True:\n        ticks+=1\n        await asyncio.sleep(0)\nt=asyncio.create_task(bg())\nfor _ in range(5): await asyncio.sleep(0)\nticks>2", "Expression True"),
            ("a=ticks\nfor _ in range(5): await asyncio.sleep(0)\nresult = ticks>a and not t.done()\nt.cancel()\nresult", "Expression True"),
            ("class K:\n    def m(self): pass\nif 1: return (K.__qualname__, K.m.__qualname__, K.__module__)", "Flagged Value ('K', 'K.m', '__main__')"),
            ("z=1\ndel z\nif 1: return 'z' in globals()", "Flagged Value False"),
            ("import json as j, os.path\ndef helper(): return 'h'\nfor i in range(10):\n    if i == 3:\n        return i\n", "Flagged Value 3"),
            ("[i, helper(), helper.__qualname__, j.dumps(1), os.path.basename('a/b')]", "Expression [3, 'h', 'helper', '1', 'b']"),
            ("exec('y = 1')\nlocals() is globals(), 'y' in dir(), y", "Expression (True, True, 1)"),
            ("[k for k in globals() if k.startswith('__') and 'cell' in k]", "Expression []"),
        ])
    });
}

#[test]
fn what_was_returned_is_gone_after_the_run() {
    with_python(|bench| {
        let source = "if flag: return 5\n'last'";
        let compiled = bench.compile(source)?;
        let globals = bench.session()?;
        let run = |flag: bool| {
            globals.set_item("flag", flag)?;
            bench.run(&compiled, &globals)
        };
        run(true)?;
        assert!(matches!(
            take_flagged(bench.py, &compiled)?,
            Returned::Value(_)
        ));
        assert!(matches!(
            take_flagged(bench.py, &compiled)?,
            Returned::Nothing
        ));
        run(false)?;
        assert!(matches!(
            take_flagged(bench.py, &compiled)?,
            Returned::Expression(_)
        ));
        assert!(matches!(
            take_flagged(bench.py, &compiled)?,
            Returned::Nothing
        ));
        Ok(())
    });
}
