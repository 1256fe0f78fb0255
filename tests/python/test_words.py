"""One limit for each word of the sources."""

import pytest

from tailback.study import words
from tailback.study.checks.limit import Limit
from tailback.study.errors import StudyError


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
