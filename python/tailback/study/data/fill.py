"""Replaces `{name}` in the texts of a study's tables by the `values` of that name.

A text that is only a name becomes the value itself, so that a number stays a number. In a list, the items of a list
value replace its name. A change (`flows.{source}.tcp.min_rto=1s`) with a list in its path is made for each item; after
the `=` the whole list is written. A range is a list of texts, such as instants:

    values = { starts = { from = 0, to = 9800, step = 200, unit = "us" } }
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from tailback.core.scenario.read import as_toml
from tailback.runs.campaign.values import labelled
from tailback.study.errors import StudyError

_NAME = re.compile(r"\{([\w-]+)\}")


def values(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values of a table, with ranges written out; empty if it has none."""
    given_values = table.get("values")
    return (
        {k: _value(x, f"{where}.values.{k}") for k, x in given_values.items()} if isinstance(given_values, dict) else {}
    )


def _value(given: Any, where: str) -> Any:
    if not (isinstance(given, dict) and {"from", "to"} <= given.keys()):
        return given
    texts = labelled({k: v for k, v in given.items() if k != "unit"}, "", where)
    return [f"{text}{given.get('unit', '')}" for text, _ in texts]


def filled(given: Any, words: Mapping[str, Any], where: str) -> Any:
    """A text, list or table with its names replaced by their values. Raises `StudyError` for a name without a value."""
    if isinstance(given, dict):
        return {k: filled(v, words, f"{where}.{k}") for k, v in given.items()}
    if isinstance(given, list):
        filled_items: list[Any] = []
        for i, x in enumerate(given):
            filled_item = filled(x, words, f"{where}[{i}]")
            filled_items += filled_item if isinstance(filled_item, list) and isinstance(x, str) else [filled_item]
        return filled_items
    if not isinstance(given, str):
        return given
    match = _NAME.fullmatch(given)
    return _word(match[1], given, words, where) if match else _in_text(given, words, where)


def changes(given: list[str], words: Mapping[str, Any], where: str) -> list[str]:
    """The changes of a scenario, each for every item of the lists that its path names.

    Adjacent changes with the same names are grouped by item: all changes of one item come before those of the next.
    """
    written_changes = []
    for names, alike in itertools.groupby(given, lambda change: tuple(_NAME.findall(change.partition("=")[0]))):
        alike_names = list(alike)
        value_lists = [
            x if isinstance(x, list) else [x] for x in (_word(n, alike_names[0], words, where) for n in names)
        ]
        for items in itertools.product(*value_lists):
            words_of_change = {**words, **dict(zip(names, items, strict=True))}
            written_changes += [_in_text(change, words_of_change, where) for change in alike_names]
    return written_changes


def _in_text(text: str, words: Mapping[str, Any], where: str) -> str:
    def word(m: re.Match[str]) -> str:
        x = _word(m[1], text, words, where)
        return as_toml(x) if isinstance(x, (list, dict)) else str(x)

    return _NAME.sub(word, text)


def _word(name: str, text: str, words: Mapping[str, Any], where: str) -> Any:
    if name not in words:
        known_words = ", ".join(words) or "none"
        raise StudyError(f'{where} = "{text}": there is no label or value "{name}"; there are {known_words}')
    return words[name]
