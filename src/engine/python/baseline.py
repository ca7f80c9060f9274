"""What a fresh interpreter looks like, and how a reset gets back to it."""

import builtins
import gc
import keyword
import linecache
import os
import sys
import threading
import traceback
import unicodedata
import warnings

LISTS = ("path", "meta_path", "path_hooks", "argv")
# Modules that are put back name by name, since the runtime or every program leans on them.
WHOLE = (builtins, linecache, traceback, warnings)
# Modules of which functions, hooks and streams are put back.
PARTLY = (sys, os, threading)


class Baseline:
    """Taken once, when the interpreter is ready."""

    def __init__(self):
        self.whole = [(module, dict(vars(module))) for module in WHOLE]
        self.partly = [
            (module, {name: value for name, value in vars(module).items() if callable(value)}) for module in PARTLY
        ]
        self.lists = {name: (getattr(sys, name), list(getattr(sys, name))) for name in LISTS}
        self.streams = {name: getattr(sys, name) for name in ("__stdin__", "__stdout__", "__stderr__")}
        self.sys_modules = sys.modules
        self.limits = sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()
        self.gc = gc.isenabled(), gc.get_threshold()
        self.modules = set(sys.modules)
        self.filters = list(warnings.filters)
        self.environ = os.environ
        self.umask = os.umask(0o022)
        os.umask(self.umask)

    def restore(self, folders):
        """Gets back to the baseline; `folders` are those whose modules were the program's own.

        Each step stands alone: one that fails does not keep the others from being done.
        """
        fresh = self.lists["path"][1]
        added = [entry for entry in list(sys.path) if isinstance(entry, str) and entry and entry not in fresh]
        for step in (
            self.restore_modules,
            self.restore_system,
            self.restore_warnings,
            self.restore_logging,
            lambda: self.drop_modules((*folders, *added)),
        ):
            try:
                step()
            except Exception:
                pass

    def restore_modules(self):
        for module, names in self.whole:
            namespace = vars(module)
            for name in [name for name in namespace if name not in names]:
                del namespace[name]
            namespace.update(names)
        for module, names in self.partly:
            vars(module).update(names)

    def restore_system(self):
        for name, (value, content) in self.lists.items():
            value[:] = content
            setattr(sys, name, value)
        for name, value in self.streams.items():
            setattr(sys, name, value)
        sys.modules = self.sys_modules
        os.environ = self.environ
        os.umask(self.umask)
        vars(sys).pop("tracebacklimit", None)
        sys.setrecursionlimit(self.limits[0])
        sys.setswitchinterval(self.limits[1])
        sys.set_int_max_str_digits(self.limits[2])
        (gc.enable if self.gc[0] else gc.disable)()
        gc.set_threshold(*self.gc[1])
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
        threading.setprofile(None)

    def restore_warnings(self):
        warnings.filters[:] = self.filters
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
            for each in (folders, filter(None, self.lists["path"][1]))
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


def variable_name(name):
    """Returns the name as Python reads it, or nothing where it cannot be a variable's."""
    name = unicodedata.normalize("NFKC", name)
    # Of what Python itself keeps in a module, a host that runs files knows this one.
    is_own = name.startswith("__") and name.endswith("__") and name != "__file__"
    return name if name.isidentifier() and not keyword.iskeyword(name) and not is_own else ""
