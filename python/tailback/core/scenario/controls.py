"""Congestion controls written in Python: a class becomes a name that scenarios may have.

    tb.dumbbell(tcp={"congestion": tb.congestion(Mine, gain=0.5)})
    tb.run("lab.toml", overrides=["flows.bulk.tcp.congestion=mine.py:Mine"])

The parameters of a class after the first one are parameters of the control, with their defaults; the class attribute
`probes` names the attributes that can be recorded, with their units.

Every run imports this; the reader of TOML is imported only where Python reads a text.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario import queues
from tailback.core.scenario.names import check_names
from tailback.core.scenario.own_file import NAMED, FileError, loaded
from tailback.core.text.arguments import checked
from tailback.core.text.plain import plain

#: The methods that every control has.
METHODS = ("on_ack", "on_congestion")
#: What a parameter may be.
_KINDS: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


#: The largest default of each.
_MOST: dict[type, float] = {bool: 1.0, int: 2.0**53, float: sys.float_info.max, str: 2.0**53}


#: The class that each name stands for now: the last one given.
_LATEST: dict[str, type] = {}


class CongestionGiven:
    """A congestion control and its parameters, for `tcp = {"congestion": ...}`.

    >>> tb.congestion("cubic", hystart=True)
    congestion('cubic', hystart=True)
    """

    def __init__(self, kind: str, params: Mapping[str, Any], control: type | None = None) -> None:
        self.kind = kind
        self.params = dict(params)
        #: The class that the name stood for, if it is one of your own.
        self.control = control

    def to_dict(self) -> dict[str, Any]:
        if self.control is not None and _LATEST.get(self.kind) is not self.control:
            raise refused(
                f"{self.kind} now names another class than the one that was given to tb.congestion",
                "give one of the two another __qualname__, or make one class with a parameter of both; if the class "
                "was defined again, call tb.congestion again",
            )
        return {"kind": self.kind, **self.params}

    def __repr__(self) -> str:
        return f"congestion({', '.join([repr(self.kind), *(f'{k}={v!r}' for k, v in self.params.items())])})"


@checked
def congestion(control: str | type, **params: Any) -> CongestionGiven:
    """A congestion control: a name of the reference, a class of your own, or `FILE.py:CLASS`; and its parameters.

    >>> class Fixed:
    ...     def __init__(self, rules, *, segments: float = 10.0):
    ...         self.cwnd = segments * rules.segment
    ...     def on_ack(self, ack): ...
    ...     def on_congestion(self, sign): ...
    >>> net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", tcp={"congestion": tb.congestion(Fixed, segments=4)})
    >>> result = net.run(duration="5s")
    >>> round(float(result.flows["goodput_bps"][0]) / 1e6, 1)
    1.1
    """
    if isinstance(control, str):
        match = NAMED.fullmatch(control)
        if match:
            from_file(match["path"], match["name"])
        elif not any(isinstance(p, type) for p in params.values()):
            tcp = {"congestion": {"kind": control, **params}}
            check_names({"flows": {"x": {"tcp": tcp}}}, "flows.x.tcp.congestion", f'congestion("{control}")')
        return CongestionGiven(control, params)
    return CongestionGiven(register(control), params, control)


def refused(problem: str, remedy: str, key: str = "congestion", value: str = "") -> _core.ScenarioError:
    """The error of a class that cannot be a congestion control."""
    text = f"error: {plain(problem)}" + (f"\n  = help: {plain(remedy)}" if remedy else "")
    error = _core.ScenarioError(text)
    error.file = ""
    about: dict[str, Any] = {"code": "value", "key": key, "value": value, "problem": problem, "allowed": ""}
    error.problems = [{**about, "nearest": None, "remedy": remedy, "line": None, "column": None}]
    return error


def register(control: Any, name: str | None = None) -> str:
    """Let scenarios name a class; gives back its name. Raises `ScenarioError`."""
    if not isinstance(control, type):
        raise refused(
            f"a congestion control is a class of your own or a name, not {type(control).__qualname__}",
            "give the class itself, not an object of it: each connection makes a new one",
        )
    called = name or f"{control.__module__}.{control.__qualname__}"
    for method, argument in zip(METHODS, ("ack", "sign"), strict=True):
        _check_method(called, control, method, argument)
    params = list(params_of(called, control, "rules", "the rules of the window"))
    doc = (inspect.getdoc(control) or "") if control.__doc__ else ""
    summary = doc.split("\n\n")[0].replace("\n", " ") or "A congestion control of one's own."
    try:
        _core.register_control(called, control, summary, params, list(probes_of(called, control)))
    except ValueError as e:
        raise refused(f"{called}: {e}", "") from e
    _LATEST[called] = control
    return called


def _check_method(called: str, control: type, method: str, argument: str) -> None:
    declared = inspect.getattr_static(control, method, None)
    function = getattr(control, method, None)
    if function is None or not callable(function):
        raise refused(
            f"{called} is not a congestion control: it has no method {method}",
            f"give it `def {method}(self, {argument})`",
        )
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise refused(f"{called}.{method} is a coroutine or a generator", "write it with `def`, without yield")
    try:
        signature = inspect.signature(function)
        # A static or class method has no `self` to pass.
        signature.bind(*([None] if isinstance(declared, (staticmethod, classmethod)) else [None, None]))
    except TypeError as e:
        raise refused(
            f"{called}.{method} cannot be called with one argument: {e}", f"write `def {method}(self, {argument})`"
        ) from None
    except ValueError:
        # Without a signature it is tried when the run begins.
        return


def params_of(called: str, own_class: type, first: str, means: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, kind, default and sentence of each parameter of a class, whose argument `first` is no parameter."""
    try:
        listed = list(inspect.signature(own_class).parameters.values())
    except (ValueError, TypeError):
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = listed[0].kind if listed else None
    if taken not in (*positional, inspect.Parameter.VAR_POSITIONAL):
        raise refused(f"{called} takes no argument for {means}", f"write `def __init__(self, {first}, ...)`")
    try:
        hints = typing.get_type_hints(own_class.__init__)  # type: ignore[misc]
    except Exception:
        hints = {}
    for p in listed[1:]:
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        if p.kind == inspect.Parameter.POSITIONAL_ONLY or p.name == "kind":
            raise refused(f"{called}: its parameter {p.name} cannot be given by name", "rename it")
        kind, default = _kind(called, p, hints.get(p.name))
        default_text = "no default" if default == "" else f"default {default}"
        yield p.name, kind, default, f"A parameter of {called.rpartition('.')[2]}: {default_text}."


def _kind(called: str, p: inspect.Parameter, hint: Any) -> tuple[str, str]:
    """The kind of a parameter, and its default as a user would write it."""
    of_hint = [t for t in (typing.get_args(hint) or (hint,)) if t in _KINDS]
    empty = p.default is inspect.Parameter.empty
    kind = of_hint[0] if of_hint else type(p.default)
    fits = kind in _KINDS and (empty or p.default is None or isinstance(p.default, (kind, int)))
    if not fits or p.default == "":
        raise refused(
            f"{called}: its parameter {p.name} is neither bool, int, float nor str",
            f"give it a default such as `{p.name}: float = 0.5`",
        )
    if isinstance(p.default, (int, float)) and not abs(p.default) <= _MOST.get(kind, 1.0):
        raise refused(
            f"{called}: its parameter {p.name} has the default {str(p.default)[:20]}, which no scenario can give",
            "give it a finite number as default, or `float | None = None`",
        )
    if kind is int and not empty and p.default is not None and p.default < 0:
        kind = float
    if empty:
        return _KINDS[kind], ""
    default = p.default
    if default is None:
        return _KINDS[kind], "none"
    return _KINDS[kind], str(default).lower() if isinstance(default, bool) else str(default)


def probes_of(called: str, own_class: type) -> Iterator[tuple[str, str, str]]:
    """Name, unit and sentence of each attribute that can be recorded."""
    probes = getattr(own_class, "probes", {})
    if isinstance(probes, (list, tuple)):
        probes = dict.fromkeys(probes, "")
    if not isinstance(probes, Mapping) or not all(isinstance(x, str) for pair in probes.items() for x in pair):
        raise refused(
            f"{called}.probes is {type(probes).__qualname__}", 'name attributes and units: probes = {"target": "s"}'
        )
    for name, unit in probes.items():
        if not name.isidentifier():
            raise refused(f"{called}.probes has {name!r}, which is no attribute", "name attributes of the object")
        yield name, unit, f"the attribute {name} of {called.rpartition('.')[2]}"


def from_file(path: str, name: str, near: Iterable[Path] = ()) -> str:
    """Register the class of a file, a congestion control, a queue or a stack, under the name `FILE.py:CLASS`. Raises
    `ScenarioError`."""
    called = f"{path}:{name}"
    try:
        own_class = loaded(path, name, near)
    except FileError as e:
        if queues.is_known(called):
            # The class itself was given.
            return called
        raise refused(f"the class {called}: {e.problem}", e.remedy, value=called) from e
    if queues.is_discipline(own_class):
        return queues.register(called, own_class)
    # Stacks are checked as controls are.
    from tailback.core.scenario import stacks

    return stacks.register(own_class, called) if stacks.is_stack(own_class) else register(own_class, called)


def named_in(text: str) -> list[tuple[str, str]]:
    """The classes in files that a scenario's text names as congestion controls, queues or transports."""
    if ".py:" not in text:
        return []
    keys = ("congestion", "queue", "transport", "kind", "values")
    lines = [line for line in text.splitlines() if any(key in line for key in keys)]
    matches = (match for line in lines for match in NAMED.finditer(line.partition(" #")[0]))
    return list(dict.fromkeys((m["path"], m["name"]) for m in matches))


def register_named(texts: Iterable[str], near: Iterable[Path] = ()) -> None:
    """Register every class in a file that these texts name. Raises `ScenarioError`."""
    folders = list(near)
    for text in texts:
        for path, name in named_in(text):
            from_file(path, name, folders)


def stand_ins(text: str, kind: str) -> None:
    """Let a stored scenario be read whose classes are not at hand: each name gets the parameters that it has there."""
    from tailback.core.text import toml

    try:
        document = json.loads(text) if kind == "json" else toml.loads(text)
    except ValueError:
        # The reader says what is wrong.
        return
    probes = {p: "" for value in _values(document, "probes") if isinstance(value, list) for p in value}
    own = [(p, unit, "recorded") for p, unit in probes.items() if isinstance(p, str)]
    for key, stands_in in (("congestion", _core.register_control), ("transport", _core.register_stack)):
        for name, settings in _classes_at(document, key).items():
            kinds = [(k, _KINDS[type(v)], "none", "Given.") for k, v in settings.items() if type(v) in _KINDS]
            stands_in(name, None, "A class that is not at hand.", kinds, own)


def _classes_at(document: Any, key: str) -> dict[str, dict[str, Any]]:
    """The names of classes that stand at a key, and the parameters that each has somewhere."""
    parameters: dict[str, dict[str, Any]] = {}
    for value in _values(document, key):
        table = value if isinstance(value, Mapping) else {"kind": value}
        name = table.get("kind")
        if isinstance(name, str) and ("." in name or ":" in name):
            parameters.setdefault(name, {}).update({k: v for k, v in table.items() if k != "kind"})
    return parameters


def files_given(text: str, named: Mapping[str, Iterable[str]]) -> set[str]:
    """The values of these parameters of these controls in a scenario's text (TOML)."""
    from tailback.core.text import toml

    tables = [t for t in _values(toml.loads(text), "congestion") if isinstance(t, Mapping)]
    return {str(t[p]) for t in tables for p in named.get(str(t.get("kind")), ()) if p in t}


def _values(document: Any, key: str) -> Iterator[Any]:
    """The values of a key, at any depth; the items of a list that stands there."""
    if isinstance(document, Mapping):
        for k, v in document.items():
            if k == key:
                yield from v if isinstance(v, list) and key != "probes" else [v]
            yield from _values(v, key)
    elif isinstance(document, list):
        for v in document:
            yield from _values(v, key)


def named(key: str, value: Any) -> Any:
    """The value of a key of a scenario; a class of congestion controls by its name."""
    if isinstance(value, type) and (key == "congestion" or (key == "kind" and hasattr(value, "on_ack"))):
        return register(value) if any(hasattr(value, m) for m in METHODS) else value
    return value
