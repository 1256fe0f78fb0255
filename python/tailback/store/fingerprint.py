"""What decides a run's results beside its scenario: the source of the simulator, and of disciplines in Python."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def build() -> str:
    """32 hexadecimal digits that stand for the source of the simulator, in whatever folder it was built."""
    from tailback import _core

    return _core.source


def queues(factories: Mapping[str, Callable[[], Any]]) -> str:
    """A fingerprint of disciplines written in Python: the files they are written in, and what their makers remember.

    Raises ValueError when that cannot be known; pass `queues_key` then.
    """
    h = hashlib.sha256()
    for port in sorted(factories):
        h.update(f"\n{port}:".encode())
        _eat(h, factories[port], port)
    return h.hexdigest()[:32]


def _eat(h: Any, thing: Any, port: str) -> None:
    if thing is None or isinstance(thing, (bool, int, float, str, bytes)):
        h.update(repr(thing).encode())
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            _eat(h, part, port)
    elif isinstance(thing, Mapping):
        for key in sorted(thing, key=repr):
            _eat(h, key, port)
            _eat(h, thing[key], port)
    elif isinstance(thing, functools.partial):
        _eat(h, [thing.func, thing.args, thing.keywords], port)
    elif inspect.isclass(thing) or inspect.isroutine(thing):
        h.update(f"{thing.__module__}.{thing.__qualname__}".encode())
        try:
            file = inspect.getsourcefile(thing)
            h.update(Path(file).read_bytes() if file else b"")
        except (TypeError, OSError):
            file = None
        if not file:
            raise _unknown(port)
        for cell in getattr(thing, "__closure__", None) or ():
            _eat(h, cell.cell_contents, port)
        _eat(h, getattr(thing, "__defaults__", None), port)
    else:
        raise _unknown(port)


def _unknown(port: str) -> ValueError:
    return ValueError(
        f"whether stored runs may be used again cannot be known: the source of the discipline at {port}, or a value "
        "its maker remembers, is out of sight; name the variant with queues_key=..., or do not store results"
    )
