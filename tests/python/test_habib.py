"""The study habib-2000: its scenarios run alone, its ids, and what its two main findings look like in one short run."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import of_study

from tailback import load_scenario, run
from tailback.study import load as study
from tailback.study.measures import MEASURES, RunView

delivered = of_study("habib-2000", "figures").delivered

NAME = "habib-2000"
FOLDER = study.load(NAME).path

#: Figures of the report, what it says in its text, and runs for what it names and has no value for.
IDS = (
    "fig-5 fig-6 fig-7 fig-8 fig-9 fig-10 fig-11 fig-12a fig-12b target-rate web-ample web-syn many-and-short rtt-under"
    " rtt-burst policer af-ef tcp-udp feedback threshold sensitivities standards told-senders core-state"
)


@pytest.mark.parametrize("name", ["ftp", "short", "telnet", "web", "tcp-udp", "feedback", "classes"])
def test_every_scenario_runs_alone(name: str) -> None:
    assert load_scenario(FOLDER / f"{name}.toml").warnings == []


def test_every_figure_has_its_experiment() -> None:
    s = study.load(NAME)
    assert {s.experiment(i).id for i in IDS.split()} == set(IDS.split())


def test_every_judged_sentence_that_fails_may_say_why() -> None:
    s = study.load(NAME)
    assert len([x for x in s.statements if x.explanation]) >= 20


def shares(stages: str, relation: str = "", *more: str) -> dict[str, float]:
    edge = f'{{ kind = "edge", marker = {{ kind = "rtt-aware", target = "2Mbps"{relation} }}, stages = {stages} }}'
    changes = [f"link.{e}-c1.conditioner={edge}" for e in ("e1", "e2")]
    scenario = load_scenario(
        FOLDER / "ftp.toml", overrides=["duration=20s", "link.n2-e2.delay=49.7ms", "record={}", *changes, *more]
    )
    groups = run(scenario).groups
    return dict(zip(groups["group"], groups["goodput_bps_sum"], strict=True))


def test_marks_by_round_trip_go_too_far_and_small_windows_mend_it() -> None:
    alone = shares("[]")
    assert alone["flow24"] > 2 * alone["flow13"]
    mended = shares('[{ kind = "small-window", below = 7 }]')
    assert 0.7 < mended["flow24"] / mended["flow13"] < 1.3


def test_a_relation_with_timeouts_mends_it_when_exits_tell_the_loss() -> None:
    learns = '[{ kind = "feedback", drop = false }]'
    meter = '{ kind = "tsw3cm", committed_rate = "2Mbps", peak_rate = "3Mbps" }'
    exits = f'link.c1-e3.reverse_conditioner={{ kind = "edge", marker = {meter}, stages = {learns} }}'
    told = shares(learns, ', relation = "timeouts", loss = "feedback"', exits)
    assert 0.7 < told["flow24"] / told["flow13"] < 1.4
    # An exit that tells nothing leaves the weight at one; the relation has something to say.
    assert told["flow24"] > shares(learns, ', relation = "timeouts", loss = "feedback"')["flow24"]


def af1(af4: int) -> list[float]:
    load = [f"flows.af4-{g}.count={af4}" for g in (13, 24)]
    groups = run(load_scenario(FOLDER / "classes.toml", overrides=["duration=20s", "record={}", *load])).groups
    rates = dict(zip(groups["group"], groups["goodput_bps_sum"], strict=True))
    return [rates["af1-13"] + rates["af1-24"], rates["af4-13"] + rates["af4-24"]]


def test_the_load_of_another_class_changes_nothing() -> None:
    few, many = af1(10), af1(100)
    assert few[0] == pytest.approx(many[0], rel=0.03)
    # Weights 4 and 1; what timeouts of AF1 leave goes to AF4.
    assert few[0] > 3 * few[1]


def lost_behind_the_core(stages: str) -> float:
    links = ("e1-c1.conditioner", "e2-c1.conditioner", "c2-e3.reverse_conditioner")
    changes = [f"link.{at}.stages={stages}" for at in links]
    quiet = ["flows.others.start=19.9s", "flows.others.count=1", "duration=20s"]
    links_of = run(load_scenario(FOLDER / "feedback.toml", overrides=[*quiet, *changes])).links
    at = list(links_of["name"]).index("c2-e3")
    return 8 * 1024 * float(links_of["dropped_packets"][at]) / 20 / 1e6


def test_feedback_saves_what_would_be_lost() -> None:
    """3 of 8 Mb/s are lost behind the core; with feedback all but what the peak rates allow is dropped before it."""
    assert lost_behind_the_core("[]") == pytest.approx(3.0, abs=0.1)
    assert lost_behind_the_core('["feedback"]') < 1.5


def test_what_is_delivered_is_that_of_all_flows_in_an_interval() -> None:
    t = {"to_s": np.array([10.0, 20.0, 10.0, 20.0]), "goodput_bps": np.array([1000, 3000, 500, np.float64(0)])}
    ends, rate = delivered(t)
    assert (ends.tolist(), rate.tolist()) == ([10, 20], [1.5, 3.0])


def test_flows_above_a_limit_of_the_drop_ratio_and_the_ratio_of_targets() -> None:
    flows = {
        "group": np.array(["a", "a", "a", "b"], object),
        "id": np.array(["a.0", "a.1", "a.2", "b.0"], object),
        "sent_packets": np.array([100, 100, 0, 100]),
        "dropped_packets": np.array([10, 11, 0, 50]),
        "goodput_wire_bps": np.array([1e6, 3e6, 2e6, 8e6]),
    }
    options = {"drop_limit": 10, "ratio": 2, "classes": {"small": ["a"], "large": ["b"]}}
    run = RunView(None, options=options, tables={"flows": flows})
    of = {name: MEASURES[name].on(run, "a") for name in ("over_limit", "large_over_small", "ratio_off")}
    # A flow that has sent nothing has no ratio; 10 % is not above 10 %. 8 over 2 is twice the ratio of the targets.
    assert of == {"over_limit": 50, "large_over_small": 4, "ratio_off": 2}
    run.options["ratio"] = 8
    assert MEASURES["ratio_off"].on(run, "all") == 2
