"""What a reader needs of an exception: the user's frames alone, with their source lines."""

import ast  # noqa: F401 (`traceback` imports it when it first looks for the part of a line that failed, maybe at a deadline)
import sysconfig
from itertools import islice
from traceback import StackSummary, TracebackException, walk_tb

# Frames of installed code say nothing about the cell; the user's own modules lie elsewhere.
INSTALLED = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} - {None, ""}
)
LONGEST_CHAIN = 100


def report(exception, file_name, shown_name, suffix, is_alone):
    """Returns the formatted traceback, and line and column of the deepest frame in the cell `file_name`.

    What led to an exception that is alone is nobody's concern.
    """
    summary = TracebackException(type(exception), exception, exception.__traceback__, compact=True)
    if is_alone:
        summary.__cause__ = summary.__context__ = None
    tidy(summary, file_name, shown_name, suffix)
    text = "".join(summary.format())
    return (text, *place(exception, file_name))


def last_place(*stops):
    """The exception that was last raised in the user's code: one of the stops, or one before it that the program kept to itself."""
    for exception in stops:
        for _ in range(LONGEST_CHAIN):
            if exception is None:
                break
            if any(is_users(frame.f_code.co_filename) for frame, _ in walk_tb(exception.__traceback__)):
                return exception
            exception = exception.__context__
    return stops[0]


def syntax_report(exception, shown_name):
    """As `report`, for an exception of the compiler's: there are no frames, and the place is its own."""
    summary = TracebackException(type(exception), exception, None, compact=True)
    if getattr(summary, "filename", None) is not None:
        summary.filename = shown_name
    text = "".join(summary.format_exception_only())
    return text, getattr(exception, "lineno", None), getattr(exception, "offset", None)


def tidy(summary, file_name, shown_name, suffix):
    """Takes the frames that are not the user's out of an exception, its causes and its groups."""
    waiting = [(summary, 0)]
    while waiting:
        summary, depth = waiting.pop()
        # A frame without a line has not begun: a stop can hit it as it is entered.
        frames = [frame for frame in summary.stack if frame.lineno and is_users(frame.filename)]
        summary.stack = StackSummary.from_list([shown(frame, file_name, shown_name, suffix) for frame in frames])
        if depth >= LONGEST_CHAIN and (summary.__cause__ or summary.__context__):
            summary.__cause__ = summary.__context__ = None
            summary.__notes__ = [*(summary.__notes__ or ()), f"[the chain of exceptions goes on beyond {LONGEST_CHAIN}]"]
        for other in (summary.__cause__, summary.__context__, *(summary.exceptions or ())):
            if other is not None:
                waiting.append((other, depth + 1))


def is_users(file_name):
    if file_name.startswith(("<warmcell ", "<frozen ")):
        return False
    return not file_name.startswith(INSTALLED)


def shown(frame, file_name, shown_name, suffix):
    if frame.filename == file_name:
        frame.filename = shown_name
    elif suffix and frame.filename.startswith("<cell ") and frame.filename.endswith(suffix):
        frame.filename = frame.filename.removesuffix(suffix) + ">"
    return frame


def place(exception, file_name):
    line = column = None
    traceback = exception.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == file_name:
            line, column = traceback.tb_lineno, None
            if traceback.tb_lasti >= 0:
                start = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), None)
                if start is not None and start[2] is not None:
                    column = start[2] + 1
        traceback = traceback.tb_next
    return line, column


def missing_variable(error):
    """The name that was not found in `os.environ`, of an exception that says so."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback.tb_frame.f_globals.get("__name__") != "os":
        return None
    name = error.args[0]
    return name if type(name) is str else None
