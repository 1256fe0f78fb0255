"""Studies as data, verdicts that can say no, and results that resume."""

import dataclasses
import json
import math
import shutil
import tomllib

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import of_study

from tailback import load_scenario
from tailback.cli import cli
from tailback.cli.published_work import reproduce as command
from tailback.study import load as study
from tailback.study import reproduce
from tailback.study.checks.limit import Limit
from tailback.study.checks.number import Number
from tailback.study.checks.predicted import Predicted
from tailback.study.computed import FUNCTIONS, is_live
from tailback.study.data import published as numbers
from tailback.study.data.groups import StudyRow
from tailback.study.data.statement import read_statement
from tailback.study.errors import StudyError
from tailback.study.judge import Judge
from tailback.study.measures import MEASURES, RunView
from tailback.study.measures.flows import three_sigma_of
from tailback.study.model import MODES
from tailback.study.repeat import Repeat
from tailback.study.samples import Samples
from tailback.study.work.course import Interrupted

overflows = of_study("kantawala-2005", "measures.series").overflows

NAME = "kantawala-2005"
# Shorter runs whose start is left out, of the disciplines that statement 5b is about.
SHORT = ["duration=40s", "warmup=10s"]
KEPT = ["blue", "drr", "qsdrr"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


def only(axis):
    return dataclasses.replace(
        axis, values={m: {k: v for k, v in x.items() if k in KEPT} for m, x in axis.values.items()}
    )


def short_run(out, replaced=None):
    s = study.load(NAME, replaced)
    axes = tuple(only(a) if a.disciplines else a for a in s.runs["sb"].axes)
    s.runs["sb"] = dataclasses.replace(s.runs["sb"], axes=axes)
    return reproduce.reproduce(s, [s.experiment("fig-3.3")], Repeat(seeds=3, overrides=SHORT, figures=None), out)


@pytest.fixture(scope="module")
def honest(out):
    return short_run(out)


@pytest.fixture(scope="module")
def wrong(out, honest):
    """Drop-tail under the name of QSDRR; the other disciplines' runs are those of `honest`."""
    return short_run(out, {"qsdrr": {"kind": "droptail"}})


def outcome(r, name):
    return next(v for v in r.verdicts if v.id == name)


@pytest.mark.slow
def test_the_right_disciplines_are_reproduced(honest):
    assert outcome(honest, "5b").outcome == "reproduced"
    assert not honest.failed and honest.runs == 9


@pytest.mark.slow
def test_a_wrong_discipline_is_not_reproduced(wrong):
    v = outcome(wrong, "5b")
    assert v.outcome == "not reproduced"
    failed = [c for c in v.checks if c.outcome == "not reproduced"]
    assert len(failed) == 1 and "QSDRR (replaced)" in failed[0].required
    assert failed[0].remark.startswith("the other way round")
    # Nothing else was touched: the relation between Blue and DRR still holds.
    assert [c.outcome for c in v.checks if c not in failed] == ["reproduced"]


@pytest.mark.slow
def test_only_what_changed_was_run_again(wrong):
    assert wrong.reused == 6


@pytest.mark.slow
def test_a_report_of_another_queue_says_so(wrong):
    text = wrong.report.read_text(encoding="utf-8")
    assert "Another queue ran under the name of qsdrr" in text


@pytest.mark.slow
def test_running_again_runs_nothing(wrong, out):
    assert short_run(out, {"qsdrr": {"kind": "droptail"}}).reused == wrong.runs


# ------------------------------------------------------------------------------------------------------------- data


def test_live_runs_are_listed_by_verify_and_not_compared():
    sets = [r for name in study.known() for r in study.load(name).runs.values()]
    assert any(is_live(r.compute) for r in sets)
    assert [r.name for r in sets if is_live(r.compute) and not r.not_repeatable] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.slow
def test_every_point_of_every_study_is_a_valid_scenario(mode):
    for name in study.known():
        s = study.load(name)
        for runs in s.runs.values():
            if runs.compute:
                assert runs.compute in FUNCTIONS, runs.name
                continue
            assert str(load_scenario(runs.scenario))  # the file runs alone
            for p in runs.points(mode):
                load_scenario(runs.scenario, p.overrides)


def test_every_statement_and_number_is_well_formed():
    s = study.load(NAME)
    judge = Judge(s, Samples.empty())
    rows = judge.all({e.id for e in s.experiments})
    assert len(rows) == len(s.published) + len(s.statements)
    assert len({v.id for v in rows}) == len(rows)
    for v in rows:
        arithmetic = v.experiment == "predict" or any(
            isinstance(c, Predicted) for x in s.statements if x.id == v.id for c in x.checks
        )
        assert v.outcome == ("reproduced" if arithmetic else "not testable"), v.id
    for p in s.published:
        if isinstance(p, Number) and p.source == "T2.4":
            assert p.gate is not (p.queue == "droptail"), p.id
            assert p.tolerance == 0.10


def test_levels_under_tail_drop_never_gate():
    for x in study.load(NAME).statements:
        for c in x.checks:
            assert not (isinstance(c, Limit) and c.of == "droptail") or x.gate is False, x.id


def test_a_misspelt_key_of_a_statement_is_refused(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(study.load(NAME).path, folder)
    with (folder / "statements" / "chapter-3.toml").open("a") as f:
        f.write('\n[[statement]]\nid = "x"\nsentence = "x"\nexperiment = "fig-3.3"\nclas = "short"\n')
    says = r'chapter-3\.toml:\d+: statement\[\d+\]: there is no key "clas"; did you mean "class"'
    with pytest.raises(StudyError, match=says):
        study.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'runs = "flow"',
            'runs = "flows"',
            '6: statement[0].runs = "flows": there is none of that name; did you mean "flow"?',
        ),
        ('runs = "flow"', 'runs = "z"', '6: statement[0].runs = "z": there is none of that name; there are flow, '),
        (
            'measure = "excess"',
            'measure = "exces"',
            '8: statement[0].measure = "exces": there is none of that name; did',
        ),
        (
            "above = 150 }]",
            'above = 150, measure = "zzzz" }]',
            '12: statement[0].each[0].check: measure = "zzzz": there is none of that name; there are those of tailback',
        ),
    ],
)
def test_a_number_that_cannot_be_measured_is_named_where_it_is_asked_for(tmp_path, old, new, said):
    folder = tmp_path / "mine"
    shutil.copytree(study.load("unresponsive").path, folder)
    file = folder / "statements.toml"
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(StudyError) as e:
        study.load(folder)
    assert f"statements.toml:{said}" in str(e.value)


def test_the_parameters_are_those_of_the_study():
    d = {k: v.queue for k, v in study.load(NAME).disciplines.items()}
    assert list(d)[:6] == ["droptail", "red", "blue", "drr", "tdrr", "qsdrr"]
    red = d["red"]
    assert (red["max_probability"], red["weight"], red["min_threshold"], red["max_threshold"]) == (
        0.01,
        0.001,
        "20%",
        "100%",
    )
    assert red["gentle"] is False and red["wait"] is True and red.get("ecn", False) is False
    assert (d["blue"]["up"], d["blue"]["down"], d["blue"]["freeze"], d["blue"]["timers"]) == (
        0.0025,
        0.00025,
        "100ms",
        "separate",
    )
    # A weight of 1/32 for a rate clocked each 100 ms: a time constant of 100 ms / w.
    assert (d["tdrr"]["estimator"], d["tdrr"]["theta"]) == ("clocked", "3.2s")
    scenarios = {r.scenario for r in study.load(NAME).runs.values() if r.scenario is not None}
    documents = [tomllib.loads(f.read_text()) for f in sorted(scenarios)]
    profiles = [d["profile"]["study"] for d in documents if "profile" in d]
    assert len(profiles) >= 3 and all(p == profiles[0] for p in profiles)


def test_unknown_names_are_refused_with_a_hint():
    with pytest.raises(StudyError, match='did you mean "kantawala-2005"'):
        study.load("kantawala")
    with pytest.raises(StudyError, match=r"did you mean fig-\d"):
        study.load(NAME).experiment("E9")
    with pytest.raises(StudyError, match="droptail"):
        study.load(NAME, {"codel": {"kind": "codel"}})


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A study without packets, in files by chapter; the function counts its calls."""
    calls = []

    def count(labels, seed, options):
        calls.append((labels["n"], labels["queue"], seed))
        return {"values": {"share": float(labels["n"]) + seed + options["plus"]}}

    monkeypatch.setitem(FUNCTIONS, "count", count)
    folder = tmp_path / "counted"
    (folder / "experiments").mkdir(parents=True)
    (folder / "study.toml").write_text('id = "counted"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    (folder / "experiments" / "a.toml").write_text('[discipline.x]\ntitle = "X"\nqueue = { kind = "droptail" }\n')
    (folder / "experiments" / "b.toml").write_text("""
[runs.c]
compute = "count"
options = { plus = 0.5 }
seeds = { quick = 2, full = 3 }
cost_s = { quick = 30, full = 90 }
[runs.c.axis.queue]
disciplines = ["x"]
[runs.c.axis.n]
[runs.c.axis.k]
[[runs.c.case]]
labels = { n = 10, k = 1 }
[[runs.c.case]]
labels = { n = 20, k = 5 }
quick = false
[[experiment]]
id = "E1"
title = "counting"
runs = "c"
[[experiment.output]]
kind = "table"
measures = ["share"]
[[experiment]]
id = "E2"
title = "real packets"
why_not = "it needs a router"
""")
    (folder / "published.toml").write_text("""
[[number]]
id = "P1"
source = "p"
experiment = "E1"
rule = "at-least-one"
runs = "c"
queue = "x"
measure = "share"
value = 12.0
tolerance = 0.1
""")
    (folder / "statements.toml").write_text("""
[[statement]]
id = "s"
sentence = "s"
experiment = "E1"
runs = "c"
measure = "share"
check = [{ of = "x", between = [11, 13] }]
""")
    return folder, calls


def test_a_set_without_packets_is_counted_judged_and_kept(counted, tmp_path, monkeypatch):
    folder, calls = counted
    seen = {}

    class AtLeastOne(Number):
        def verdict(self, judge):
            seen[self.id] = len(judge.samples.get("c", ("x", "10", "1"), "all", "share"))
            return super().verdict(judge)

    monkeypatch.setitem(numbers.RULES, "at-least-one", AtLeastOne)
    told = []
    s = study.load(folder)
    r = reproduce.reproduce(s, how=Repeat(announce=told.append), out=tmp_path / "o")
    assert len(told) == 1 and told[0].startswith("1 points, 2 runs; about 1 min 0 s of CPU time, ")
    assert sorted(calls) == [("10", "x", 1), ("10", "x", 2)] and r.runs == 2
    # The mean is 12 of 11 to 13, and two seeds leave an interval of 6.4.
    assert outcome(r, "s").outcome == "leans" and seen == {"P1": 2}
    assert r.samples.get("c", ("x", "10", "1"), "all", "share").tolist() == [11.5, 12.5]
    assert "it needs a router" in r.report.read_text()
    page = (tmp_path / "o" / "verdicts.md").read_text()
    assert (
        "0 reproduced, 2 lean, 0 not reproduced" in page
        and "| s | s | *leans* | X 12.0 ± 6.4 % | 11 to 13 % | 2 |" in page
    )
    # --full: what is there is kept, and fewer seeds later do not lose it.
    full = reproduce.reproduce(s, how=Repeat(mode="full", jobs=2, announce=told.append), out=tmp_path / "o")
    # A run of a point that is there costs what that one did; the other point's is what the study says.
    assert told[1] == "2 points, 6 runs, 2 stored; about 4 min 30 s of CPU time, 2 min 15 s on 2 threads"
    assert (full.runs, full.reused, len(calls)) == (6, 2, 6)
    assert reproduce.reproduce(s, out=tmp_path / "o").reused == 2
    assert reproduce.reproduce(s, how=Repeat(mode="full"), out=tmp_path / "o").reused == 6


def test_a_stopped_study_goes_on_where_it_was(counted, tmp_path):
    folder, calls = counted
    (folder / "published.toml").unlink()
    s = study.load(folder)
    with pytest.raises(Interrupted, match="stopped after 1 of 6 runs"):
        reproduce.reproduce(
            s, how=Repeat(mode="full", jobs=1, progress=lambda state: state["done"] < 1), out=tmp_path / "o"
        )
    assert len(calls) == 1
    r = reproduce.reproduce(s, how=Repeat(mode="full", jobs=1), out=tmp_path / "o")
    assert (r.runs, r.reused, len(calls)) == (6, 1, 6)


def test_a_study_says_what_is_declared_twice_or_misspelt(counted):
    folder, _ = counted
    (folder / "experiments" / "c.toml").write_text('[discipline.x]\ntitle = "Y"\nqueue = { kind = "red" }\n')
    with pytest.raises(StudyError, match=r"c\.toml: \[discipline\.x\] is declared twice"):
        study.load(folder)
    (folder / "experiments" / "c.toml").write_text('[[experiment]]\nid = "E3"\ntitle = "t"\nwheer = { n = 1 }\n')
    with pytest.raises(StudyError, match='no key "wheer"; did you mean "where"'):
        study.load(folder)


@pytest.mark.parametrize(
    "text, said",
    [
        ("[runs.d]\nscenario = 3\n", "c.toml:2: runs.d.scenario = 3: expected a text, got a whole number"),
        (
            '[runs.d]\ncompute = "count"\nseeds = { quik = 1 }\n',
            "c.toml:3: runs.d.seeds = {'quik': 1}: there is no such choice; there are quick, full",
        ),
        ('[[experiment]]\ntitle = "t"\n', 'c.toml: experiment ?: the key "id" is missing; add id = ...'),
        ('[runs.d.axis.n]\npath = ["x"]\n[runs.d]\ncompute = "count"\n', 'runs.d.axis.n: there is no key "path"'),
        (
            '[runs.d.axis.n]\nboth = [1, 2]\n[runs.d]\nscenario = "experiments/c.toml"\n',
            "axis n: it changes nothing; add paths = [...]",
        ),
    ],
)
def test_a_value_of_another_type_is_named_with_its_file_and_path(counted, text, said):
    folder, _ = counted
    (folder / "experiments" / "c.toml").write_text(text)
    with pytest.raises(StudyError) as e:
        study.load(folder)
    assert said in str(e.value)


@pytest.mark.parametrize(
    "check, said",
    [
        ({"of": "red"}, "a check needs a limit"),
        ({"of": "red", "near": "blue"}, "near and within go together"),
        ({"of": "red", "along": "buffer"}, "falls = true, or narrower_than"),
        ({"of": "red", "above": 1, "wihtin": 2}, 'no key "wihtin"'),
        ({"of": 7, "above": 1}, "check[0].of = 7"),
    ],
)
def test_a_check_that_asks_for_nothing_or_for_too_much_is_refused(check, said):
    given = {"id": "x", "sentence": "x", "runs": "sb", "measure": "sd", "check": [check]}
    with pytest.raises(StudyError) as e:
        read_statement(StudyRow(given, "statement[0]"), "statements.toml")
    assert said in str(e.value) and str(e.value).startswith("statements.toml: statement[0]")


# ---------------------------------------------------------------------------------------------------------- verdicts


def judged(check, values):
    """One statement on made-up samples of SB at 200 packets: {discipline: one sd a seed}."""
    s, samples = study.load(NAME), Samples.empty()
    for name, x in values.items():
        samples.data["sb", (name, "200"), "all", "sd"] = np.array(x, float)
    statement = {
        "id": "x",
        "sentence": "x",
        "experiment": "fig-3.3",
        "runs": "sb",
        "measure": "sd",
        "where": {"buffer": 200},
    }
    return Judge(s, samples).statement(read_statement(StudyRow({**statement, "check": [check]}, "statement[0]"), "f"))


def test_an_order_needs_a_difference_clear_of_zero():
    above = {"of": "droptail", "above": "red"}
    apart = {"droptail": [0.15, 0.16, 0.14], "red": [0.10, 0.11, 0.10]}
    assert judged(above, apart).outcome == "reproduced"
    same = judged(above, {"droptail": [0.15, 0.10, 0.14], "red": [0.12, 0.14, 0.10]})
    assert same.outcome == "leans" and same.checks[0].remark == "cannot be told apart"
    back = judged(above, {"droptail": apart["red"], "red": apart["droptail"]})
    assert back.outcome == "not reproduced" and back.checks[0].remark == "the other way round"


def test_an_order_is_judged_seed_by_seed():
    # The seeds differ far more than the disciplines, but always in the same way.
    v = judged({"of": "droptail", "above": "red"}, {"droptail": [0.11, 0.21, 0.31], "red": [0.10, 0.20, 0.30]})
    assert v.outcome == "reproduced"


def test_limits_judge_the_mean_and_say_when_it_is_close():
    band = {"of": "red", "between": [0.07, 0.13]}
    assert judged(band, {"red": [0.10, 0.101, 0.099]}).checks[0].remark == ""
    close = judged(band, {"red": [0.12, 0.15, 0.11]})
    assert close.outcome == "leans" and close.checks[0].remark.startswith("close")
    assert judged(band, {"red": [0.2, 0.2, 0.2]}).outcome == "not reproduced"
    published = {"of": "red", "published": 0.1, "tolerance": 0.1}
    assert judged(published, {"red": [0.109] * 3}).outcome == "reproduced"
    assert judged(published, {"red": [0.111] * 3}).outcome == "not reproduced"


def test_a_mean_has_the_digits_that_tell_on_which_side_of_its_limit_it_is():
    v = judged({"of": "red", "above": 0.1667}, {"red": [0.16666, 0.16666]})
    assert v.outcome == "not reproduced" and "RED 0.16666" in v.measured, v.measured
    assert "RED 0.167" in judged({"of": "red", "above": 0.16}, {"red": [0.16666, 0.16666]}).measured


def test_what_was_not_run_is_not_testable_and_does_not_pass_for_a_yes():
    assert judged({"of": "red", "above": "blue"}, {"red": [0.1, 0.1]}).outcome == "not testable"
    v = judged({"order": ["droptail", "red", "blue"]}, {"droptail": [0.2, 0.21], "red": [0.1, 0.11]})
    assert v.outcome == "reproduced" and "1 of 2 checks were not run" in v.note


def test_along_an_axis_the_means_must_lie_close():
    s, samples = study.load(NAME), Samples.empty()
    for limit, x in {"1 queue at first": [96, 98], "10 % at first": [97, 99], "none": [90, 92]}.items():
        samples.data["dsdrr-limit", ("dsdrr", limit), "all", "share"] = np.array(x, float)
    shared = {
        "id": "x",
        "sentence": "x",
        "experiment": "closed-limit",
        "runs": "dsdrr-limit",
        "measure": "share",
    }
    check = {"of": "dsdrr", "along": "limit", "within": 3}
    some = {**check, "where": {"limit": ["1 queue at first", "10 % at first"]}}
    v = Judge(s, samples).statement(read_statement(StudyRow({**shared, "check": [some]}, "statement[0]"), "f"))
    assert v.outcome == "reproduced"
    v = Judge(s, samples).statement(read_statement(StudyRow({**shared, "check": [check]}, "statement[0]"), "f"))
    assert v.outcome == "not reproduced" and v.checks[0].value == 7
    assert "91.0 (limit none) to 98.0 % (limit 10 % at first)" in v.measured


def test_an_average_counts_every_point_once():
    s, samples = study.load(NAME), Samples.empty()
    for buffer, (red, blue) in {"8": (80, 90), "84": (99, 80)}.items():
        samples.data["ss", ("red", "2", buffer), "all", "share"] = np.array([red, red + 1.0])
        samples.data["ss", ("blue", "2", buffer), "all", "share"] = np.array([blue, blue + 1.2])
    shared = {"id": "x", "sentence": "x", "experiment": "fig-4.8", "runs": "ss", "measure": "share"}
    check = {"of": "red", "above": "blue"}
    judge = Judge(s, samples)
    # It holds at one of two points and in the mean of both.
    each = judge.statement(read_statement(StudyRow({**shared, "check": [check]}, "statement[0]"), "f"))
    assert each.outcome == "leans" and each.part.startswith("holds in 1 of 2 places, not in RED")
    v = judge.statement(
        read_statement(StudyRow({**shared, "check": [{**check, "average": True}]}, "statement[0]"), "f")
    )
    assert v.outcome == "reproduced" and len(v.checks) == 1 and v.checks[0].value == pytest.approx(4.4)


def test_infinite_ratios_are_above_any_limit():
    assert three_sigma_of(np.array([1.0, 9.0])) == math.inf
    v = judged({"of": "red", "above": 2.0}, {"red": [math.inf, 3.0]})
    assert v.outcome == "reproduced"
    json.dumps(v.as_dict(), allow_nan=False)


def test_measures_of_a_queue_by_cycles():
    t = np.arange(0, 100, 0.1)
    q = 100 - 60 * (1 - (t % 10) / 10)  # full at every tenth second, then down to 40
    q[t % 10 < 0.05] = 40
    at = overflows(q, 100)
    assert len(at) == 9
    assert np.allclose(np.diff(t[at]), 10)
    series = {"what": np.full(len(t), "link.b"), "probe": np.full(len(t), "queue"), "time_s": t, "value": q}
    run = RunView(None, buffer=100, tables={"series": series})
    assert MEASURES["queue_drop"].compute(run, "all") == pytest.approx(60)
    assert MEASURES["cycle"].compute(run, "all") == pytest.approx(10)
    assert MEASURES["empty"].compute(run, "all") == 0


# ------------------------------------------------------------------------------------------------------ command line


def test_list_names_studies_and_experiments():
    r = CliRunner().invoke(cli, ["reproduce", "--list", "--json"])
    listed = next(s for s in json.loads(r.stdout)["studies"] if s["id"] == NAME)
    ids = [e["id"] for e in listed["experiments"]]
    for e in ("fig-2.1", "table-2.4", "fig-3.3", "fig-3.4", "fig-3.5", "fig-3.8"):
        assert f"{NAME}/{e}" in ids
    text = CliRunner().invoke(cli, ["reproduce", "--list"]).stdout
    assert f"{NAME}/fig-3.4" in text and max(map(len, text.splitlines())) <= 100


@pytest.mark.slow
def test_one_experiment_from_the_command_line(tmp_path):
    args = ["reproduce", f"{NAME}/fig-2.4", "--quick", "--out", str(tmp_path / "o"), "--json", "--set", "duration=20s"]
    r = CliRunner().invoke(cli, args)
    assert r.exit_code == 0, r.output
    d = json.loads(r.stdout)
    assert d["experiments"] == ["fig-2.4"] and d["runs"] == 3 and d["failed"] == []
    assert {v["id"] for v in d["verdicts"]} >= {"R1-4167", "2"}
    assert (tmp_path / "o" / "report.html").is_file()
    assert all((tmp_path / "o" / f).is_file() for f in d["figures"] + d["tables"])


def test_an_experiment_without_packets_ends_well(tmp_path):
    r = CliRunner().invoke(cli, ["reproduce", f"{NAME}/table-5.1", "--quick", "--out", str(tmp_path / "o")])
    assert r.exit_code == 0, r.output
    assert [p.name for p in (tmp_path / "o" / "runs").iterdir()] == ["computed.json"]


def test_several_experiments_come_in_the_order_of_the_study():
    _, chosen = command.choose(f"{NAME}/e3.3,fig-2.1,F2.1", {})
    assert [e.id for e in chosen] == ["fig-2.1", "fig-3.3"]


@pytest.mark.slow
def test_the_verdict_table_fits_a_terminal(honest):
    for width in (80, 100):
        text = command.verdict_text(honest.verdicts, width)
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize(
    "args", [["nothing"], [f"{NAME}/fig-2.4,E9"], [NAME, "--discipline", "codel=red"], [NAME, "--discipline", "x"]]
)
def test_wrong_input_ends_with_status_2(args):
    assert CliRunner().invoke(cli, ["reproduce", *args]).exit_code == 2
