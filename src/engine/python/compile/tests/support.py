"""What the tests hold the compiler against: `ast`, plain `compile`, and functions."""

import ast
import asyncio
import glob
import inspect
import random
import re
import sysconfig
import textwrap
import warnings

TOP_LEVEL_AWAIT = 0x2000
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

loops = []


def close():
    """Ends the event loop that cells were run in."""
    while loops:
        loop = loops.pop()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def run(parts, globals):
    """Runs the parts of a cell that awaits like the engine does; gives the value of the last."""

    async def inside():
        value = None
        for part in parts:
            value = eval(part, globals)
            if part.co_flags & inspect.CO_COROUTINE:
                value = await value
        return value

    if not loops:
        loops.append(asyncio.new_event_loop())
    return loops[0].run_until_complete(inside())


def own(kind, node):
    """The nodes of this kind that are in no scope of their own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kind):
            yield child
        if not isinstance(child, SCOPES):
            yield from own(kind, child)


def expected(source):
    """How a cell ends by its syntax tree: the ending, and the codes of its parts where they can be known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ending(source)
        except (SyntaxError, ValueError):
            return "error", []


def ending(source):
    tree = ast.parse(source)
    returns = list(own(ast.Return, tree))
    if not returns:
        compile(source, "<cell>", "exec", TOP_LEVEL_AWAIT, True)
    elif any(own((ast.Yield, ast.YieldFrom), tree)):
        return "error", []
    else:
        arguments = ast.arguments([], [], None, [], [], None, [])
        function = ast.AsyncFunctionDef("cell", arguments, ast.parse(source).body, [], lineno=1, col_offset=0)
        function.type_params = []
        compile(ast.Module([function], []), "<cell>", "exec", 0, True)
    last = tree.body[-1] if tree.body else None
    if returns:
        if len(returns) > 1 or returns[0] is not last:
            return "Flagged", []
        tree.body.pop()
        return ("Return" if last.value else "Nothing"), parts(tree, last.value)
    if isinstance(last, ast.Expr) and not is_hidden(source, last):
        tree.body.pop()
        return "Expression", parts(tree, last.value)
    return "Nothing", parts(tree, None)


def is_hidden(source, last):
    line, *lines = source.split("\n")[last.end_lineno - 1 :]
    rest = b"\n".join([line.encode()[last.end_col_offset :], *(line.encode() for line in lines)])
    # The `;` may stand behind continuations.
    return re.match(rb"(?:[ \t\f]|\\\n)*;", rest) is not None


def parts(tree, value):
    codes = []
    flags = TOP_LEVEL_AWAIT
    if tree.body or value is None:
        codes.append(compile(tree, "<cell>", "exec", flags, True))
        flags |= codes[0].co_flags & 0x1FE0000
    if value is not None:
        codes.append(compile(ast.Expression(value), "<cell>", "eval", flags, True))
    return codes


def differs(wanted, got):
    """Whether code objects differ in what they do or in where they say they are."""
    # A head that is only comments is no part.
    wanted = [code for code in wanted if has_code(code)]
    got = [code for code in got if has_code(code)]
    return len(wanted) != len(got) or any(map(code_differs, wanted, got))


def has_code(code):
    return len(list(code.co_positions())) > 3 or code.co_flags & inspect.CO_COROUTINE


def code_differs(wanted, got):
    return (
        wanted.co_code != got.co_code
        or wanted.co_names != got.co_names
        or [p for p in wanted.co_positions()][1:] != [p for p in got.co_positions()][1:]
        or len(wanted.co_consts) != len(got.co_consts)
        or any(map(constant_differs, wanted.co_consts, got.co_consts))
    )


def constant_differs(wanted, got):
    if inspect.iscode(wanted) and inspect.iscode(got):
        return code_differs(wanted, got)
    # Two equal sets of texts may list them in different orders, as their hashes fall.
    if type(wanted) is type(got) is frozenset:
        return sorted(map(repr, wanted)) != sorted(map(repr, got))
    return repr(wanted) != repr(got)


def prefixes(seed, count):
    """Prefixes of modules of the standard library, and of the bodies of their functions."""
    chance = random.Random(seed)
    files = sorted(glob.glob(sysconfig.get_paths()["stdlib"] + "/**/*.py", recursive=True))
    chance.shuffle(files)
    found = 0
    for file in files:
        try:
            with open(file, encoding="utf-8") as opened:
                source = opened.read()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        if not tree.body or len(source) > 20_000:
            continue
        lines = source.splitlines(True)
        if "\f" in source:
            continue
        for text in units(lines, tree):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    body = ast.parse(text).body
                except SyntaxError:
                    continue
            own = text.splitlines(True)
            for statement in chance.sample(body, min(4, len(body))):
                yield "".join(own[: statement.end_lineno])
                found += 1
                if found == count:
                    return


def units(lines, tree):
    yield "".join(lines)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions[:8]:
        yield textwrap.dedent("".join(lines[function.body[0].lineno - 1 : function.end_lineno]))


def warnings_of(compiling):
    """The warnings that compiling gives, sorted, and the error it ends with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compiling()
            error = None
        except SyntaxError as failure:
            error = f"{type(failure).__name__}:{failure.lineno}:{failure.offset}: {failure.msg}"
    ours = (each for each in caught if each.filename == "<cell>")
    return sorted(f"{each.lineno}: {each.category.__name__}: {each.message}" for each in ours), error


def plain_warnings(source):
    return warnings_of(lambda: compile(source, "<cell>", "exec", TOP_LEVEL_AWAIT, True))


def as_errors(compiling):
    """What compiling raises when warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compiling()
        except SyntaxError as failure:
            return f"{failure.lineno}: {failure.msg}"
    return None


class Trial:
    """Runs one body as a function and as a cell, with the same flips of a coin and the same log."""

    class Error(Exception):
        pass

    def __init__(self, flips):
        self.flips = flips

    def globals(self):
        flips = iter(self.flips)
        log = []

        class Suppress:
            def __enter__(self):
                log.append("enter")

            def __exit__(self, kind, *_):
                log.append(("exit", kind))
                return next(flips, False)

        return {
            "flip": lambda: next(flips, False),
            "log": log.append,
            "entries": log,
            "Error": self.Error,
            "Suppress": Suppress,
        }

    def as_function(self, body):
        globals = self.globals()
        exec("def cell():\n" + textwrap.indent(body, "    "), globals)
        return self.outcome(globals["cell"], globals)

    def outcome(self, call, globals):
        try:
            result = repr(call())
        except self.Error:
            result = "raised"
        return repr((result, globals["entries"]))
