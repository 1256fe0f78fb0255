"""What Linux has of a discipline, as its row says: which word of `tc` says which parameter.

The rows are those of `tailback describe --json`, under `linux`; a class of one's own has the same as its attribute
`linux`, a dict, in which what is not needed may be left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tailback.linux.units import TcError

#: The parameter that names a set of values. Values that are given replace those of the set.
PROFILE = "profile"


@dataclass(frozen=True)
class TcWord:
    """A word of `tc`, and the parameter it says."""

    word: str = ""
    #: Empty: it says nothing of the discipline itself, as the rate of the line.
    parameter: str = ""
    #: Parameters that must have the same value, as the word says all of them.
    also: tuple[str, ...] = ()
    #: How the value is written: see `words.py`.
    value: str = "whole"
    #: Of a flag or a choice: values, and their words.
    words: tuple[tuple[str, str], ...] = ()
    #: A whole number says so many times the value.
    times: int = 1
    #: What Linux has without the word: `is` this default, what the `device` has, or it is always `told` or `needed`.
    unsaid: str = "told"
    default: str = ""
    #: A parameter that has to be true for the word to mean something.
    only_with: str = ""
    #: The largest number that is taken; 0 for any.
    most: int = 0


@dataclass(frozen=True)
class Form:
    """A discipline as Linux has it."""

    #: By the simulator's name.
    discipline: str
    kind: str
    #: The kind where the buffer counts bytes, if it is another.
    in_bytes: str = ""
    always: tuple[str, ...] = ()
    options: tuple[TcWord, ...] = ()
    #: Words that say several values: word, parameters with values, and whether these are added to what stands before.
    presets: tuple[Mapping[str, Any], ...] = ()
    #: Parameters without a word, their values in Linux, and what differs where the simulator has others.
    built_in: tuple[Mapping[str, str], ...] = ()
    since: str = ""
    differs: str = ""
    note: str = ""
    #: The simulator's defaults, by parameter.
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind in (self.kind, self.in_bytes) if kind)

    @property
    def shapes(self) -> bool:
        """It holds a rate by itself, as `cake` does; any other stands below a class of `htb`. RED asks for the rate of
        its line for another reason."""
        return any(option.value == "rate" and option.unsaid != "needed" for option in self.options)

    @property
    def first(self) -> str:
        """Since when it is there."""
        return self.since and f"{self.since} of Linux and of iproute2 are the first to have it."

    def of_profile(self, name: str) -> frozenset[str]:
        """The parameters that a profile of the discipline sets."""
        profiles = (models().get(self.discipline) or {}).get("profiles") or ()
        return frozenset(parameter for p in profiles if p["name"] == name for parameter in p["values"])

    def has(self, parameter: str) -> bool:
        return any(parameter == option.parameter for option in self.options)


@functools.cache
def models() -> Mapping[str, Mapping[str, Any]]:
    """All disciplines as they are described, by name."""
    from tailback.core.scenario.reference import describe

    return {m["name"]: m for m in describe("queue")}


def form(discipline: str) -> Form | None:
    """What Linux has of a discipline; None where it has nothing like it."""
    model = models().get(discipline)
    if model is None or model["linux"] is None:
        return None
    defaults = {p["name"]: p["default"] for p in model["parameters"]}
    return _declared(discipline, model["linux"], defaults)


def form_of_class(maker: Any, name: str) -> Form | None:
    """The same for a class of one's own with an attribute `linux`. Its parameters are attributes of the class."""
    declared = getattr(maker, "linux", None)
    if declared is None:
        return None
    if not isinstance(declared, Mapping):
        raise TcError(f"{name}.linux is a {type(declared).__name__}; give a dict such as {{'kind': 'pfifo'}}")
    parameters = [str(option.get("parameter", "")) for option in declared.get("options", ())]
    return _declared(name, declared, {p: getattr(maker, p, None) for p in parameters if p})


@functools.cache
def forms() -> tuple[Form, ...]:
    """All that Linux has."""
    return tuple(one for name in models() if (one := form(name)) is not None)


def nearest(discipline: str) -> str:
    """Of the disciplines that Linux has the one that is most like this one."""
    return (models().get(discipline) or {}).get("nearest_in_linux") or "fq-codel"


def law(discipline: str) -> Mapping[str, Any] | None:
    """The law that a discipline follows on a link."""
    declared: Mapping[str, Any] | None = (models().get(discipline) or {}).get("law")
    return declared


def shaping(discipline: str) -> str | None:
    """The parameter with the rate to which a discipline shapes; None where it does not."""
    parameter: str | None = (models().get(discipline) or {}).get("shapes")
    return parameter


@functools.cache
def word_against(kind: str, word: str) -> str:
    """The word that says the contrary of a flag of a kind, as `noecn` does; empty where there is none."""
    flags = [dict(o.words) for f in forms() if kind in f.kinds for o in f.options if o.value == "flag"]
    return next((words.get("false", "") for words in flags if words.get("true") == word), "")


@functools.cache
def token_bucket() -> str:
    """The discipline that holds another one to a rate, and that Linux has as a class of `htb`."""
    return next(name for name in models() if shaping(name) and form(name) is None)


def _declared(discipline: str, declared: Mapping[str, Any], defaults: Mapping[str, Any]) -> Form:
    known = _known(Form, declared, f"{discipline}.linux")
    if not known.get("kind"):
        raise TcError(f"{discipline}.linux has no kind; give the kernel's name, such as 'pfifo'")
    options = tuple(
        TcWord(**_known(TcWord, {**option, "words": tuple(map(tuple, option.get("words", ())))}, f"{discipline}.linux"))
        for option in known.pop("options", ())
    )
    known |= {key: tuple(known.get(key, ())) for key in ("always", "presets", "built_in")}
    return Form(discipline=discipline, defaults=defaults, options=options, **known)


def _known(what: type, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    names = [f.name for f in fields(what) if f.name not in ("discipline", "defaults")]
    if wrong := [key for key in given if key not in names]:
        raise TcError(f"{where} has no {wrong[0]!r}; it has {', '.join(names)}")
    return dict(given)
