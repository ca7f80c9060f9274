//! Cells, how they end, and what a plain `compile`, `ast` and functions say about the same text.

use std::sync::{Mutex, PoisonError};

use proptest::prelude::*;
use pyo3::types::{PyCFunction, PyModule};

use super::*;

/// Runs a test alone with Python: some look at the warnings of the whole interpreter.
fn with_python<T>(test: impl FnOnce(&Bench<'_>) -> PyResult<T>) -> T {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Python::initialize();
    Python::attach(|py| {
        let bench = Bench::new(py).and_then(|bench| test(&bench));
        bench.unwrap_or_else(|error| {
            error.print(py);
            panic!("{error}")
        })
    })
}

struct Bench<'py> {
    py: Python<'py>,
    compiler: Compiler,
    support: Bound<'py, PyModule>,
}

impl<'py> Bench<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let code = std::ffi::CString::new(include_str!("tests/support.py"))?;
        Ok(Self {
            py,
            compiler: Compiler::new(py)?,
            support: PyModule::from_code(py, &code, c"support.py", c"support")?,
        })
    }

    fn compile(&self, source: &str) -> PyResult<Compiled> {
        let name = PyString::new(self.py, "<cell>");
        self.compiler.compile(self.py, source, &name)
    }

    /// What a cell gives, in words: `Expression 2`, `Nothing`, `SyntaxError:2:5 invalid syntax`, `ValueError: x`.
    fn cell(&self, source: &str, globals: &Bound<'py, PyDict>) -> PyResult<String> {
        let compiled = match self.compile(source) {
            Ok(compiled) => compiled,
            Err(error) => return self.compile_error(&error),
        };
        let run = self
            .support
            .call_method1("run", (self.parts(&compiled)?, globals));
        let returned = take_flagged(self.py, &compiled)?;
        let value = match run {
            Ok(value) => value,
            Err(error) => return Ok(error.to_string()),
        };
        let text = match (compiled.ending, returned) {
            (Ending::Nothing, _) | (_, Returned::Nothing) if compiled.ending == Ending::Nothing => {
                "Nothing".to_owned()
            }
            (Ending::Expression, _) => format!("Expression {}", value.repr()?),
            (Ending::Return, _) => format!("Return {}", value.repr()?),
            (_, Returned::Nothing) => "Flagged Nothing".to_owned(),
            (_, Returned::Bare) => "Flagged Bare".to_owned(),
            (_, Returned::Value(value)) => format!("Flagged Value {}", value.bind(self.py).repr()?),
            (_, Returned::Expression(value)) => {
                format!("Flagged Expression {}", value.bind(self.py).repr()?)
            }
        };
        Ok(text)
    }

    fn compile_error(&self, error: &PyErr) -> PyResult<String> {
        let value = error.value(self.py);
        let kind = value.get_type().name()?;
        if !error::is_syntax(error, self.py) {
            return Ok(format!("{kind} while compiling"));
        }
        let line: Option<usize> = value.getattr("lineno")?.extract()?;
        let column: Option<usize> = value.getattr("offset")?.extract()?;
        let message = value.getattr("msg")?;
        Ok(format!(
            "{kind}:{}:{} {message}",
            line.unwrap_or(0),
            column.unwrap_or(0)
        ))
    }

    fn parts(&self, compiled: &Compiled) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, compiled.parts.iter().flatten())
    }

    fn session(&self) -> PyResult<Bound<'py, PyDict>> {
        let globals = PyDict::new(self.py);
        globals.set_item("__name__", "__main__")?;
        Ok(globals)
    }

    /// Runs the cells of one session, all of which must give what they are said to give.
    fn check(&self, cells: &[(&str, &str)]) -> PyResult<()> {
        let globals = self.session()?;
        for (source, wanted) in cells {
            assert_eq!(&self.cell(source, &globals)?, wanted, "{source}");
        }
        Ok(())
    }

    /// `ending` as `expected` of `support.py` names it, and whether the parts differ from those of the tree.
    fn against_tree(&self, source: &str) -> PyResult<(String, String, bool)> {
        let expected = self.support.call_method1("expected", (source,))?;
        let (wanted, codes): (String, Bound<'py, PyAny>) = expected.extract()?;
        let Ok(compiled) = self.compile(source) else {
            return Ok((wanted, "error".to_owned(), false));
        };
        let differs = !matches!(wanted.as_str(), "Flagged" | "error")
            && self
                .support
                .call_method1("differs", (codes, self.parts(&compiled)?))?
                .extract()?;
        Ok((wanted, format!("{:?}", compiled.ending), differs))
    }

    /// Compiling `source` as a Python function without arguments.
    fn compiling(&self, source: &str) -> PyResult<Bound<'py, PyCFunction>> {
        let source = source.to_owned();
        let compiler = Compiler::new(self.py)?;
        PyCFunction::new_closure(self.py, None, None, move |arguments, _| {
            let name = PyString::new(arguments.py(), "<cell>");
            compiler.compile(arguments.py(), &source, &name).map(drop)
        })
    }
}

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
        let parts = bench.parts(&compiled)?;
        let run = |flag: bool| {
            globals.set_item("flag", flag)?;
            bench.support.call_method1("run", (&parts, &globals))
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
                "IndentationError:3:7 unexpected indent",
            ),
            (
                "x = 1\n    y = 2\n    y",
                "IndentationError:2:5 unexpected indent",
            ),
            (
                "    x = 1\ny = 2\n    y",
                "IndentationError:1:5 unexpected indent",
            ),
            (
                "if 1:\nx",
                "IndentationError:2:1 expected an indented block after 'if' statement on line 1",
            ),
            (
                "x = 1\nreturn x\n    y",
                "IndentationError:3:5 unexpected indent",
            ),
            ("x = 1\nx\n    y", "IndentationError:3:5 unexpected indent"),
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
                "global x\nx: int = 1",
                "SyntaxError:2:1 annotated name 'x' can't be global",
            ),
            (
                "x = 1\nif x:\n    global x\n    return 1",
                "SyntaxError:3:5 name 'x' is assigned to before global declaration",
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
        bench.check(&[(&deep, "SyntaxError:1:200 too many nested parentheses")])?;
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
            let run = bench
                .support
                .call_method1("run", (bench.parts(&compiled)?, bench.session()?));
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

/// How often the scan is not sure on code as people write it, and never wrong.
#[test]
fn prefixes_of_the_standard_library_end_as_their_trees_say() {
    with_python(|bench| {
        let prefixes = bench.support.call_method1("prefixes", (1, 5000))?;
        let (mut cells, mut values, mut returns, mut early, mut unclear) = (0, 0, 0, 0, 0);
        for prefix in prefixes.try_iter()? {
            let source: String = prefix?.extract()?;
            let (wanted, got, differs) = bench.against_tree(&source)?;
            assert_eq!(got, wanted, "{source}");
            assert!(!differs, "{source}");
            cells += 1;
            values += usize::from(wanted == "Expression");
            returns += usize::from(wanted == "Return");
            match scan(&source, bench.compiler.nested_f_strings).shape {
                Shape::Unclear => unclear += 1,
                Shape::EarlyReturn { .. } => early += 1,
                _ => {}
            }
        }
        println!(
            "{cells} cells: {values} with a last expression, {returns} with a return at the end, \
             {early} with another return, {unclear} unclear"
        );
        assert_eq!(cells, 5000);
        assert!(unclear * 100 < cells, "{unclear} of {cells} are unclear");
        Ok(())
    });
}

fn simple() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "x = 1",
        "x",
        "1 + 1",
        "'''a\nb'''",
        "'a'",
        "f(1,\n  2)",
        "x: int = 2",
        "x == 1",
        "x += 1",
        "{'a': 1}",
        "[1,\n2]",
        "*x, y",
        "x, *y",
        "*x, y = z",
        "lambda: 1",
        "lambda a=1: a",
        "a, lambda: 1",
        "f = lambda: 1",
        "del x",
        "pass",
        "import a",
        "await x",
        "yield",
        "return",
        "return 1",
        "return x, *y",
        "raise x",
        "x;",
        "",
        "f'{x:>{y}}' if x else \"a;b\"",
        "not x",
        "x = '''\n1'''",
        "(\n)",
        "x if y else z",
        "print(x)",
        "global g",
        "match",
        "match[1]",
        "match = 1",
        "type",
        "x <= y",
        "x <<= y",
        "x != y",
        "b'#'",
        "return await x",
        "x \\\n+ 1",
        "from a import (b,\n c)",
        "assert x, '='",
        "x[a:b]",
        "x[a:b] = 1",
        "x @ y",
        "x ** y",
        "\"\\\"\"",
        "é",
    ])
    .prop_map(str::to_owned)
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => simple(),
        2 => prop::collection::vec(simple(), 1..3).prop_map(|all| all.join("; ")),
        1 => simple().prop_map(|one| format!("{one};")),
        1 => simple().prop_map(|one| format!("{one}  # x = 1; y")),
        1 => simple().prop_map(|one| format!("if x: {one}")),
        1 => simple().prop_map(|one| format!("if x:\n    {one}\nelse:\n    {one}")),
        1 => simple().prop_map(|one| format!("try:\n    {one}\n\nexcept E: {one}\nfinally:\n\t{one}")),
        1 => simple().prop_map(|one| format!("def f():\n    {one}\n# end")),
        1 => simple().prop_map(|one| format!("@f\n\nclass A:\n    x = 1\n    def f(self): {one}")),
        1 => simple().prop_map(|one| format!("for i in x:\n    while y: {one}\nelse: pass")),
        1 => simple().prop_map(|one| format!("match x:\n    case 1: {one}\n    case {{'a': 1}}:\n        {one}")),
        1 => Just("# comment = ;".to_owned()),
        1 => Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_statements_end_as_their_tree_says(statements in prop::collection::vec(statement(), 1..5)) {
        let source = statements.join("\n");
        let (wanted, got, differs) = with_python(|bench| bench.against_tree(&source));
        // `return 1, *x` needs the tree, and `return` at the end of it does not: both are right.
        let is_same = wanted == got || wanted == "Return" && got == "Flagged";
        prop_assert!(is_same, "{} is {} and not {}", source, wanted, got);
        prop_assert!(!differs || got == "Flagged", "{}", source);
    }

    #[test]
    fn any_text_is_scanned(source in "[a-z ='\"\\\\\n#(){}:;*\t\u{c}é]{0,40}", nested in any::<bool>()) {
        let scanned = scan(&source, nested);
        prop_assert!(scanned.first <= source.len());
    }

    #[test]
    fn any_text_compiles_or_fails_as_a_whole(source in "[xf1 ='\"\\\\\n#(){}:;*\t\u{c}]{0,12}") {
        let (wanted, got, differs) = with_python(|bench| bench.against_tree(&source));
        if wanted != "error" {
            prop_assert_eq!(&got, &wanted);
            prop_assert!(!differs);
        }
    }

    #[test]
    fn a_return_in_a_cell_does_what_it_does_in_a_function(
        body in body(4, false),
        flips in prop::collection::vec(any::<bool>(), 0..24),
    ) {
        let source = format!("{body}\npass\n");
        let (function, cell) = with_python(|bench| {
            let trial = bench.support.call_method1("Trial", (flips,))?;
            let function: String = trial.call_method1("as_function", (&source,))?.extract()?;
            let compiled = bench.compile(&source)?;
            let globals = trial.call_method0("globals")?;
            let run = bench.support.call_method1("run", (bench.parts(&compiled)?, &globals));
            let result = match (run, take_flagged(bench.py, &compiled)?) {
                (Err(_), _) => "raised".to_owned(),
                (Ok(_), Returned::Value(value)) => value.bind(bench.py).repr()?.to_string(),
                (Ok(_), _) => "None".to_owned(),
            };
            let cell = (result, globals.get_item("entries")?).into_pyobject(bench.py)?.repr()?;
            Ok((function, cell.to_string()))
        });
        prop_assert_eq!(cell, function, "{}", source);
    }
}

/// A block of code that logs what it does, with returns, loops, handlers and context managers in each other.
fn body(depth: u32, in_loop: bool) -> BoxedStrategy<String> {
    let number = 0..100_u32;
    let mut leaves = vec![
        number
            .clone()
            .prop_map(|number| format!("log({number})"))
            .boxed(),
        number
            .clone()
            .prop_map(|number| format!("if flip(): return {number}"))
            .boxed(),
        number.prop_map(|number| format!("return {number}")).boxed(),
        Just("if flip(): return".to_owned()).boxed(),
        Just("if flip(): raise Error".to_owned()).boxed(),
    ];
    if in_loop {
        leaves.push(Just("if flip(): break".to_owned()).boxed());
        leaves.push(Just("if flip(): continue".to_owned()).boxed());
    }
    let leaf = prop::strategy::Union::new(leaves).boxed();
    if depth == 0 {
        return leaf;
    }
    let inner = body(depth - 1, in_loop);
    let looped = body(depth - 1, true);
    let two = (inner.clone(), inner.clone());
    let three = (inner.clone(), inner.clone(), inner.clone());
    prop_oneof![
        3 => leaf,
        2 => two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
        1 => two.clone().prop_map(|(a, b)| format!("if flip():\n{}\nelse:\n{}", indent(&a), indent(&b))),
        2 => (looped.clone(), inner.clone()).prop_map(|(a, b)| {
            format!("for _ in range(2):\n{}\nelse:\n{}", indent(&a), indent(&b))
        }),
        1 => looped.prop_map(|a| format!("while flip():\n{}", indent(&a))),
        2 => two.clone().prop_map(|(a, b)| format!("try:\n{}\nfinally:\n{}", indent(&a), indent(&b))),
        2 => two.prop_map(|(a, b)| format!("try:\n{}\nexcept Error:\n{}", indent(&a), indent(&b))),
        1 => three.prop_map(|(a, b, c)| {
            format!("try:\n{}\nexcept Error:\n{}\nelse:\n    log(0)\nfinally:\n{}", indent(&a), indent(&b), indent(&c))
        }),
        2 => inner.prop_map(|a| format!("with Suppress():\n{}", indent(&a))),
    ]
    .boxed()
}

fn indent(block: &str) -> String {
    block
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}
