"""Reads scenarios from any source: a file, TOML or JSON text, a dict, or a network of the builder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from tailback import _core
from tailback.core.scenario import controls
from tailback.core.scenario.installed import found
from tailback.core.text.arguments import checked
from tailback.core.text.given import several, shown
from tailback.core.text.plain import plain, read_text
from tailback.core.text.room import MemoryRefusal, promise_text

# The arguments of `load_scenario`: a path or text, a dict, a scenario, a network.
Source = Any
# The form of a text.
Kind = Literal["path", "toml", "json"]


def queues_of(source: Source) -> dict[str, Any]:
    """The makers of disciplines written in Python that a network of the builder has, by port."""
    return dict(getattr(source, "queues", None) or {})


def as_text(source: Source, name: str | None = None) -> tuple[str, Kind, str]:
    """The arguments of the Rust reader: the text or path, its kind, and its name in messages.

    Queues written in Python are given by name; the caller keeps them (`queues_of`) or refuses them.
    """
    if hasattr(source, "document") and queues_of(source):
        return _as_json(source.document, name or "network"), "json", name or "network"
    if isinstance(source, os.PathLike):
        return _of_path(os.fsdecode(source), name)
    if isinstance(source, _core.Scenario):
        return source.toml, "toml", name or source.name or "scenario"
    if isinstance(source, Mapping):
        return _as_json(own_classes(source), name or "scenario"), "json", name or "scenario"
    if hasattr(source, "to_dict"):
        return _as_json(source.to_dict(), name or "network"), "json", name or "network"
    if not isinstance(source, str):
        raise TypeError(
            f"a scenario is a path, a text, a dict or a network, not {type(source).__name__}: {shown(source)}"
        )
    # A text with a line break or an equals sign is a scenario; any other text is a path.
    text = source.lstrip()
    if text.startswith("{"):
        return source, "json", name or "scenario"
    if not source or "\n" in source or ("=" in source and not Path(source).exists()):
        return source, "toml", name or "scenario"
    return _of_path(source, name)


def _of_path(path: str, name: str | None) -> tuple[str, Kind, str]:
    """Reads a pipe here, so that Ctrl-C interrupts the wait for it. A file is left to the Rust reader, which reports
    its errors."""
    place = found(Path(path))
    # A path that is not replaced stays as it was written, for messages.
    path = path if place == Path(path) else str(place)
    label = name or plain(path)
    try:
        if Path(path).is_fifo():
            return read_text(Path(path)), "toml", label
        promise_text(os.stat(path).st_size, path)
    except MemoryRefusal:
        raise
    except OSError as e:
        # The Rust reader would read the pipe a second time, and wait.
        if Path(path).is_fifo():
            reason = e.strerror or str(e)
            raise _refused(label, "", "", f"the pipe cannot be read: {reason}", "write a scenario into it") from None
    except UnicodeDecodeError as e:
        problem = f"what the pipe gives is not UTF-8 text at byte {e.start}"
        raise _refused(label, "", "", problem, "write a scenario, which is TOML, into it") from None
    except ValueError:
        pass
    return path, "path", label


def own_classes(value: Any, key: str = "") -> Any:
    """A part of a document with names in place of classes of controls, and tables in place of the objects of
    `tb.congestion`, `tb.rate_control` and `tb.stack`."""
    if isinstance(value, controls.ControlGiven):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {k: own_classes(v, str(k)) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [own_classes(v, key) for v in value]
    return controls.named(key, value)


def _as_json(document: Any, name: str) -> str:
    """Raises `ScenarioError` for a value that no scenario can hold."""
    try:
        return json.dumps(document)
    except (TypeError, ValueError, RecursionError) as e:
        raise _unfit(document, name) or e from None


def _unfit(document: Any, name: str) -> Exception | None:
    """The error for the first value that is not a number, text, list or dict."""
    todo: list[tuple[str, Any]] = [("", document)]
    seen_ids: set[int] = set()
    while todo:
        path, value = todo.pop()
        if isinstance(value, (dict, list, tuple)):
            if id(value) in seen_ids:
                continue
            seen_ids.add(id(value))
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            todo += [(f"{path}.{k}" if path else str(k), v) for k, v in reversed(list(pairs))]
        elif value is not None and not isinstance(value, (str, bool, int, float)):
            return _error(name, path, value)
    return None


def _error(name: str, path: str, value: Any) -> Exception:
    is_class = isinstance(value, type)
    type_name = value.__qualname__ if is_class else type(value).__qualname__
    problem = f"{path} is {'the Python class' if is_class else 'a Python'} {type_name}, which no scenario can hold"
    hint = "a class of your own can be the queue of a link only: queue=Class" if is_class or callable(value) else ""
    if path.endswith("congestion"):
        remark = "one of your own is a class with on_ack and on_congestion"
        remedy = f"give the name of a congestion control, such as 'cubic', or a dict with `kind`; {remark}"
    else:
        remedy = f"give a number, a text, a list or a dict; {hint}".rstrip("; ")
    return _refused(name, path, type_name, problem, remedy)


def _refused(name: str, path: str, value: str, problem: str, remedy: str) -> Exception:
    place = plain(f"{name}, {path}" if path else name)
    error = _core.ScenarioError(f"error: {problem}\n --> {place}\n  = help: {remedy}")
    error.file = name
    error.problems = [
        {
            "code": "value",
            "key": path,
            "value": value,
            "problem": problem,
            "allowed": "",
            "nearest": None,
            "remedy": remedy,
            "line": None,
            "column": None,
        }
    ]
    return error


@checked
def load_scenario(
    source: Source,
    overrides: Iterable[str] | Mapping[str, Any] = (),
    name: str | None = None,
    *,
    code: bool = True,
) -> _core.Scenario:
    """Read and check a scenario.

    `source` is a path, the name of an installed example, TOML or JSON text, a dict, or a network of the builder;
    `overrides` are texts such as `"link.bottleneck.rate=5Mbps"`, or a dict of paths and values. Raises
    `tailback.ScenarioError`, whose text names the place and says what to write instead. A network with a queue written
    in Python is refused, because no text can contain the queue. A congestion control named as `FILE.py:CLASS` is read
    from that file, beside the scenario or in this folder, and this runs the code of the file. With `code=False`, for
    texts from elsewhere, the file is not read.

    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> tb.load_scenario(net, overrides=["duration=5s"]).duration_s
    5.0
    >>> tb.load_scenario(net, overrides={"link.bottleneck.rate": "10 metres"})
    Traceback (most recent call last):
    tailback.ScenarioError: ...
    """
    if queues_of(source):
        # This call raises the error with the reason and the remedy.
        source.to_dict()
    return read(source, override_texts(overrides), name, code=code)


def read(
    source: Source,
    overrides: Iterable[str] = (),
    name: str | None = None,
    classes: bool = False,
    *,
    code: bool = True,
) -> _core.Scenario:
    """The scenario. A scenario may have Python classes if the source is a network with such classes, or if `classes`
    is true. In the second case the caller gives the classes to the run, or runs nothing. `code` is as in
    `load_scenario`."""
    text, kind, label = as_text(source, name)
    texts = list(overrides)
    if code:
        _find(text, kind, texts)
    has_own_class = code and any(".py:" in t for t in (_peek(Path(text)) if kind == "path" else text, *texts))
    return _core.load(text, kind, label, texts, classes or has_own_class or hasattr(source, "document"))


def find_classes(source: Source, overrides: Iterable[str], near: Iterable[Path] = ()) -> None:
    """Registers the classes of files that a scenario and its overrides name. The files are beside the scenario or in
    `near`."""
    text, kind, _ = as_text(source)
    _find(text, kind, overrides, near)


def _find(text: str, kind: Kind, overrides: Iterable[str], near: Iterable[Path] = ()) -> None:
    path = Path(text) if kind == "path" else None
    folders = [path.parent] if path else []
    controls.register_named([text if path is None else _peek(path), *overrides], [*folders, *near])


def stored(path: Path) -> _core.Scenario:
    """The scenario of a folder of results. This scenario is read and not run, so its classes and traces need not be
    available."""
    text = _peek(path)
    controls.stand_ins(text, "toml")
    try:
        return read(path, classes=True, code=False)
    except _core.ScenarioError:
        if not text:
            raise
        # Without its changes during the run, if the file of a trace is missing or has changed.
        return _core.load(text, "toml", plain(str(path)), ["change={}"], True)


def again(toml: str, name: str) -> _core.Scenario:
    """A scenario that was pickled."""
    controls.stand_ins(toml, "toml")
    return _core.load(toml, "toml", name, [], True)


def _peek(path: Path) -> str:
    """The text of a file if it can be read; the reader reports any error."""
    try:
        return read_text(path) if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def override_texts(overrides: Iterable[str] | Mapping[str, Any]) -> list[str]:
    """Overrides as `--set` takes them."""
    if isinstance(overrides, Mapping):
        return [f"{path}={inline(value)}" for path, value in overrides.items()]
    if isinstance(overrides, str):
        return [overrides]
    return [str(o) for o in several("overrides", overrides, '"duration=5s"')]


def inline(value: Any) -> str:
    """A value as TOML on one line. A text by itself has no quotes, as on the command line."""
    return value if isinstance(value, str) else as_toml(value)


def as_toml(value: Any) -> str:
    """A value as TOML on one line, with quoted texts."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {as_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(as_toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return _quoted(str(value))


def _key(name: str) -> str:
    bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else _quoted(name)


def _quoted(text: str) -> str:
    """A quoted text. JSON's escapes are also TOML's, except surrogate pairs (hence `ensure_ascii`) and DEL, which TOML
    escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
