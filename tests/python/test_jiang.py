"""The study jiang-2006: its scenarios run alone, what a short run shows, and a wrong discipline is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback import load_scenario, run
from tailback.study import load as study
from tailback.study import reproduce
from tailback.study.repeat import Repeat

NAME = "jiang-2006"


def reproduced(out: Path, experiment: str, replaced: dict | None = None):
    s = study.load(NAME, replaced)
    r = reproduce.reproduce(s, [s.experiment(experiment)], Repeat(seeds=6, figures=None), out)
    return r, {v.id: v.outcome for v in r.verdicts}


def test_every_scenario_runs_alone() -> None:
    for name in ("slow", "far"):
        assert load_scenario(study.load(NAME).path / f"{name}.toml").warnings == []


def test_five_trials_have_their_figures() -> None:
    s = study.load(NAME)
    for trial, figures in {1: (2, 3), 2: (4,), 3: (5, 6, 7), 4: (8,), 5: (9, 10, 11)}.items():
        asked = {s.experiment(f"trial-{trial}").id, *(s.experiment(f"fig-5.{n}").id for n in figures)}
        assert len(asked) == 1, trial


def test_aaqm_loses_less_than_a_red_that_drops(tmp_path: Path) -> None:
    _, outcomes = reproduced(tmp_path, "trial-3")
    assert outcomes["3a"] == "reproduced"


def test_a_red_under_its_name_is_found_out(tmp_path: Path) -> None:
    red = {"kind": "red", "profile": "jiang-2006", "ecn": False}
    _, outcomes = reproduced(tmp_path, "trial-3", {"aaqm": red})
    assert outcomes["3a"] == outcomes["3b"] == "not reproduced"


def test_what_wred_is_said_to_do_is_not_found_of_one_red_for_all(tmp_path: Path) -> None:
    assert reproduced(tmp_path / "a", "demo-rio")[1]["s-wred"] == "reproduced"
    _, outcomes = reproduced(tmp_path / "b", "demo-rio", {"wred": {"kind": "red", "wait": False}})
    assert outcomes["s-wred"] != "reproduced"


def test_where_every_packet_pays_the_line_stands_still(tmp_path: Path) -> None:
    """64 kb/s of tokens and 30,000 B at the start: at most 8.53 % of 1.5 Mb/s and 1.6 % for the bucket."""
    r, _ = reproduced(tmp_path, "parts")
    rows = (r.out / "tables" / "parts.csv").read_text(encoding="utf-8").splitlines()
    head = rows[0].split(",")
    column = head.index("utilisation (%)")
    paying = [row.rsplit('"', 1)[-1].split(",") for row in rows if "every packet pays" in row]
    used = [float(cells[column]) for cells in paying]
    assert len(used) == 4 and max(used) < 8.54 + 1.6
    assert used == pytest.approx([5.4] * 4, abs=1.0)


@pytest.mark.parametrize("name", ["aaqm", "red-drop"])
def test_any_queue_can_stand_in_for_one_of_the_study(tmp_path: Path, name: str) -> None:
    """One without thresholds, average or token stage: what belongs to the study's own queue goes with it."""
    s = study.load(NAME, {name: {"kind": "codel"}})
    asked = [s.experiment(e) for e in ("trial-1", "trial-3", "trial-4", "trial-5", "versus")]
    r = reproduce.reproduce(s, asked, Repeat(seeds=1, figures=None), tmp_path)
    rows = (r.out / "tables" / "fig-5.5.csv").read_text(encoding="utf-8").splitlines()
    replaced = [row for row in rows if f"({name} replaced)" in row]
    assert len(replaced) == {"aaqm": 21, "red-drop": 14}[name]
    hot = rows[0].split(",").index("share_hot (%)")
    cells = [row.rsplit('"', 1)[-1].split(",")[hot] for row in replaced]
    assert set(cells) == {""}


def test_red_tells_how_often_it_is_hot() -> None:
    """With thresholds of 5 and 15 packets and greedy senders the average is above 15 at times; with 100, never."""
    record = 'record.queue={ link = "bottleneck", probes = ["share_hot"], every = "5s" }'
    shares = {}
    for upper in (15, 100):
        red = f'{{ kind = "red", min_threshold = "5 packets", max_threshold = "{upper} packets" }}'
        r = run(
            study.load(NAME).path / "demo.toml",
            overrides=["duration=5s", "warmup=0s", record, f"link.bottleneck.queue={red}"],
        )
        shares[upper] = float(r.series["value"][-1])
    assert 0 < shares[15] < 0.5 and shares[100] == 0
