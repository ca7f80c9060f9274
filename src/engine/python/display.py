"""How objects show themselves: IPython's conventions, without IPython.

The engine puts `attempt`, `plain`, `publish`, `clear`, `note` and `tell` here, which reach the program's code and the
outcome.
"""

from binascii import b2a_base64, b2a_hex
from os import urandom

METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
}
NAMES = ("_ipython_display_", "_repr_mimebundle_", *METHODS.values())

# An object that has this has every name there is, and means nothing by it.
NO_NAME = "_ipython_canary_method_should_not_exist_"

# Classes that show themselves in forms they have no method for: pairs of a class and its functions by MIME type.
FORMATTERS = []


def display(
    *objects,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    update=False,
    **_,
):
    name = display_id or (transient or {}).get("display_id")
    if name is not None and name is not False:
        name = fresh_name() if name is True else str(name)
    elif update:
        raise TypeError("display_id required for update_display")
    else:
        name = None
    if clear:
        clear_output(wait=True)
    if not objects and name:
        objects, raw = ({},), True
    for value in objects:
        if raw:
            show_raw(value, metadata, name, bool(update))
        else:
            show(value, include, exclude, metadata, name, bool(update))
    return DisplayHandle(name) if name else None


def update_display(obj, *, display_id, **options):
    options["update"] = True
    display(obj, display_id=display_id, **options)


def publish_display_data(data, metadata=None, *, transient=None, update=False, **_):
    show_raw(data, metadata, (transient or {}).get("display_id"), bool(update))


def clear_output(wait=False):
    clear(bool(wait))


class DisplayHandle:
    """What was shown under a name: `update` shows something else in its place."""

    def __init__(self, display_id=None):
        self.display_id = fresh_name() if display_id is None else display_id

    def display(self, obj, **options):
        display(obj, display_id=self.display_id, **options)

    def update(self, obj, **options):
        update_display(obj, display_id=self.display_id, **options)

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"


def fresh_name():
    return b2a_hex(urandom(16)).decode()


def show_raw(data, metadata, name, updates):
    if not isinstance(data, dict):
        raise TypeError(f"a raw display is a dict of contents by MIME type, not {type(data).__name__}")
    publish({mime: encoded(mime, content) for mime, content in data.items()}, metadata, name, updates)


def show(value, include=None, exclude=None, metadata=None, name=None, updates=False):
    forms = Forms(value, include, exclude)
    methods, problem = forms.methods()
    if "_ipython_display_" in methods:
        shown, problem = attempt("`_ipython_display_`", called, methods.pop("_ipython_display_"))
        if shown:
            return
    forms.problem(problem)
    text = None
    try:
        if forms.wanted("text/plain"):
            text = plain(value)
        forms.gather(methods)
    finally:
        # What is there by then is shown also when the cell is stopped meanwhile.
        merge(forms.metadata, metadata)
        publish(forms.data, forms.metadata, name, updates, type(value), text)


class Forms:
    """An object's contents by MIME type."""

    def __init__(self, value, include, exclude):
        self.value, self.include, self.exclude = value, include, exclude
        self.data, self.metadata = {}, {}

    def methods(self):
        found, problem = attempt("looking for its forms", methods_of, self.value)
        return found or {}, problem

    def gather(self, methods):
        for kind, functions in FORMATTERS:
            if any(base is kind for base in type(self.value).__mro__):
                for mime, function in functions.items():
                    self.draw(mime, function)
        if "_repr_mimebundle_" in methods:
            self.take_bundle(methods["_repr_mimebundle_"])
        for mime, name in METHODS.items():
            # Two pictures of one thing say no more than one.
            is_repeated = mime == "image/jpeg" and "image/png" in self.data
            if name in methods and mime not in self.data and self.wanted(mime) and not is_repeated:
                content, problem = attempt(f"`{name}`", methods[name])
                self.problem(problem)
                content, described = split(content)
                self.take(mime, content)
                merge(self.metadata, {mime: described} if described else None)

    def draw(self, mime, function):
        """A form that is the point of its object, and may take as long as the cell may."""
        if self.wanted(mime):
            try:
                self.take(mime, function(self.value))
            except Exception as error:
                self.problem(f"drawing it raised {type(error).__name__}: {error}")

    def take_bundle(self, method):
        content, problem = attempt("`_repr_mimebundle_`", method, include=self.include, exclude=self.exclude)
        self.problem(problem)
        content, described = split(content)
        if isinstance(content, dict):
            for mime, form in content.items():
                if self.wanted(mime):
                    self.take(mime, form)
            merge(self.metadata, described)
        elif content is not None:
            self.problem(f"`_repr_mimebundle_` gave {type(content).__name__}, no dict")

    def take(self, mime, content):
        if content is not None:
            self.data[mime] = encoded(mime, content)

    def wanted(self, mime):
        return not (self.include and mime not in self.include or self.exclude and mime in self.exclude)

    def problem(self, problem):
        if problem:
            tell(type(self.value), problem)


def methods_of(value):
    if isinstance(value, type) or getattr(value, NO_NAME, None) is not None:
        return {}
    found = {name: getattr(value, name, None) for name in NAMES}
    return {name: method for name, method in found.items() if callable(method)}


def called(method):
    method()
    return True


def split(content):
    """A form may come with its metadata."""
    return content if isinstance(content, tuple) and len(content) == 2 else (content, None)


def encoded(mime, content):
    """Bytes that are no text travel as base64."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        return content
    if str(mime).startswith("text/") or str(mime).endswith(("xml", "json")):
        return bytes(content).decode(errors="replace")
    return b2a_base64(content, newline=False).decode()


def merge(metadata, more):
    if isinstance(more, dict):
        for key, value in more.items():
            known = metadata.get(key)
            metadata[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value

