"""What the docstrings of the public names show is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import tailback

NAMES = [name for name in tailback.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Examples may store results.
    monkeypatch.chdir(tmp_path)
    doc = getattr(tailback, name).__doc__ or ""
    example = doctest.DocTestParser().get_doctest(doc, {"tb": tailback}, name, None, None)
    assert example.examples, f"tb.{name} has no example: add one to its docstring, with >>>"
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(optionflags=flags)
    assert runner.run(example, out=said.append).failed == 0, "".join(said)
