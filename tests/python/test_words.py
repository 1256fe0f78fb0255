"""One limit for each word of the sources, and rows that keep to it."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tailback.study import load as studies
from tailback.study import words
from tailback.study.checks.base import Measured, Statement
from tailback.study.checks.limit import Limit
from tailback.study.errors import StudyError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import study_pages  # noqa: E402


def exceptions(s: Statement) -> list[str]:
    """Words of its sentence that no check names, though its checks have limits."""
    of = [c for c in s.checks if isinstance(c, Measured)]
    numbers = ("above", "below", "within", "rises_at_most", "published", "between", "word")
    limited = any(isinstance(getattr(c, k, None), int | float | tuple) or c.word for c in of for k in numbers)
    return words.exceptions(s.sentence, s.own_limit, [c.word for c in of], limited)


@pytest.mark.parametrize("name", sorted(studies.known()))
def test_a_row_with_a_word_has_its_limit_or_a_reason(name: str) -> None:
    rows = [s for s in studies.load(name).statements if not s.reading_of]
    assert {s.id: found for s in rows if (found := exceptions(s))} == {}


def test_a_planted_exception_is_found() -> None:
    row = next(s for s in studies.load("habib-2000").statements if s.id == "7d")
    assert exceptions(row) == []
    own = Limit(runs="ftp", measure="total", of="sw3", above=9.0)
    assert exceptions(replace(row, checks=(own,))) == ["close"]
    assert exceptions(replace(row, checks=(own,), own_limit="a reason")) == []


def test_words_have_limits() -> None:
    assert words.word("almost").limits(90, "%") == (80, 95)
    assert words.word("almost").limits(2, "") == (pytest.approx(1.7), pytest.approx(2.1))
    assert words.word("about").gain(10) == (pytest.approx(1.08), pytest.approx(1.12))
    assert words.word("about").gain(-10) == (pytest.approx(0.88), pytest.approx(0.92))
    assert words.word("far").limits(1, "")[1] == pytest.approx(0.85)
    assert words.said("DSDRR almost exactly matches QSDRR, about 10 (near 3)") == ["match", "about"]
    with pytest.raises(StudyError, match=r'no word "abuot"; there are: almost, about'):
        words.word("abuot")


def test_a_word_needs_what_the_source_says() -> None:
    with pytest.raises(StudyError, match="needs what the source says"):
        Limit(runs="a", measure="total", of="x", word="about")
    with pytest.raises(StudyError, match="has its own limit"):
        Limit(runs="a", measure="total", of="x", word="about", value=3, above=2)


def test_the_page_of_words_is_made_from_data() -> None:
    page = (ROOT / "docs/studies/words.md").read_text(encoding="utf-8")
    assert page == study_pages.words_page(), "tools/study_pages.py words docs/studies"
