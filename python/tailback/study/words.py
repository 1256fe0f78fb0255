"""What the sources' words ask for: "almost", "about", "match". One limit a word, for all rows (`words.toml`).

A check names its word, and has no limit of its own:

    check = [{ of = "drr", word = "about", value = 40 }, { of = "dsdrr", near = "qsdrr", word = "match" }]

`value` is what the source says, and 1 where a ratio is asked for; `gain = 30` is 30 % above, and the word is about the
gain. A statement whose sentence has a word of the table and whose checks have limits of their own says why
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
#: What is in brackets in a sentence is what is asked here, and not of the source.
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
        """The same of a ratio that lies so many per cent above 1, or below it."""
        low, high = sorted(percent * (1 + x) for x in (-self.share[0], self.share[1]))
        return 1 + low / 100, 1 + high / 100


@functools.cache
def words() -> dict[str, LimitWord]:
    """All, by name."""
    return {name: read_table(LimitWord, table, FILE, name) for name, table in read_toml(FILE).items()}


def word(name: str) -> LimitWord:
    """Raises `StudyError` for a word that there is not."""
    if name not in words():
        raise StudyError(f'there is no word "{name}"; there are: {", ".join(words())}')
    return words()[name]


def said(sentence: str) -> list[str]:
    """The words of the table that a sentence has, outside of brackets."""
    rest, names = _OURS.sub("", sentence), []
    forms = [(form, name) for name, w in words().items() for form in w.forms]
    for form, name in sorted(forms, key=lambda f: -len(f[0])):
        rest, n = re.subn(rf"\b{form}\b", "", rest)
        names += [name] * bool(n)
    return list(dict.fromkeys(names))


def exceptions(sentence: str, own_limit: str, named: Iterable[str], limited: bool) -> list[str]:
    """Words of a sentence that no check names, though checks have limits, and no reason is given."""
    return [] if own_limit or not limited else [w for w in said(sentence) if w not in set(named)]
