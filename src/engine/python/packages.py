"""What is done with packages that show things, once they are imported: their displays find the way to the outcome.

The engine puts `displays` and `plots` here, the modules of that name.
"""

import sys


def find(asked, name, path, target):
    """The spec of a module of which something is to be made, as the finders after the one that is `asked` know it."""
    hook = HOOKS.get(name)
    if hook is None:
        return None
    for finder in list(sys.meta_path):
        if finder is not asked and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = Loader(spec.loader, hook)
                return spec
    return None


class Loader:
    """Stands before a module's own loader until the module is executed."""

    def __init__(self, own, hook):
        self.own, self.hook = own, hook

    def create_module(self, spec):
        return self.own.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.own
        self.hook(module, self.own.exec_module)

    def __getattr__(self, name):
        return getattr(self.own, name)


def afterwards(adapt):
    """A hook that adapts a module once it is there. One that is not as it is known is left as it is."""

    def hook(module, execute):
        execute(module)
        try:
            adapt(module)
        except Exception:
            pass

    return hook


def adapt_ipython(module):
    """Without a shell of its own IPython prints what it should show."""
    for name in ("display", "update_display", "publish_display_data", "clear_output", "DisplayHandle"):
        setattr(module, name, getattr(displays, name))


def adapt_plotly(module):
    """Left alone it opens a browser."""

    class Cell(module.ExternalRenderer):
        def render(self, figure):
            kinds = [trace.get("type", "scatter") for trace in figure.get("data", ())]
            data = {"text/plain": f"<plotly figure: {', '.join(kinds) or 'empty'}>"}
            data.update(module.PlotlyRenderer().to_mimebundle(figure))
            data["text/html"] = sys.modules["plotly.io"].to_html(
                figure, full_html=False, include_plotlyjs="cdn", validate=False
            )
            displays.display(data, raw=True)

    module.renderers["warmcell"] = Cell()
    if module.renderers.default in ("", "browser"):
        module.renderers.default = "warmcell"


def adapt_pillow(module):
    """Left alone it starts a program that shows pictures."""

    class Cell(module.Viewer):
        def show(self, image, **options):
            displays.display(image)
            return 1

    module.register(Cell(), 0)


HOOKS = {
    "matplotlib": lambda module, execute: plots.without_window(module, execute),
    "matplotlib.backend_bases": afterwards(lambda module: plots.adapt_managers(module)),
    "matplotlib.figure": afterwards(lambda module: plots.adapt_figures(module)),
    "IPython.core.display_functions": afterwards(adapt_ipython),
    "plotly.io._renderers": afterwards(adapt_plotly),
    "PIL.ImageShow": afterwards(adapt_pillow),
}
