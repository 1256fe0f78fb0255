"""The limits that the sources' words mean: "almost", "about", "match". Each word has one limit for all rows
(`words.toml`).

A check that names its word has no limit of its own:

    check = [{ of = "drr", word = "about", value = 40 }, { of = "dsdrr", near = "qsdrr", word = "match" }]

`value` is the value of the source, and 1 for a ratio. `gain = 30` means 30 % above, and the word then applies to the
gain. If a sentence has a word of the table, but its checks have their own limits, the statement gives the reason
(`own_limit`).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tailback.study.data.files import Table, read_table, read_toml
from tailback.study.errors import StudyError

FILE = Path(__file__).with_suffix(".toml")
#: The text in brackets in a sentence is ours and not the source's.
_OURS = re.compile(r"\([^)]*\)")


class LimitWord(Table, kw_only=True, frozen=True):
    """[NAME]"""

    forms: list[str]
    share: tuple[float, float]
    points: tuple[float, float]
    side: Literal["both", "below"] = "both"

    def limits(self, value: float, unit: str) -> tuple[float, float]:
        """The range in which a quantity of that unit may lie."""
        low, high = self.points if unit == "%" else (abs(value) * x for x in self.share)
        return (-math.inf, value - low) if self.side == "below" else (value - low, value + high)

    def gain(self, percent: float) -> tuple[float, float]:
        """The range for a ratio that is this many per cent above 1, or below it."""
        low, high = sorted(percent * (1 + x) for x in (-self.share[0], self.share[1]))
        return 1 + low / 100, 1 + high / 100


@functools.cache
def words() -> dict[str, LimitWord]:
    """All words, by name."""
    return {name: read_table(LimitWord, table, FILE, name) for name, table in read_toml(FILE).items()}


def word(name: str) -> LimitWord:
    """The word of this name. Raises `StudyError` for an unknown word."""
    if name not in words():
        raise StudyError(f'there is no word "{name}"; there are: {", ".join(words())}')
    return words()[name]


def said(sentence: str) -> list[str]:
    """The words of the table that are in a sentence, outside of brackets."""
    sentence_left, names = _OURS.sub("", sentence), []
    forms = [(form, name) for name, w in words().items() for form in w.forms]
    for form, name in sorted(forms, key=lambda f: -len(f[0])):
        sentence_left, n = re.subn(rf"\b{form}\b", "", sentence_left)
        names += [name] * bool(n)
    return list(dict.fromkeys(names))


def exceptions(sentence: str, own_limit: str, named: Iterable[str], limited: bool) -> list[str]:
    """The words of a sentence that no check names, if checks have limits and no reason is given."""
    return [] if own_limit or not limited else [w for w in said(sentence) if w not in set(named)]
