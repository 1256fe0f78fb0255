"""Mutated texts of every kind: a reading or one message, and bounded memory. `mutations.py` tries as many as wanted."""

from __future__ import annotations

import resource

import mutations
import pytest

from tailback.readers.kinds import KINDS
from tailback.readers.reading import Reading

#: Of each sample.
DRAWN = 20
MOST_GROWTH_KB = 300_000


def test_the_samples_have_every_kind() -> None:
    made = [mutations.outcome(data) for data in mutations.samples().values()]
    assert {reading.kind for reading in made if isinstance(reading, Reading)} == {kind.name for kind in KINDS}


@pytest.mark.slow
def test_a_mutated_text_is_a_reading_or_one_message() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    readings = messages = 0
    for name, i, data in mutations.draws(DRAWN):
        made = mutations.outcome(data)
        if isinstance(made, Reading):
            readings += 1
        else:
            messages += 1
            assert made and "\n" not in made, (name, i)
    assert readings > 100 and messages > 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWTH_KB


@pytest.mark.parametrize(
    "text",
    [
        b"\n" * 3_000_000,
        b"[" * 500_000,
        b'{"metadata":' * 100_000,
        b"1 " * 2_000_000,
        b"[" + b"[]," * 2_100_000 + b"[]]",
    ],
)
def test_what_would_take_much_memory_is_refused(text: bytes) -> None:
    assert isinstance(mutations.outcome(text), str)
