"""Wrong calls, tours, plans and options are refused in one clear message: a part of `tests/faults/wrong_calls.py`."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import tailback as tb

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
import wrong_calls
import wrong_values

from tailback.core.text.arguments import checked

SEED = 4


def test_drawn_calls_are_refused_where_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world = wrong_values.World(tmp_path)
    drawn, known = wrong_calls.calls(150, random.Random(SEED), world)
    given = world.given()
    told = [(d, *wrong_calls.called(d, given)) for d in drawn]
    assert len(drawn) == 150 and len(known) > 2000
    assert not [(d.subject.name, d.parameter, d.value, wrong, said) for d, wrong, said in told if wrong]


def test_drawn_tours_plans_and_options_are_refused(tmp_path: Path) -> None:
    failures: dict[str, list[str]] = {}
    counted = wrong_calls.texts(60, random.Random(SEED), tmp_path / "texts", SEED, failures, tell=False)
    assert int(counted.split()[0]) > 50 and not failures, failures


def test_an_argument_is_named_with_its_value_and_what_to_give() -> None:
    @checked
    def called(
        name: str,
        lines: Sequence[tuple[str, float]] = (),
        *,
        by: str | None = "queue",
        on: bool = True,
        rest: object = None,
    ) -> None: ...

    called("a", [("b", 1)], by=None, on=False, rest=called)
    for wrong, said in (
        ({"name": 5}, "name = 5; give a text"),
        ({"by": 1.5}, "by = 1.5; give a text, such as 'queue'"),
        ({"on": "yes"}, "on = 'yes'; give True or False"),
        ({"lines": "ab"}, "lines = 'ab'; give a list"),
        ({"lines": [("b", "c")]}, r"lines\[0\]\[1\] = 'c'; give a number"),
        ({"lines": [("b",)]}, r"lines\[0\] = \('b',\); give 2 values together: \(a text, a number\)"),
    ):
        with pytest.raises(ValueError, match=said):
            called(**{"name": "a", **wrong})


def test_a_builder_refuses_a_value_where_it_is_written() -> None:
    net = tb.dumbbell()
    for call, said in (
        (lambda: tb.queue("codel", target="soon"), '"soon" is not a time'),
        (lambda: net.flows("bulk", count="many"), '"many" is not a whole number'),
        (lambda: net.link("bottleneck", rate=5), "the rate 5 has no unit"),
        (lambda: tb.network({"durations": "1s"}), 'no key "durations"'),
        (lambda: tb.network({"duration": "long"}), '"long" is not a time'),
    ):
        with pytest.raises(tb.ScenarioError, match=said):
            call()
    assert "rate" not in net.document.get("link", {}).get("bottleneck", {})
    # What depends on parts that follow is not refused.
    tb.network().link("slow", "a", "b", rate="1Mbps", delay="1ms", queue=tb.queue("codel", buffer="1 bdp"))
    tb.network().record(link="later", probes=["queue"], every="1ms").flows("bulk", "a", "z")


def test_a_sweep_names_the_key_of_a_users_own(tmp_path: Path, cli) -> None:
    (cli.cwd / "mine.toml").write_text('title = "x"\n[results.wait]\nrun = "third"\n')
    r = cli("lab", "--tour", "mine.toml", "--export", "x.html")
    assert r.returncode == 2 and "mine.toml:3: results.wait.run = 'third'" in r.stderr, r.stderr
    (cli.cwd / "plan.toml").write_text("scenario = 5\n")
    r = cli("sweep", "plan.toml")
    assert r.returncode == 2 and "plan.toml:1: scenario = 5; write a path" in r.stderr, r.stderr
