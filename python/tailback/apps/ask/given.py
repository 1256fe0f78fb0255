"""Reads the options of a question: quantities with units, words of a list, names of models. All functions raise the
same error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tailback import _core
from tailback.core.text.given import shown

T = TypeVar("T")


class LinkError(ValueError):
    """A question that cannot be answered. The message names the option and its value, and says what to write
    instead."""


def parsed(option: str, parse: Callable[[str], T], text: str) -> T:
    """The value of an option, read by this parser. Raises `LinkError`."""
    try:
        return parse(text)
    except (ValueError, TypeError) as e:
        raise LinkError(f"{option} = {text}: {e}") from e


def named(option: str, family: str, given: object, what: str) -> str:
    """tailback's name of a model of a family; the model may be given by its name in Linux, ns-2 or ns-3. Raises
    `LinkError`."""
    from tailback.core.scenario.reference import describe

    if not isinstance(given, str):
        raise LinkError(
            f"{option} = {class_shown(given)}: give the name of a {what}, or a table with `kind`; one that is written "
            "in Python is compared by running a network with each (tb.dumbbell(queue=...).run(), tb.compare)"
        )
    models_meant = _core.models_meant(family, given)
    if len(models_meant) == 1:
        return models_meant[0]
    if models_meant:
        raise LinkError(f"{option} = {given}: this may be {' or '.join(models_meant)}; write one of them")
    names = [m["name"] for f in describe() if f["family"] == family for m in f["models"]]
    nearest = get_close_matches(given, names, 1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"`tailback describe {family}` lists them"
    raise LinkError(f"{option} = {given}: there is no {what} {given!r}; {hint}")


def own_name(given: object) -> str:
    """tailback's name of a discipline, which may be given by its name in Linux, ns-2 or ns-3. Raises `LinkError`."""
    return named("queue", "queue", given, "discipline")


def class_shown(given: object) -> str:
    """A short text for a value that was given instead of a name."""
    return getattr(given, "__qualname__", None) or shown(given)


def chosen(option: str, given: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The given words. Raises `LinkError` if a word is unknown or is given twice."""
    for name in given:
        if name not in known:
            nearest = get_close_matches(name, known, 1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"{what} are {', '.join(known)}"
            raise LinkError(f"{option} = {','.join(given)}: there is no {name!r}; {hint}")
    repeated_names = {n for n in given if list(given).count(n) > 1}
    if repeated_names:
        raise LinkError(f"{option} = {','.join(given)}: {sorted(repeated_names)[0]!r} is given twice")
    return tuple(given)
