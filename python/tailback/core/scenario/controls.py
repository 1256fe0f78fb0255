"""Congestion controls, rate controls and transports written in Python. Each class gets a name that scenarios can use.

    tb.dumbbell(tcp={"congestion": tb.congestion(Mine, gain=0.5)})
    net.flows("call", traffic="video", rtp={"control": tb.rate_control(Calm, share=0.8)})
    tb.dumbbell(flows={"mine": {"transport": tb.stack(Mine, window=10)}})
    tb.run("lab.toml", overrides=["flows.bulk.tcp.congestion=mine.py:Mine"])

The constructor's parameters after the first are the parameters of the control or transport, with their defaults. The
class attribute `probes` names the attributes that can be recorded, with their units.

Every run imports this module. The module imports the reader of TOML only if a text is read in Python.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from tailback import _core
from tailback.core.scenario import queues
from tailback.core.scenario.names import check_names
from tailback.core.scenario.own_file import NAMED, FileError, loaded
from tailback.core.text.arguments import checked
from tailback.core.text.plain import plain


class Kind(NamedTuple):
    """A kind of class, and its contract."""

    #: The key by which a scenario names a class of this kind, and the family of its models.
    path: str
    family: str
    title: str
    #: The first argument of the constructor, and its meaning.
    first: tuple[str, str]
    #: The thing for which each object is made.
    user: str
    #: The required methods, with their arguments.
    methods: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The last part of the key by which a scenario names a class of this kind."""
        return self.path.rpartition(".")[2]

    @property
    def transport(self) -> str:
        """The key of the table that contains this key."""
        return self.path.split(".")[-2]

    def check(self, control: str, params: Mapping[str, Any], said: str) -> None:
        """Raises `ScenarioError` for an unknown name or unknown parameters."""
        table: Any = {"kind": control, **params}
        for key in reversed(self.path.split(".")):
            table = {key: table}
        check_names(table, self.path, said)


CONGESTION = Kind(
    "flows.x.tcp.congestion",
    "congestion",
    "congestion control",
    ("rules", "the rules of the window"),
    "connection",
    (("on_ack", "ack"), ("on_congestion", "sign")),
)
RATE = Kind(
    "flows.x.rtp.control",
    "rate-control",
    "rate control",
    ("terms", "the terms"),
    "sender",
    (("on_feedback", "feedback"),),
)
STACK = Kind(
    "flows.x.transport",
    "transport",
    "stack",
    ("pair", "the connection that it is an end of"),
    "connection",
    (("receive", "data, ecn, now"), ("transmit", "now")),
)
KINDS = (CONGESTION, RATE, STACK)
#: The types of a parameter.
_KINDS: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


#: The largest default of each type.
_MOST: dict[type, float] = {bool: 1.0, int: 2.0**53, float: sys.float_info.max, str: 2.0**53}


#: The class of each name. If several classes have the name, it is the last one that was given.
_LATEST: dict[str, type] = {}


class ControlGiven:
    """A control and its parameters, as a scenario takes them."""

    #: The name of the function that makes this object, and the kind of control.
    made_by: ClassVar[str]
    of: ClassVar[Kind]

    def __init__(self, kind: str, params: Mapping[str, Any], control: type | None = None) -> None:
        self.kind = kind
        self.params = dict(params)
        #: The class of the name `kind`, if it is the user's own.
        self.control = control

    @classmethod
    def named(cls, control: str | type, params: Mapping[str, Any]) -> Self:
        """Makes one from a name, a class, or `FILE.py:CLASS`. Raises `ScenarioError`."""
        own_class = None if isinstance(control, str) else control
        match = NAMED.fullmatch(control) if isinstance(control, str) else None
        if own_class is not None:
            name = register(own_class, kind=cls.of)
        elif match:
            name = from_file(match["path"], match["name"], kind=cls.of)
        elif cls.of is STACK:
            raise refused(f'"{control}" is no class', 'give a class, or "FILE.py:CLASS"', cls.of.key, str(control))
        else:
            name = str(control)
        built_in = own_class is None and match is None
        if (built_in or params) and not any(isinstance(p, type) for p in params.values()):
            cls.of.check(name, params, f'{cls.made_by}("{name}")')
        return cls(name, params, own_class)

    def to_dict(self) -> dict[str, Any]:
        if self.control is not None and _LATEST.get(self.kind) is not self.control:
            raise refused(
                f"{self.kind} is now the name of another class than the one that was given to tb.{self.made_by}",
                "give one of the two another __qualname__, or make one class with a parameter of both; if the class "
                f"was defined again, call tb.{self.made_by} again",
                self.of.key,
            )
        return {"kind": self.kind, **self.params}

    def __repr__(self) -> str:
        arguments = ", ".join([repr(self.kind), *(f"{k}={v!r}" for k, v in self.params.items())])
        return f"{self.made_by}({arguments})"


class CongestionGiven(ControlGiven):
    """A congestion control and its parameters, for `tcp = {"congestion": ...}`.

    >>> tb.congestion("cubic", hystart=True)
    congestion('cubic', hystart=True)
    """

    made_by, of = "congestion", CONGESTION


class RateControlGiven(ControlGiven):
    """A rate control of media and its parameters, for `rtp = {"control": ...}`.

    >>> tb.rate_control("nada", xref="20ms")
    rate_control('nada', xref='20ms')
    """

    made_by, of = "rate_control", RATE


class StackGiven(ControlGiven):
    """A user's own transport and its parameters, for `transport = ...`.

    >>> tb.stack("mine.py:Mine", window=10)
    stack('mine.py:Mine', window=10)
    """

    made_by, of = "stack", STACK


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
    return CongestionGiven.named(control, params)


@checked
def rate_control(control: str | type, **params: Any) -> RateControlGiven:
    """A rate control of media: a name of the reference, a class of your own, or `FILE.py:CLASS`; and its parameters.

    >>> class Fixed:
    ...     def __init__(self, terms, *, share: float = 1.0):
    ...         self.target = share * terms.max
    ...     def on_feedback(self, feedback): ...
    >>> control = tb.rate_control(Fixed, share=0.5)
    >>> net = tb.network().link("line", "a", "b", rate="10Mbps", delay="20ms", queue="droptail")
    >>> net = net.flows("call", rtp={"control": control, "max_rate": "2Mbps"})
    >>> result = net.run(duration="5s")
    >>> round(float(result.flows["throughput_bps"][0]) / 1e6, 2)
    1.0
    """
    return RateControlGiven.named(control, params)


@checked
def stack(transport: str | type, **params: Any) -> StackGiven:
    """A user's own transport: a class whose objects are the ends of connections, or `FILE.py:CLASS`; and its
    parameters.

    >>> class Ticker:
    ...     '''Sends 1000 bytes each 10 ms.'''
    ...     def __init__(self, pair, *, gap: float = 0.01):
    ...         self.gap, self.timeout = gap, 0.0 if pair.first else None
    ...         self.delivered = 0
    ...     def receive(self, data, ecn, now):
    ...         self.delivered += len(data)
    ...     def transmit(self, now):
    ...         if self.timeout is None or now < self.timeout:
    ...             return None
    ...         self.timeout += self.gap
    ...         return bytes(1000)
    >>> mine = {"transport": tb.stack(Ticker, gap=0.005)}
    >>> net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": mine})
    >>> result = net.run(duration="5s")
    >>> round(float(result.flows["goodput_bps"][0]) / 1e6, 1)
    1.6
    """
    return StackGiven.named(transport, params)


def sender(given: Any) -> CongestionGiven | StackGiven:
    """A congestion control, or a transport that replaces TCP; the methods of the class decide which. Raises
    `ScenarioError`."""
    if isinstance(given, (CongestionGiven, StackGiven)):
        return given
    match = NAMED.fullmatch(given) if isinstance(given, str) else None
    try:
        own_class = loaded(match["path"], match["name"]) if match else given
    except FileError:
        # The functions below report the error.
        own_class = None
    return stack(given) if kind_of(own_class) is STACK else congestion(given)


def refused(problem: str, remedy: str, key: str = "congestion", value: str = "") -> _core.ScenarioError:
    """The error of a class that cannot be a control or a stack."""
    text = f"error: {plain(problem)}" + (f"\n  = help: {plain(remedy)}" if remedy else "")
    error = _core.ScenarioError(text)
    error.file = ""
    about: dict[str, Any] = {"code": "value", "key": key, "value": value, "problem": problem, "allowed": ""}
    error.problems = [{**about, "nearest": None, "remedy": remedy, "line": None, "column": None}]
    return error


def register(control: Any, name: str | None = None, kind: Kind | None = None) -> str:
    """Lets scenarios name a class, and returns its name. Without `kind`, the methods of the class decide its kind.
    Raises `ScenarioError`."""
    kind = kind or kind_of(control) or CONGESTION
    if not isinstance(control, type):
        raise refused(
            f"a {kind.title} is a class of your own or a name, not {type(control).__qualname__}",
            f"give the class itself, not an object of it: each {kind.user} makes a new one",
            kind.key,
        )
    name_in_scenario = name or f"{control.__module__}.{control.__qualname__}"
    for method, argument in kind.methods:
        _check_method(name_in_scenario, control, method, argument, kind)
    params = list(_params(name_in_scenario, control, kind))
    doc = (inspect.getdoc(control) or "") if control.__doc__ else ""
    summary = doc.split("\n\n")[0].replace("\n", " ") or f"A user's own {kind.title}."
    try:
        _core.register_control(
            kind.family, name_in_scenario, control, summary, params, list(_probes(name_in_scenario, control))
        )
    except ValueError as e:
        raise refused(f"{name_in_scenario}: {e}", "", kind.key) from e
    _LATEST[name_in_scenario] = control
    return name_in_scenario


def kind_of(control: Any, asked: Kind | None = None) -> Kind | None:
    """The kind of a class by its methods. The class has all methods of its kind. If it has all methods of no kind, its
    kind is one of which it has one method. Of several kinds, the requested one counts, since a transport may also have
    a method `on_ack`."""
    kinds = sorted(KINDS, key=lambda kind: kind is not asked)
    fits = (kind for enough in (all, any) for kind in kinds if enough(hasattr(control, m) for m, _ in kind.methods))
    return next(fits, None)


def _check_method(called: str, control: type, method: str, argument: str, kind: Kind) -> None:
    method_found = inspect.getattr_static(control, method, None)
    function = getattr(control, method, None)
    if function is None or not callable(function):
        raise refused(
            f"{called} is not a {kind.title}: it has no method {method}",
            f"give it `def {method}(self, {argument})`",
            kind.key,
        )
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise refused(f"{called}.{method} is a coroutine or a generator", "write it with `def`, without yield")
    try:
        signature = inspect.signature(function)
        # A static or class method has no `self` to pass.
        arguments = [None] * len(argument.split(","))
        signature.bind(*(arguments if isinstance(method_found, (staticmethod, classmethod)) else [None, *arguments]))
    except TypeError as e:
        how_many = f"{len(arguments)} arguments" if len(arguments) > 1 else "one argument"
        raise refused(
            f"{called}.{method} cannot be called with {how_many}: {e}", f"write `def {method}(self, {argument})`"
        ) from None
    except ValueError:
        # A class without a signature is tried when the run begins.
        return


def _params(called: str, control: type, kind: Kind) -> Iterator[tuple[str, str, str, str]]:
    """The name, kind, default and description of each parameter."""
    try:
        parameters = list(inspect.signature(control).parameters.values())
    except (ValueError, TypeError):
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first_parameter = parameters[0] if parameters else None
    if first_parameter is None or first_parameter.kind not in (*positional, inspect.Parameter.VAR_POSITIONAL):
        argument, what = kind.first
        raise refused(
            f"{called} takes no argument for {what}", f"write `def __init__(self, {argument}, ...)`", kind.key
        )
    try:
        hints = typing.get_type_hints(control.__init__)  # type: ignore[misc]
    except Exception:
        hints = {}
    for p in parameters[1:]:
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        if p.kind == inspect.Parameter.POSITIONAL_ONLY or p.name == "kind":
            raise refused(f"{called}: its parameter {p.name} cannot be given by name", "rename it")
        kind_of_default, default = _kind(called, p, hints.get(p.name))
        default_text = "no default" if default == "" else f"default {default}"
        yield p.name, kind_of_default, default, f"A parameter of {called.rpartition('.')[2]}: {default_text}."


def _kind(called: str, p: inspect.Parameter, hint: Any) -> tuple[str, str]:
    """The kind of a parameter, and its default as a scenario writes it."""
    of_hint = [t for t in (typing.get_args(hint) or (hint,)) if t in _KINDS]
    has_no_default = p.default is inspect.Parameter.empty
    kind = of_hint[0] if of_hint else type(p.default)
    fits_kind = kind in _KINDS and (has_no_default or p.default is None or isinstance(p.default, (kind, int)))
    if kind is type(None):
        raise refused(
            f"{called}: its parameter {p.name} has the default None, which does not say what it is",
            f"annotate it, such as `{p.name}: float | None = None`",
        )
    if not fits_kind or p.default == "":
        raise refused(
            f"{called}: its parameter {p.name} is neither bool, int, float nor str",
            f"give it a default such as `{p.name}: float = 0.5`",
        )
    if isinstance(p.default, (int, float)) and not abs(p.default) <= _MOST.get(kind, 1.0):
        raise refused(
            f"{called}: its parameter {p.name} has the default {str(p.default)[:20]}, which no scenario can give",
            "give it a finite number as default, or `float | None = None`",
        )
    if kind is int and not has_no_default and p.default is not None and p.default < 0:
        kind = float
    if has_no_default:
        return _KINDS[kind], ""
    default = p.default
    if default is None:
        return _KINDS[kind], "none"
    return _KINDS[kind], str(default).lower() if isinstance(default, bool) else str(default)


def _probes(called: str, control: type) -> Iterator[tuple[str, str, str]]:
    probes = getattr(control, "probes", {})
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


def from_file(path: str, name: str, near: Iterable[Path] = (), kind: Kind | None = None) -> str:
    """Registers a class of a file (a control, a queue or a stack) under the name `FILE.py:CLASS`. If the class has no
    method of any kind, the error names this kind. Raises `ScenarioError`."""
    name_in_scenario = f"{path}:{name}"
    try:
        own_class = loaded(path, name, near)
    except FileError as e:
        if queues.is_known(name_in_scenario):
            # The class itself was given.
            return name_in_scenario
        raise refused(f"the class {name_in_scenario}: {e.problem}", e.remedy, value=name_in_scenario) from e
    if queues.is_discipline(own_class):
        return queues.register(name_in_scenario, own_class)
    return register(own_class, name_in_scenario, kind_of(own_class, kind) or kind)


def named_in(text: str) -> list[tuple[str, str, Kind]]:
    """The `FILE.py:CLASS` names in a scenario's text, each with the kind that its key expects."""
    if ".py:" not in text:
        return []
    keys = (*(kind.key for kind in KINDS), "queue", "kind", "values")
    lines = [line for line in text.splitlines() if any(key in line for key in keys)]
    controls_named = [
        (m["path"], m["name"], _asked(m)) for line in lines for m in NAMED.finditer(line.partition(" #")[0])
    ]
    return list(dict.fromkeys(controls_named))


def _asked(match: re.Match[str]) -> Kind:
    """The kind of control by the nearest key before a name on its line; a congestion control if there is no such
    key."""
    text_before = match.string[: match.start()]
    return max(KINDS, key=lambda kind: text_before.rfind(kind.key))


def register_named(texts: Iterable[str], near: Iterable[Path] = ()) -> None:
    """Register every class in a file that these texts name. Raises `ScenarioError`."""
    folders = list(near)
    for text in texts:
        for path, name, kind in named_in(text):
            from_file(path, name, folders, kind)


def stand_ins(text: str, kind: str) -> None:
    """Lets a stored scenario be read without its classes: each name gets the parameters that the scenario gives it."""
    from tailback.core.text import toml

    try:
        document = json.loads(text) if kind == "json" else toml.loads(text)
    except ValueError:
        # The reader reports the error.
        return
    parameters: dict[tuple[Kind, str], dict[str, Any]] = {}
    for family in KINDS:
        for value in _values(document, family.key):
            table = value if isinstance(value, Mapping) else {"kind": value}
            name = table.get("kind")
            if isinstance(name, str) and ("." in name or ":" in name):
                parameters.setdefault((family, name), {}).update({k: v for k, v in table.items() if k != "kind"})
    probes = {p: "" for value in _values(document, "probes") if isinstance(value, list) for p in value}
    for (family, name), settings in parameters.items():
        kinds = [(k, _KINDS[type(v)], "none", "Given.") for k, v in settings.items() if type(v) in _KINDS]
        own_probes = [(p, unit, "recorded") for p, unit in probes.items() if isinstance(p, str)]
        _core.register_control(family.family, name, None, "A class that is not available.", kinds, own_probes)


def files_given(text: str, named: Mapping[str, Iterable[str]]) -> set[str]:
    """The values of these parameters of these controls in a scenario's text (TOML)."""
    from tailback.core.text import toml

    document = toml.loads(text)
    tables = [t for kind in KINDS for t in _values(document, kind.key) if isinstance(t, Mapping)]
    return {str(t[p]) for t in tables for p in named.get(str(t.get("kind")), ()) if p in t}


def _values(document: Any, key: str) -> Iterator[Any]:
    """The values of a key at any depth; for a list, its items."""
    if isinstance(document, Mapping):
        for k, v in document.items():
            if k == key:
                yield from v if isinstance(v, list) and key != "probes" else [v]
            yield from _values(v, key)
    elif isinstance(document, list):
        for v in document:
            yield from _values(v, key)


def named(key: str, value: Any) -> Any:
    """The value of a key of a scenario; a class of controls by its name."""
    kind_of_key = {kind.key: kind for kind in KINDS}
    kind = kind_of(value, kind_of_key.get(key)) if isinstance(value, type) and key in (*kind_of_key, "kind") else None
    return value if kind is None else register(value, kind=kind)
