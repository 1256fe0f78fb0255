"""A discipline's form in Linux, as its row declares it: which word of `tc` sets which parameter.

The rows are those of `tailback describe --json`, under `linux`. A user's own class has the same in its attribute
`linux`, a dict from which keys that are not needed may be left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tailback.linux.units import TcError

#: The parameter that names a profile, which is a set of values. Given values replace those of the profile.
PROFILE = "profile"


@dataclass(frozen=True)
class TcWord:
    """A word of `tc`, and the parameter that it sets."""

    word: str = ""
    #: Empty if the word sets no parameter of the discipline, such as the rate of the line.
    parameter: str = ""
    #: Parameters that must have the same value, since the word sets all of them.
    also: tuple[str, ...] = ()
    #: The way in which the value is written: see `words.py`.
    value: str = "whole"
    #: For a flag or a choice: its values and their words.
    words: tuple[tuple[str, str], ...] = ()
    #: The factor between the value and the whole number that is written.
    times: int = 1
    #: Linux's value without the word: it `is` this default, or the `device` has it. A word that is `told` or `needed`
    #: is always written.
    unsaid: str = "told"
    default: str = ""
    #: A parameter that must be true for the word to have an effect.
    only_with: str = ""
    #: The largest number that Linux takes; 0 if it takes any.
    most: int = 0


@dataclass(frozen=True)
class Form:
    """A discipline as Linux has it."""

    #: By the simulator's name.
    discipline: str
    kind: str
    #: The kind for a buffer in bytes, if it is a different kind.
    in_bytes: str = ""
    always: tuple[str, ...] = ()
    options: tuple[TcWord, ...] = ()
    #: Words that set several values: the word, the parameters with their values, and whether these are added to the
    #: earlier values.
    presets: tuple[Mapping[str, Any], ...] = ()
    #: Parameters without a word, their values in Linux, and the difference if the simulator has other values.
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
        """Whether the discipline shapes to a rate by itself, as `cake` does. Any other discipline is below a class of
        `htb`. RED needs the rate of its line for another reason."""
        return any(option.value == "rate" and option.unsaid != "needed" for option in self.options)

    @property
    def first(self) -> str:
        """The versions that first have it."""
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
    """The form of a discipline in Linux; None if Linux has no such discipline."""
    model = models().get(discipline)
    if model is None or model["linux"] is None:
        return None
    defaults = {p["name"]: p["default"] for p in model["parameters"]}
    return _declared(discipline, model["linux"], defaults)


def form_of_class(maker: Any, name: str) -> Form | None:
    """The form of a user's own class with an attribute `linux`. The parameters of this form are attributes of the
    class."""
    form_keys = getattr(maker, "linux", None)
    if form_keys is None:
        return None
    if not isinstance(form_keys, Mapping):
        raise TcError(f"{name}.linux is a {type(form_keys).__name__}; give a dict such as {{'kind': 'pfifo'}}")
    parameters = [str(option.get("parameter", "")) for option in form_keys.get("options", ())]
    return _declared(name, form_keys, {p: getattr(maker, p, None) for p in parameters if p})


@functools.cache
def forms() -> tuple[Form, ...]:
    """All forms that Linux has."""
    return tuple(one for name in models() if (one := form(name)) is not None)


def nearest(discipline: str) -> str:
    """The discipline of Linux that is most like this one."""
    return (models().get(discipline) or {}).get("nearest_in_linux") or "fq-codel"


def law(discipline: str) -> Mapping[str, Any] | None:
    """The law that a discipline follows on a link."""
    declared_law: Mapping[str, Any] | None = (models().get(discipline) or {}).get("law")
    return declared_law


def shaping(discipline: str) -> str | None:
    """The parameter with the rate to which a discipline shapes; None if it does not shape."""
    parameter: str | None = (models().get(discipline) or {}).get("shapes")
    return parameter


@functools.cache
def word_against(kind: str, word: str) -> str:
    """The word that turns a flag of a kind off, such as `noecn`; empty if there is none."""
    flags = [dict(o.words) for f in forms() if kind in f.kinds for o in f.options if o.value == "flag"]
    return next((words.get("false", "") for words in flags if words.get("true") == word), "")


@functools.cache
def token_bucket() -> str:
    """The discipline that shapes another one to a rate; in Linux it is a class of `htb`."""
    return next(name for name in models() if shaping(name) and form(name) is None)


def _declared(discipline: str, declared: Mapping[str, Any], defaults: Mapping[str, Any]) -> Form:
    known_keys = _known(Form, declared, f"{discipline}.linux")
    if not known_keys.get("kind"):
        raise TcError(f"{discipline}.linux has no kind; give the kernel's name, such as 'pfifo'")
    options = tuple(
        TcWord(**_known(TcWord, {**option, "words": tuple(map(tuple, option.get("words", ())))}, f"{discipline}.linux"))
        for option in known_keys.pop("options", ())
    )
    known_keys |= {key: tuple(known_keys.get(key, ())) for key in ("always", "presets", "built_in")}
    return Form(discipline=discipline, defaults=defaults, options=options, **known_keys)


def _known(what: type, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    names = [f.name for f in fields(what) if f.name not in ("discipline", "defaults")]
    if wrong := [key for key in given if key not in names]:
        raise TcError(f"{where} has no {wrong[0]!r}; it has {', '.join(names)}")
    return dict(given)
