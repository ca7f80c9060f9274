"""Compiles a cell by way of its syntax tree, where its text alone does not show how to cut it.

Two things happen here: the last expression is split off, or, when the cell has a `return` of its own, every such `return`
becomes an assignment and a `break` out of a loop around the cell. A `break` runs `finally` and `with` on its way like a
`return`, it is no exception that the program could catch, and the code stays real module code: star imports, annotations,
qualified names, `del` and pickling mean what they always mean.

What was returned is put into attributes of an object that stands among the constants of the code, so that no name of ours
ever shows up in the module. Each loop with a `return` has an attribute of its own, emptied where the loop starts, and hands
what it holds to the attribute of the loop around it. That makes a `return` that something cancels (an exception, a `break`
in a `finally`) vanish, and an earlier one that was still pending come back, as in a function.

The names used here are taken while the interpreter starts: a program that rebinds builtins changes nothing.
"""

from _ast import (
    AsyncFor,
    AsyncFunctionDef,
    AsyncWith,
    Assign,
    Attribute,
    Break,
    ClassDef,
    Compare,
    Constant,
    Continue,
    Expr,
    Expression,
    For,
    FunctionDef,
    If,
    ImportFrom,
    IsNot,
    Load,
    Module,
    PyCF_ONLY_AST,
    Return,
    Store,
    Tuple,
    While,
    With,
)

SCOPES = (FunctionDef, AsyncFunctionDef, ClassDef)
LOOPS = (For, AsyncFor, While)
WITHS = (With, AsyncWith)
BLOCKS = ("body", "orelse", "finalbody")
PARTS = ("handlers", "cases")

# The flags of `from __future__` imports in a code object, which are those of the compiler.
FUTURE_FLAGS = 0x1FE0000

# Stands for the slots in a syntax tree, which takes plain constants only. It is an array of bytes nobody writes in a cell.
SLOTS = b"\x00warmcell:slots\x00"


class Slots:
    """What a rewritten cell leaves, each in a tuple: what it returned, and the value of its last expression."""

    returned = value = None


def compile_tree(source, file_name, flags):
    """Gives the code of the statements, that of the last expression, and the slots; whatever there is not is `None`."""
    tree = compile(source, file_name, "exec", flags | PyCF_ONLY_AST, True)
    if any(map(has_return, tree.body)):
        return compile_returning(tree, source, file_name, flags)
    statements = value = None
    last = split_last_expression(tree.body, source)
    if tree.body or last is None:
        statements = compile(tree, file_name, "exec", flags, True)
        flags |= statements.co_flags & FUTURE_FLAGS
    if last is not None:
        value = compile(Expression(last.value), file_name, "eval", flags, True)
    return statements, value, None


def compile_returning(tree, source, file_name, flags):
    body = tree.body
    prologue = split_prologue(body)
    last = split_last_expression(body, source)
    if last is not None:
        body.append(Assign([slot("value", last, Store)], one(last.value), **place(last)))
    first, final = body[0], body[-1]
    rewriter = Rewriter(file_name, flags)
    body = rewriter.block(body, "returned")
    body.append(Break(**place(final)))
    loop = While(Constant(True, **place(first)), body, [], **place(first))
    code = compile(Module([*prologue, loop], []), file_name, "exec", flags, True)
    slots = Slots()
    constants = [slots if type(each) is bytes and each == SLOTS else each for each in code.co_consts]
    return code.replace(co_consts=tuple(constants)), None, slots


def split_prologue(body):
    """Takes off what must stay first in a module: its docstring and `from __future__` imports."""
    prologue = []
    while body:
        first = body[0]
        is_docstring = (
            not prologue
            and isinstance(first, Expr)
            and isinstance(first.value, Constant)
            and isinstance(first.value.value, str)
        )
        is_future = isinstance(first, ImportFrom) and first.module == "__future__" and not first.level
        if not is_docstring and not is_future:
            break
        prologue.append(body.pop(0))
    return prologue


def split_last_expression(body, source):
    """Takes off the last statement if it is an expression whose value no `;` hides."""
    if not body or not isinstance(body[-1], Expr):
        return None
    last = body[-1]
    rest = source.split("\n")[last.end_lineno - 1 :]
    rest[0] = rest[0].encode()[last.end_col_offset :].decode()
    if "\n".join(rest).lstrip(" \t\f\\\n").startswith(";"):
        return None
    return body.pop()


def has_return(statement):
    """Whether a `return` in this statement is the cell's own."""
    if isinstance(statement, Return):
        return True
    return not isinstance(statement, SCOPES) and any(any(map(has_return, block)) for block in blocks(statement))


def blocks(statement):
    for name in BLOCKS:
        yield getattr(statement, name, ())
    for name in PARTS:
        for part in getattr(statement, name, ()):
            yield part.body


class Rewriter:
    """Turns each `return` into an assignment and a `break`.

    `target` is the slot of the innermost loop that has a `return`; `in_loop` says whether a `break` or `continue` has a
    loop of the user's, `in_finally` whether it would cancel a `return`.
    """

    def __init__(self, file_name, flags):
        self.file_name = file_name
        self.flags = flags
        self.count = 0

    def block(self, statements, target, in_loop=False, in_finally=False):
        return [
            rewritten
            for statement in statements
            for rewritten in self.statement(statement, target, in_loop, in_finally)
        ]

    def statement(self, statement, target, in_loop, in_finally):
        if isinstance(statement, SCOPES):
            return [statement]
        if isinstance(statement, Return):
            value = Tuple([], Load(), **place(statement)) if statement.value is None else one(statement.value)
            return [put(target, value, statement), Break(**place(statement))]
        if isinstance(statement, (Break, Continue)):
            if not in_loop:
                self.refuse(statement)
            return [put(target, nothing(statement), statement), statement] if in_finally else [statement]
        if isinstance(statement, LOOPS):
            return self.loop(statement, target, in_loop, in_finally)

        # What a `return` in the body left is void where a handler, or the end of a `with`, is reached after all.
        before, restore, after = [], [], []
        if any(map(has_return, getattr(statement, "body", ()))):
            if isinstance(statement, WITHS) or getattr(statement, "handlers", ()):
                saved = self.new_slot()
                before = [put(saved, slot(target, statement), statement)]
                restore = [put(target, slot(saved, statement), statement)]
            if isinstance(statement, WITHS):
                after = restore
        for name in BLOCKS:
            if block := getattr(statement, name, None):
                in_final = in_finally or name == "finalbody"
                setattr(statement, name, self.block(block, target, in_loop, in_final))
        for handler in getattr(statement, "handlers", ()):
            handler.body = restore + self.block(handler.body, target, in_loop, in_finally)
        for case in getattr(statement, "cases", ()):
            case.body = self.block(case.body, target, in_loop, in_finally)
        return [*before, statement, *after]

    def loop(self, loop, target, in_loop, in_finally):
        loop.orelse = self.block(loop.orelse, target, in_loop, in_finally)
        if not any(map(has_return, loop.body)):
            return [loop]
        own = self.new_slot()
        loop.body = self.block(loop.body, own, in_loop=True)
        returned = Compare(slot(own, loop), [IsNot()], [nothing(loop)], **place(loop))
        leave = [put(target, slot(own, loop), loop), Break(**place(loop))]
        return [put(own, nothing(loop), loop), loop, If(returned, leave, [], **place(loop))]

    def refuse(self, statement):
        """Raises what CPython says of a `break` or `continue` outside a loop, which ours must not take for its own."""
        compile(Module([statement], []), self.file_name, "exec", self.flags, True)

    def new_slot(self):
        self.count += 1
        return f"slot_{self.count}"


def put(name, value, where):
    return Assign([slot(name, where, Store)], value, **place(where))


def slot(name, where, context=Load):
    return Attribute(Constant(SLOTS, **place(where)), name, context(), **place(where))


def one(value):
    return Tuple([value], Load(), **place(value))


def nothing(where):
    return Constant(None, **place(where))


def place(node):
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }
