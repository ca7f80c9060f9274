"""Figures of matplotlib: drawn without a window, each shown once as it is, and closed when the cell ends.

The engine puts `displays`, `owner` and `expect_figures` here. Size and resolution are the program's to say, in
`rcParams["figure.figsize"]`, `["figure.dpi"]` and `["savefig.dpi"]`.
"""

import os
import sys
import warnings
from io import BytesIO
from math import sqrt
from weakref import WeakKeyDictionary

# The largest picture: more pixels than that, or a longer side, and its resolution is lowered.
PIXELS = 16_000_000
SIDE = 16_000

# How far what is drawn may reach beyond its figure, in sizes of it. What lies farther is a mistake.
REACH = 3

# What was shown last of each figure.
shown = WeakKeyDictionary()

environment = os.environ
settings = {}


def without_window(module, execute):
    """Executes matplotlib so that it draws into memory, whatever the environment asks for.

    A window's backend ends the process where there is no screen, and an unknown one ends the import. Nothing of this is
    left in the environment, which is that of the program's children.
    """
    entries, name = environment._data, b"MPLBACKEND"
    asked = entries.get(name)
    entries[name] = b"agg"
    try:
        execute(module)
    finally:
        if asked is None:
            entries.pop(name, None)
        else:
            entries[name] = asked
    settings.update(dict.items(module.rcParams))


def adapt_managers(module):
    """Has `plt.show()` and `figure.show()` show."""
    manager, backend = module.FigureManagerBase, module._Backend
    make = manager.__init__

    def __init__(self, *arguments, **options):
        make(self, *arguments, **options)
        self._warmcell_owner = owner()

    manager.__init__ = __init__
    manager.show = lambda self: show(self.canvas.figure)
    manager.pyplot_show = backend.show = classmethod(lambda cls, *, block=None: show_all())
    expect_figures()


def adapt_figures(module):
    displays.FORMATTERS.append((module.Figure, {"image/png": shown_png}))


def managers():
    """What pyplot has open of this session's, in the order of the figures' numbers."""
    open_figures = sys.modules["matplotlib._pylab_helpers"].Gcf.figs if "matplotlib._pylab_helpers" in sys.modules else {}
    session = owner()
    own = [manager for manager in open_figures.values() if getattr(manager, "_warmcell_owner", session) == session]
    return sorted(own, key=lambda manager: manager.num)


def close(manager):
    sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)


def show_all():
    """What a call of `plt.show()` does. What is drawn next is another figure."""
    for manager in managers():
        close(manager)
        show(manager.canvas.figure)


def show_open(most):
    """What the end of a cell does. An outcome has `most` entries: of figures that are left out of it none is drawn."""
    shows = 0
    for manager in managers():
        try:
            close(manager)
            figure = manager.canvas.figure
            if shows < most or figure in shown:
                shows += show(figure)
            else:
                displays.display({"text/plain": repr(figure)}, raw=True)
        except Exception as error:
            displays.note(f"figure {manager.num} could not be drawn: {type(error).__name__}: {error}")


def drop_open():
    """What the end of a cell does that was stopped."""
    figures = sys.modules["matplotlib._pylab_helpers"].Gcf.figs if "matplotlib._pylab_helpers" in sys.modules else {}
    dropped = [figures.pop(manager.num) for manager in managers()]
    return len(dropped)


def put_back():
    """What a reset does."""
    dict.update(sys.modules["matplotlib"].rcParams, settings)


def show(figure):
    """Shows a figure, unless it was shown as it is. Says whether it did."""
    if figure in shown and not figure.stale:
        return False
    text = repr(figure)
    if len(figure.get_children()) <= 1:
        # Nothing but its background.
        displays.display({"text/plain": text}, raw=True)
        return True
    before = shown.get(figure)
    content = shown_png(figure)
    is_new = shown[figure] != before
    if is_new:
        displays.display({"text/plain": text, "image/png": content}, raw=True)
    return is_new


def shown_png(figure):
    """The picture of a figure, which is shown by whoever asks."""
    content = png(figure)
    shown[figure] = hash(content)
    # Until the program changes it again.
    figure.stale = False
    return content


def png(figure):
    """The picture of a figure, with the labels and legends that stand out of its frame."""
    parameters = sys.modules["matplotlib"].rcParams
    usual = figure.dpi
    asked = usual if parameters["savefig.dpi"] == "figure" else parameters["savefig.dpi"]
    width, height = figure.get_size_inches()
    try:
        # Measuring draws it as well.
        figure.dpi = bounded(asked, width, height)
        with warnings.catch_warnings():
            # Of missing glyphs, for one: the drawing itself warns of them.
            warnings.simplefilter("ignore")
            figure.draw_without_rendering()
            box = figure.get_tightbbox().padded(parameters["savefig.pad_inches"])
        if 0 < box.width <= REACH * width + 1 and 0 < box.height <= REACH * height + 1:
            figure.dpi = bounded(figure.dpi, box.width, box.height)
        else:
            box = None
        picture = BytesIO()
        figure.savefig(picture, format="png", dpi=figure.dpi, bbox_inches=box)
        if figure.dpi < asked:
            tell_resolution(figure, asked)
        return picture.getvalue()
    finally:
        figure.dpi = usual


def tell_resolution(figure, asked):
    number = getattr(figure, "number", None)
    name = "a figure" if number is None else f"figure {number}"
    displays.note(
        f"{name} was drawn at {figure.dpi:.4g} dpi instead of {asked:g}: figures have at most"
        f" {PIXELS // 1_000_000} million pixels, and {SIDE} on a side"
    )


def bounded(dpi, width, height):
    """A resolution at which so many inches make no picture that is too large."""
    return min(dpi, SIDE / max(width, height), sqrt(PIXELS / (width * height)))
