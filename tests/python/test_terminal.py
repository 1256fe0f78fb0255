"""Tables in a terminal: columns under each other, text as it is, and breaking where it is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from tailback.core.text.terminal import _by_rich, columns


def test_numbers_stand_to_the_right_and_names_to_the_left():
    lines = columns([["name", "value"], ["a", "1.5"], ["longer", "10"]], right=[1])
    assert lines == ["name    value", "a         1.5", "longer     10"]


def test_brackets_and_long_cells_stay_as_they_are():
    long = "x" * 300
    assert columns([["[bold]a[/bold]", long]]) == [f"[bold]a[/bold]  {long}"]


def test_one_column_may_be_broken():
    lines = columns([["id", "several words that do not fit"]], wrap=1, width=20)
    assert lines[0] == "id  several words" and all(line.startswith("    ") for line in lines[1:])
    assert max(map(len, lines)) <= 20


def test_nothing_is_nothing():
    assert columns([]) == []


cells = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_it_is_as_rich_lays_it_out(rows):
    assert columns(rows, right=[1, 3]) == _by_rich(rows, [1, 3], None, None)
