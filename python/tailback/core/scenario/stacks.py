"""Transports written in Python, both ends of them: a class becomes a name that scenarios may have.

    tb.dumbbell(flows={"mine": {"transport": tb.stack(Mine, window=10)}})
    tb.run("lab.toml", overrides=["flows.mine.transport=mine.py:Mine"])

The parameters of a class after the first one are parameters of the transport, with their defaults; the class attribute
`probes` names the attributes that can be recorded, with their units.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from tailback import _core
from tailback.core.scenario import controls
from tailback.core.scenario.own_file import NAMED
from tailback.core.text.arguments import checked

#: The methods that every stack has, and their arguments.
METHODS = {"receive": ("data", "ecn", "now"), "transmit": ("now",)}

#: The class that each name stands for now: the last one given.
_LATEST: dict[str, type] = {}


class StackGiven:
    """A transport of one's own and its parameters, for `transport = ...`.

    >>> tb.stack("mine.py:Mine", window=10)
    stack('mine.py:Mine', window=10)
    """

    def __init__(self, kind: str, params: Mapping[str, Any], made_by: type | None = None) -> None:
        self.kind = kind
        self.params = dict(params)
        #: The class that the name stood for, if it was given as a class.
        self.made_by = made_by

    def to_dict(self) -> dict[str, Any]:
        if self.made_by is not None and _LATEST.get(self.kind) is not self.made_by:
            raise controls.refused(
                f"{self.kind} now names another class than the one that was given to tb.stack",
                "give one of the two another __qualname__, or make one class with a parameter of both; if the class "
                "was defined again, call tb.stack again",
                "transport",
            )
        return {"kind": self.kind, **self.params}

    def __repr__(self) -> str:
        return f"stack({', '.join([repr(self.kind), *(f'{k}={v!r}' for k, v in self.params.items())])})"


@checked
def stack(transport: str | type, **params: Any) -> StackGiven:
    """A transport of one's own: a class whose objects are the ends of connections, or `FILE.py:CLASS`; and its
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
    if isinstance(transport, str):
        match = NAMED.fullmatch(transport)
        if match is None:
            raise controls.refused(
                f'"{transport}" is no class', 'give a class, or "FILE.py:CLASS"', "transport", transport
            )
        controls.from_file(match["path"], match["name"])
        return StackGiven(transport, params)
    return StackGiven(register(transport), params, transport)


def is_stack(thing: Any) -> bool:
    """Whether it makes ends of connections."""
    return callable(thing) and all(hasattr(thing, method) for method in METHODS)


def register(made_by: Any, name: str | None = None) -> str:
    """Let scenarios name a class; gives back its name. Raises `ScenarioError`."""
    if not isinstance(made_by, type):
        raise controls.refused(
            f"a stack is a class of your own, not {type(made_by).__qualname__}",
            "give the class itself, not an object of it: each end of a connection is a new one",
            "transport",
        )
    called = name or f"{made_by.__module__}.{made_by.__qualname__}"
    for method, arguments in METHODS.items():
        _check_method(called, made_by, method, arguments)
    params = list(controls.params_of(called, made_by, "pair", "the connection that it is an end of"))
    doc = (inspect.getdoc(made_by) or "") if made_by.__doc__ else ""
    summary = doc.split("\n\n")[0].replace("\n", " ") or "A transport of one's own."
    _core.register_stack(called, made_by, summary, params, list(controls.probes_of(called, made_by)))
    _LATEST[called] = made_by
    return called


def _check_method(called: str, made_by: type, method: str, arguments: tuple[str, ...]) -> None:
    wanted = f"def {method}(self, {', '.join(arguments)})"
    function = getattr(made_by, method, None)
    if not callable(function):
        problem = f"{called} is not a stack: it has no method {method}"
        raise controls.refused(problem, f"give it `{wanted}`", "transport")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        problem = f"{called}.{method} is a coroutine or a generator"
        raise controls.refused(problem, f"write `{wanted}`, without yield", "transport")
    try:
        signature = inspect.signature(function)
    except ValueError:
        # Without a signature it is tried when the run begins.
        return
    try:
        is_bound = isinstance(inspect.getattr_static(made_by, method), (staticmethod, classmethod))
        signature.bind(*([None] * (len(arguments) + (0 if is_bound else 1))))
    except TypeError as e:
        problem = f"{called}.{method} cannot be called with {len(arguments)} arguments: {e}"
        raise controls.refused(problem, f"write `{wanted}`", "transport") from None
