"""How long commands take stands in one measured table, and nowhere else."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pages
import pytest
from pages import PAGES, ROOT

from tailback.cli import cli
from tailback.cli.commands import COMMANDS

sys.path.append(str(ROOT / "tools"))

import times

WORDS = "one|two|three|four|five|six|eight|ten|twenty|thirty|forty|fifty|some|few"
NUMBER = rf"(?i:\d[\d.,]*|(?:a |half |quarter of )*an?|{WORDS})(?: and a half)?"
UNIT = "s|ms|min|h|seconds?|minutes?|hours?"
DURATION = re.compile(rf"\b{NUMBER}[ -](?:CPU[ -])?(?:{UNIT})\b|(?<!CPU )\b(?:seconds|minutes|hours)\b")
#: A sentence is of a command if it speaks of the processor, or of a command, a run or a study that takes time.
PROCESSOR = re.compile(r"\bCPU\b|\bcores?\b")
TAKES = re.compile(r"\b(?:takes?|took|needs?|lasts?)\b")
COMMAND = re.compile(r"`(?:\S*/)?(?:tailback|make|python) |\bsweeps?\b|\bstud(?:y|ies)\b|\bruns\b|\bcommands?\b")

#: Sentences with a time that is no promise for a command.
OTHERS = {
    "At 10^6 flows at most 0.16 s of CPU": "a part of a run, measured by a test",
    "0.1 to 0.7 s of CPU from Ctrl-C": "a part of a run; its program is named",
    "On two cores of a shared machine with a load": "seconds of a live run, as the scenario says",
    "Two hundred runs of 41 ms": "the size of the runs; the result is a ratio",
    "A sweep of 10,000 runs with 18 ms of CPU each": "the size of the runs; the result is a ratio",
    "These runs last 200 s": "simulated seconds",
    "is read, built and begun in 0.3 s of CPU": "a part of a run; a leaf-spine beside it",
}


def promises(sentence: str) -> bool:
    of_command = PROCESSOR.search(sentence) or (TAKES.search(sentence) and COMMAND.search(sentence))
    return bool(of_command and DURATION.search(sentence))


def sentences() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page != "docs/times.md":
            yield from (
                (f"{page}:{line}", s) for line, text in pages.prose(page) for s in re.split(r"(?<=[.:;|])\s", text)
            )
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        words = " ".join(command.get_help(click.Context(command, info_name=name)).split())
        # A help text is about its command.
        yield from ((f"tailback {name} --help", f"This command: {s}") for s in words.split(". "))


def comments() -> Iterator[tuple[str, str]]:
    """What stands beside commands."""
    for page in PAGES:
        yield from ((c.place, c.text.partition(" #")[2]) for c in pages.commands(page))
    lines = (ROOT / "Makefile").read_text().splitlines()
    yield from ((f"Makefile:{n}", line) for n, line in enumerate(lines, 1) if line.startswith("#"))


@pytest.mark.parametrize(
    "sentence",
    [
        "It takes a quarter of a minute on two cores.",
        "`make demo` takes about a minute",
        "36 runs, 17 s of CPU",
        "the study takes two and a half CPU minutes",
        "such a sweep takes minutes",
        "such a sweep takes seconds",
    ],
)
def test_a_promise_is_seen(sentence: str) -> None:
    assert promises(sentence)


@pytest.mark.parametrize(
    "sentence", ["A link takes 3 ms to send it.", "The run lasts 30 packets.", "It uses all cores."]
)
def test_other_sentences_are_left_alone(sentence: str) -> None:
    assert not promises(sentence)


def test_no_page_promises_a_time_beside_the_table() -> None:
    left = dict(OTHERS)
    for place, sentence in sentences():
        if promises(sentence):
            known = next((k for k in OTHERS if k.lower() in sentence.lower()), None)
            assert known is not None, f"{place}: link to docs/times.md instead of a time: {sentence}"
            left.pop(known, None)
    assert not left, f"no page says this any more: {left}"
    for place, text in comments():
        assert not DURATION.search(text), f"{place}: link to docs/times.md instead of a time: {text}"


def test_the_page_shows_what_is_stored() -> None:
    assert times.PAGE.read_text() == times.page(times.load()), "run tools/times.py --page"
    assert set(times.load()["rows"]) <= set(times.ROWS)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of its own, and runs that take three seconds."""
    monkeypatch.setattr(times, "STORED", tmp_path / "times.json")
    monkeypatch.setattr(times, "PAGE", tmp_path / "times.md")
    monkeypatch.setattr(times, "once", lambda _: (3.0, 2.0))
    old = {"elapsed_s": 1.0, "cpu_s": 1.0, "date": "2026-01-01", "version": "00000000"}
    times.STORED.write_text(json.dumps({"machine": times.machine(), "rows": {times.ROWS[-1]: old}}))
    return times.STORED


def call(monkeypatch: pytest.MonkeyPatch, load: float, *words: str) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(sys, "argv", ["times.py", *words])
    times.main()


def test_a_busy_machine_measures_nothing(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored.read_text()
    with pytest.raises(SystemExit) as left:
        call(monkeypatch, 0.21, "first-run")
    assert left.value.code == 2 and "load average of the last minute is 0.21" in capsys.readouterr().err
    call(monkeypatch, 0.21, "--any-load", "first-run")
    assert "3 s, 2 s of CPU: tailback run examples/first-run.toml" in capsys.readouterr().out
    assert stored.read_text() == before and not times.PAGE.exists()


def test_what_is_measured_is_stored_and_shown(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(monkeypatch, 0.19, "first-run")
    rows = json.loads(stored.read_text())["rows"]
    assert set(rows) == {times.ROWS[-1], "tailback run examples/first-run.toml"}
    assert "| `tailback run examples/first-run.toml` | 3 s | 2 s |" in times.PAGE.read_text()
    # Times of two machines in one table would be compared.
    monkeypatch.setattr(times, "machine", lambda: "another")
    with pytest.raises(SystemExit):
        call(monkeypatch, 0.19, "web.toml")
    assert json.loads(stored.read_text())["rows"] == rows
    call(monkeypatch, 0.19, "web.toml", "--new-machine")
    assert set(json.loads(stored.read_text())["rows"]) == {"tailback run benches/web.toml"}
