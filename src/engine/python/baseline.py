"""What a fresh interpreter looks like, and how a reset gets back to it."""

import builtins
import gc
import os
import sys
import threading
import warnings

STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
HOOKS = ("excepthook", "displayhook", "unraisablehook", "breakpointhook")


class Baseline:
    """Taken once, when the interpreter is ready."""

    def __init__(self):
        self.builtins = dict(vars(builtins))
        self.streams = {name: getattr(sys, name) for name in STREAMS}
        self.hooks = {name: getattr(sys, name) for name in HOOKS}
        self.thread_hook = threading.excepthook
        self.lists = [(value, list(value)) for value in (sys.path, sys.meta_path, sys.path_hooks, sys.argv)]
        self.names = ("path", "meta_path", "path_hooks", "argv")
        self.limits = sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()
        self.gc = gc.isenabled(), gc.get_threshold()
        self.modules = set(sys.modules)
        self.warnings = list(warnings.filters), warnings.showwarning, warnings.formatwarning
        self.environ = os.environ
        self.functions = [
            (module, name, getattr(module, name))
            for module, name in ((os, "environ"), (sys, "modules"), (sys, "setrecursionlimit"))
        ]

    def restore(self, folders):
        """Gets back to the baseline; `folders` are those whose modules were the program's own.

        Each step stands alone: one that fails does not keep the others from being done.
        """
        added = [entry for entry in list(sys.path) if isinstance(entry, str) and entry and entry not in self.lists[0][1]]
        for step in (
            self.restore_builtins,
            self.restore_system,
            self.restore_hooks,
            self.restore_warnings,
            self.restore_logging,
            lambda: self.drop_modules((*folders, *added)),
        ):
            try:
                step()
            except Exception:
                pass

    def restore_builtins(self):
        namespace = vars(builtins)
        for name in [name for name in namespace if name not in self.builtins]:
            del namespace[name]
        namespace.update(self.builtins)

    def restore_system(self):
        for name, (value, content) in zip(self.names, self.lists):
            value[:] = content
            setattr(sys, name, value)
        for module, name, value in self.functions:
            setattr(module, name, value)
        for name, value in self.streams.items():
            setattr(sys, name, value)
        sys.setrecursionlimit(self.limits[0])
        sys.setswitchinterval(self.limits[1])
        sys.set_int_max_str_digits(self.limits[2])
        (gc.enable if self.gc[0] else gc.disable)()
        gc.set_threshold(*self.gc[1])

    def restore_hooks(self):
        for name, value in self.hooks.items():
            setattr(sys, name, value)
        threading.excepthook = self.thread_hook
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
        threading.setprofile(None)

    def restore_warnings(self):
        warnings.filters[:] = self.warnings[0]
        warnings.showwarning, warnings.formatwarning = self.warnings[1:]
        warnings._filters_mutated()

    def restore_logging(self):
        logging = sys.modules.get("logging")
        if logging is not None:
            logging.root.handlers.clear()
            logging.root.filters.clear()
            logging.root.setLevel(logging.WARNING)
            logging.disable(logging.NOTSET)

    def drop_modules(self, folders):
        """Drops pure Python modules that came from `folders`. C extensions stay: they load but once in a process."""
        folders, installed = (
            tuple(os.path.join(os.path.realpath(folder), "") for folder in each)
            for each in (folders, filter(None, self.lists[0][1]))
        )
        for name, module in list(sys.modules.items()):
            if name in self.modules:
                continue
            file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
            if not isinstance(file, str) or file.endswith((".so", ".pyd")):
                continue
            # A virtual environment may well lie in the working folder.
            file = os.path.realpath(file)
            if file.startswith(folders) and not file.startswith(installed):
                del sys.modules[name]


def set_variables(environ, changes):
    """Sets and removes environment variables, in `os.environ` and for C code alike."""
    for name, value in changes:
        if value is None:
            environ.pop(name, None)
            os.unsetenv(name)
        else:
            environ[name] = value
