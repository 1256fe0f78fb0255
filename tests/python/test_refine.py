"""How many seeds an answer gets, what is said of the first one, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tailback as tb
from tailback.apps.ask import refine
from tailback.apps.ask.home import answer
from tailback.apps.ask.home.line import Share
from tailback.apps.ask.measure import Measure
from tailback.apps.ask.ranking import rank

#: A run is its value.
WAIT = Measure[None, float]("wait", "wait", "wait", "s", "less", "", lambda run: run, 1.0)


@pytest.mark.parametrize(
    ("most", "clear", "sure", "seeds"),
    [
        (5, True, False, [1, 3]),
        (5, False, False, [1, 3, 5]),
        (8, False, False, [1, 3, 5, 7, 8]),
        (2, False, False, [1, 2]),
        (1, False, False, [1]),
        (5, True, True, [1, 5]),
    ],
)
def test_one_seed_then_three_then_until_it_is_clear(most: int, clear: bool, sure: bool, seeds: list[int]) -> None:
    assert [done + more for done, more in refine.rounds(most, lambda: clear, sure=sure)] == seeds


@pytest.mark.parametrize(
    ("values", "clear"),
    [
        # The means agree with what is clear.
        ({"a": [1.0, 1.1, 1.2], "b": [9.0, 9.1, 9.2]}, True),
        # Nothing is clear, so that the order is as given; the means have another one.
        ({"a": [1.0, 9.0, 9.0], "b": [2.0, 1.0, 3.0]}, False),
        ({"b": [2.0, 1.0, 3.0], "a": [1.0, 9.0, 9.0]}, True),
    ],
)
def test_the_first_place_is_clear_where_means_say_the_same(values: dict[str, list[float]], clear: bool) -> None:
    found = rank(values, [WAIT], None)
    assert found.first_is_clear() == clear
    # One without a claim to the first place does not decide.
    assert found.first_is_clear(["b"])


@pytest.mark.parametrize(("counts", "said"), [((1,), "one seed"), ((3, 3), "3 seeds"), ((3, 5), "3 to 5 seeds")])
def test_seeds_in_words(counts: tuple[int, ...], said: str) -> None:
    assert refine.said(*counts) == said


def test_one_seed_has_an_order_and_calls_nothing_better() -> None:
    found = rank({"slow": [9.0], "fast": [1.0], "nearly": [1.5]}, [WAIT], None)
    assert [(p.queue, p.rank, p.better) for p in found.places] == [("fast", 1, 0), ("nearly", 1, 0), ("slow", 3, 0)]
    assert not any(d.better for d in found.differences) and not found.unbeaten("wait")


# The commands

HOME = (
    "home", "--down", "20Mbps", "--up", "5Mbps", "--rtt", "30ms", "--traffic", "upload", "--queue", "cake",
)  # fmt: skip
SHORT = ("--duration", "25s", "--jobs", "1")


def test_the_first_answer_is_no_part_of_what_is_printed(cli) -> None:
    done = cli(*HOME, *SHORT)
    assert done.returncode == 0 and "First answer" not in done.stdout
    assert "First answer, from one seed: cake comes first" in done.stderr and "more runs of 25 s, about" in done.stderr
    assert "First answer" not in cli(*HOME, *SHORT, "--json").stderr


@pytest.mark.parametrize(("varies", "moves"), [(None, False), ("lte", True)])
def test_the_first_answer_does_not_wait_for_the_table_of_shares(
    monkeypatch: pytest.MonkeyPatch, varies: str | None, moves: bool
) -> None:
    """One seed at the usual share comes first; if another share serves better, the seeds begin again with it."""
    ran, run = [], answer._Tried._run

    def noted(self: answer._Tried, points: list[tuple[str, Share]], *rest: object, **more: bool) -> object:
        ran.append([f"{name} {share}" for name, share in points])
        return run(self, points, *rest, **more)

    monkeypatch.setattr(answer._Tried, "_run", noted)
    line = {"down": "20Mbps", "up": "5Mbps", "rtt": "30ms", "varies": varies, "traffic": ["upload"]}
    found = tb.home_line(**line, queues=["cake"], duration="25s", replications=2)
    assert ran[0] == ["modem 95%", "cake 95%"] and ran[1] == [f"cake {s}%" for s in (80, 85, 90, 95, 100)]
    after = [rows[0] for rows in ran[2:] if rows[0].startswith("modem")]
    assert after == [f"modem {found.line.share}"] * (2 if moves else 1)
    assert (str(found.line.share) != "95%") == moves and len(found.runs["cake"]) == 2


def test_all_runs_are_in_the_tables(cli, tmp_path: Path) -> None:
    assert cli(*HOME, *SHORT, "--sure", "--replications", "4", "--out", "o").returncode == 0
    runs = tb.read_results(tmp_path / "o").runs
    assert sorted(zip(runs.to_list("queue"), runs["seed"].tolist(), strict=True)) == [
        (queue, seed) for queue in ("cake", "modem") for seed in (1, 2, 3, 4)
    ]


def test_an_interrupted_question_prints_what_it_has_and_ends_as_another(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailback", *HOME, "--jobs", "1", "--out", "o"]
    asked = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert asked.stderr is not None
    while "First answer" not in (line := asked.stderr.readline()):
        assert line, "it ended without a first answer"
    asked.send_signal(signal.SIGINT)
    printed, said = asked.communicate()
    assert asked.returncode == 130 and "kept in o, run the same command to go on" in said
    assert "One seed gives no interval" in printed and "On Linux, cake" in printed
    assert "What the share buys" not in printed
    # The same command goes on, and prints what it prints without an interruption.
    again, other = (
        subprocess.run([*command[:-1], out], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for out in ("o", "p")
    )
    assert again.replace("o/home.html", "p/home.html") == other


def test_figures_are_also_written_as_asked(cli, tmp_path: Path) -> None:
    assert cli(*HOME, *SHORT, "--replications", "1", "--out", "o", "--figures", "pdf").returncode == 0
    suffixes = {f.suffix for f in (tmp_path / "o/figures").iterdir()}
    assert suffixes == {".svg", ".pdf"} and "figures/phases.pdf" in (tmp_path / "o/home.html").read_text()
    for words in ((*HOME, "--figures", "pdf"), (*HOME, "--out", "q", "--figures", "tiff")):
        refused = cli(*words)
        assert refused.returncode == 2 and "--figures" in refused.stderr and not (tmp_path / "q").exists()
