"""What was asked for is read: quantities with units, words of a list, names of models. One error for all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tailback import _core
from tailback.core.text.given import shown

T = TypeVar("T")


class LinkError(ValueError):
    """A question without an answer; the message names the option, its value, and what to write instead."""


def parsed(option: str, parse: Callable[[str], T], text: str) -> T:
    """What this parser makes of the value of an option. Raises `LinkError`."""
    try:
        return parse(text)
    except (ValueError, TypeError) as e:
        raise LinkError(f"{option} = {text}: {e}") from e


def named(option: str, family: str, given: object, what: str) -> str:
    """The own name of a model of a family, of which Linux, ns-2 and ns-3 may have another. Raises `LinkError`."""
    from tailback.core.scenario.reference import describe

    if not isinstance(given, str):
        raise LinkError(
            f"{option} = {class_shown(given)}: give the name of a {what}, or a table with `kind`; one that is written "
            "in Python is compared by running a network with each (tb.dumbbell(queue=...).run(), tb.compare)"
        )
    meant = _core.models_meant(family, given)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise LinkError(f"{option} = {given}: this may be {' or '.join(meant)}; write one of them")
    known = [m["name"] for f in describe() if f["family"] == family for m in f["models"]]
    near = get_close_matches(given, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"`tailback describe {family}` lists them"
    raise LinkError(f"{option} = {given}: there is no {what} {given!r}; {hint}")


def own_name(given: object) -> str:
    """The own name of a discipline, of which Linux, ns-2 and ns-3 may have another. Raises `LinkError`."""
    return named("queue", "queue", given, "discipline")


def class_shown(given: object) -> str:
    """What was given instead of a name, short."""
    return getattr(given, "__qualname__", None) or shown(given)


def chosen(option: str, given: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The words that are given, all of them known and each given once. Raises `LinkError`."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"{what} are {', '.join(known)}"
            raise LinkError(f"{option} = {','.join(given)}: there is no {name!r}; {hint}")
    repeated = {n for n in given if list(given).count(n) > 1}
    if repeated:
        raise LinkError(f"{option} = {','.join(given)}: {sorted(repeated)[0]!r} stands there twice")
    return tuple(given)
