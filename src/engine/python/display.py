"""How an object shows itself: IPython's conventions, without IPython."""

from base64 import b64encode

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
}


def bundle(value, stopped):
    """Returns the MIME bundle of a value beside its plain text, and what of it could not be made.

    A method that raises is left out and named; `stopped` is the one exception that ends the showing.
    """
    data, failed = {}, []
    kind = type(value)
    if kind is type or not any(hasattr(kind, name) for name in (*METHODS, "_repr_mimebundle_")):
        return data, failed
    for name, mime in (("_repr_mimebundle_", None), *METHODS.items()):
        method = getattr(value, name, None)
        if not callable(method):
            continue
        try:
            content = method()
            if mime is None:
                content = content[0] if isinstance(content, tuple) else content
                data.update({key: encoded(item) for key, item in (content or {}).items() if item is not None})
            elif content is not None:
                content = content[0] if isinstance(content, tuple) else content
                data.setdefault(mime, encoded(content))
        except stopped:
            raise
        except BaseException as problem:
            failed.append(f"`{name}` raised {type(problem).__name__}")
    return data, failed


def encoded(content):
    """Bytes travel as base64."""
    return b64encode(content).decode() if isinstance(content, (bytes, bytearray)) else content
