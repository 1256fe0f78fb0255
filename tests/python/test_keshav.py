"""The study keshav-1991: its data are whole, a short run meets exact cells, and a wrong discipline is found out."""

import dataclasses
from pathlib import Path

import pytest

from tailback import load_scenario
from tailback.cli.published_work import reproduce as command
from tailback.study import load as study
from tailback.study import parameters, reproduce
from tailback.study.model import MODES
from tailback.study.repeat import Repeat

NAME = "keshav-1991"


@pytest.fixture(scope="module")
def s():
    return study.load(NAME)


def run(out, experiment, replaced=None, pairs=None, overrides=()):
    s = study.load(NAME, replaced)
    e = s.experiment(experiment)
    if pairs:
        for name in e.runs:
            r = s.runs[name]
            axes = tuple(dataclasses.replace(a, values=dict.fromkeys(MODES, dict.fromkeys(pairs, ""))) for a in r.axes)
            s.runs[name] = dataclasses.replace(r, axes=axes)
    return reproduce.reproduce(s, [e], Repeat(overrides=list(overrides), figures=None), out)


def cells(r, grade, **only):
    found = [v for v in r.verdicts if v.grade == grade and v.outcome != "not testable"]
    return [v for v in found if all(f"/{x}/" in v.id for x in only.values())]


def test_there_are_eight_scenarios_each_with_its_tables(s):
    assert [e.id for e in s.experiments][:8] == [f"scenario-{i}" for i in range(1, 9)]
    tables = {n.table for n in s.published}
    assert tables == {
        *(f"scenario-{i}" for i in (1, 2, 4, 5, 6, 7, 8)),
        *("scenario-1-setpoint-2", "scenario-3-off", "scenario-3-on"),
    }
    pairs = {"g-fcfs", "g-fq", "jk-fcfs", "jk-fq", "dec-dec", "dec-fqb", "pp-fq"}
    mixed = {"jk-g-fcfs", "jk-g-fq", "pp-g-fq", "pp-jk-fq"}
    others = {"scenario-5": mixed, "scenario-1-setpoint-2": {"pp-fq"}}
    for t in tables:
        assert {n.queue for n in s.published if n.table == t} == others.get(t, pairs), t
    assert {"5-fcfs", "8-pp"} <= {x.id for x in s.statements}


def test_scenario_2_is_short_and_stands_in_the_study_s_page():
    here = Path(__file__).parents[2]
    text = (here / "python/tailback/studies" / NAME / "scenario-2.toml").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    assert text in (here / "docs" / "studies" / f"{NAME}.md").read_text(encoding="utf-8")


def test_every_scenario_runs_alone(s):
    for i in range(1, 9):
        assert load_scenario(s.path / f"scenario-{i}.toml").warnings == []


def test_scenarios_differ_in_nothing_but_windows_setpoints_and_buffers(s):
    differ = {r[1] for r in parameters.rows(s) if "; " in r[2] and r[0] not in ("cbr", "on-off", "poisson", "udp")}
    assert differ == {"wmax", "setpoint", "buffer"}


def test_a_short_run_of_scenario_1_meets_every_exact_cell(tmp_path):
    r = run(tmp_path, "scenario-1", overrides=["duration=300s", "interval=100s"])
    made = cells(r, "A")
    assert len(made) == 96
    assert [v.id for v in made if v.outcome != "reproduced"] == []
    assert next(v for v in r.verdicts if v.id == "1-fq").outcome == "reproduced"


def test_drop_tail_under_the_name_of_fair_queueing_is_found_out(tmp_path):
    r = run(tmp_path, "scenario-1", {"fq": {"kind": "droptail"}}, overrides=["duration=300s", "interval=100s"])
    assert next(v for v in r.verdicts if v.id == "1-fq").outcome == "not reproduced"
    # The Telnets wait behind the FTPs, with generic and with JK sources; the FTPs' own cells do not tell.
    missed = {v.id for v in cells(r, "A") if v.outcome == "not reproduced"}
    assert {f"scenario-1/{p}/delay/{n}" for p in ("g-fq", "jk-fq") for n in (3, 4)} <= missed
    assert not any(x.startswith("scenario-1/g-fcfs") for x in missed)
    assert "Another queue ran under the name of fq" in r.report.read_text(encoding="utf-8")


def test_variants_of_a_discipline_s_own_parameters_are_left_out_when_another_runs_under_its_name(s):
    assert "alternatives" in {e.id for e in s.experiments}
    replaced = study.load(NAME, {"fq": {"kind": "droptail"}})
    assert "alternatives" not in {e.id for e in replaced.experiments}
    variants = {"alternatives", "timers", "setpoint-2"}
    assert {e.id for e in s.experiments} - {e.id for e in replaced.experiments} == variants


def test_the_tables_fit_a_terminal(tmp_path):
    from tailback.study.tables import cells as cell_tables

    r = run(tmp_path, "scenario-2", pairs=["g-fq", "dec-dec"], overrides=["duration=300s", "interval=100s"])
    for t in r.sections[0]["tables"]:
        text = cell_tables.text(t, 80)
        assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, command.verdict_text(r.verdicts, 80).splitlines())) <= 80
    csv = (tmp_path / r.sections[0]["tables"][0]["file"]).read_text(encoding="utf-8").splitlines()
    # Two pairs, eight sources, four metrics.
    assert len(csv) == 1 + 2 * 8 * 4 and csv[0].startswith("pair,metric,source")


@pytest.mark.slow
def test_more_seeds_are_more_intervals(tmp_path):
    s = study.load(NAME)
    r = reproduce.reproduce(
        s, [s.experiment("scenario-4")], Repeat(seeds=2, overrides=["duration=200s"], figures=None), tmp_path
    )
    assert r.runs == 2 * 7
    key = ("intervals", "scenario-4", ("g-fq",), "1", "throughput")
    assert [len(x) for x in r.samples.memo[key]] == [1, 1]


@pytest.mark.slow
def test_a_sweep_of_the_phase_says_how_far_it_reaches(tmp_path):
    r = run(tmp_path, "phase-4", overrides=["duration=300s"])
    assert next(v for v in r.verdicts if v.id == "4-phase").outcome == "reproduced"
    table = next(t for t in r.sections[0]["tables"] if t.get("plain"))
    rows = {tuple(x[:2]): x[2] for x in table["rows"]}
    # The FTP has nothing at some phases, and five packets in 2.1 s at others; the ill-behaved source has the rest.
    assert rows["JK/FCFS", "ftp"] == "0.00 to 2.38"
    least, most = map(float, rows["JK/FCFS", "unruly"].split(" to "))
    assert least == pytest.approx(10 - 2.38, abs=0.03) and most > 9.9
    assert (tmp_path / table["file"]).read_text(encoding="utf-8").startswith("pair,class,source_throughput least")
