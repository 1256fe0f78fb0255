"""Fingerprints of the code that decides a run's results: the simulator's source, and that of disciplines in Python.

Every run imports this module. The module imports `hashlib` only if there is code in Python.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tailback.core.text.plain import file_bytes


def build() -> str:
    """32 hexadecimal digits that identify the simulator's source; they do not depend on the folder in which it was
    built."""
    from tailback import _core

    return _core.source


def queues(factories: Mapping[str, Callable[[], Any]]) -> str:
    """A fingerprint of disciplines written in Python: their source files, and the values that their makers remember.

    Raises ValueError if these cannot be read; then pass `queues_key`.
    """
    return _of({port: (f"the discipline at {port}", make) for port, make in factories.items()})


def controls(classes: Mapping[str, type], files: Iterable[str] = ()) -> str:
    """A fingerprint of congestion controls by name, with the contents of the files that their parameters name."""
    file_contents = [(file, _contents(file)) for file in sorted(files)]
    sources: dict[str, tuple[str, Any]] = {
        name: (f"the congestion control {name}", control) for name, control in classes.items()
    }
    return _of(sources | ({"files": ("the files of parameters", file_contents)} if file_contents else {}))


def _contents(file: str) -> bytes:
    """The contents of a file; empty for a missing file, which the run will report."""
    try:
        return file_bytes(Path(file))
    except OSError:
        return b""


def _of(things: Mapping[str, tuple[str, Any]]) -> str:
    import hashlib

    h = hashlib.sha256()
    for name, (description, value) in sorted(things.items()):
        h.update(f"\n{name}:".encode())
        _eat(h, value, description)
    return h.hexdigest()[:32]


def _eat(h: Any, thing: Any, what: str) -> None:
    if thing is None or isinstance(thing, (bool, int, float, str, bytes)):
        h.update(repr(thing).encode())
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            _eat(h, part, what)
    elif isinstance(thing, Mapping):
        for key in sorted(thing, key=repr):
            _eat(h, key, what)
            _eat(h, thing[key], what)
    elif isinstance(thing, functools.partial):
        _eat(h, [thing.func, thing.args, thing.keywords], what)
    elif inspect.isclass(thing) or inspect.isroutine(thing):
        # A user's file is the same in every folder.
        module = getattr(sys.modules.get(thing.__module__), "__own_name__", thing.__module__)
        h.update(f"{module}.{thing.__qualname__}".encode())
        try:
            file = inspect.getsourcefile(thing)
            h.update(Path(file).read_bytes() if file else b"")
        except (TypeError, OSError):
            file = None
        if not file:
            raise _unknown(what)
        for base in getattr(thing, "__mro__", (thing,))[1:]:
            # A parent class in another file counts, too.
            if base is not object and _file(base) not in ("", file):
                _eat(h, base, what)
        # A class that a function makes remembers values in its methods.
        functions = [f for f in vars(thing).values() if inspect.isfunction(f)] if inspect.isclass(thing) else [thing]
        for cell in (c for f in functions for c in getattr(f, "__closure__", None) or ()):
            if cell.cell_contents is not thing:
                _eat(h, cell.cell_contents, what)
        _eat(h, getattr(thing, "__defaults__", None), what)
    else:
        raise _unknown(what)


def _file(of: type) -> str:
    """The file of a class; empty for a built-in class."""
    try:
        return inspect.getsourcefile(of) or ""
    except (TypeError, OSError):
        return ""


def _unknown(what: str) -> ValueError:
    return ValueError(
        f"it cannot be known whether stored runs may be used again: the source of {what}, or a value that it uses, "
        "cannot be read; name the variant with queues_key=..., or do not store results"
    )
