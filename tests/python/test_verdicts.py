"""What a verdict may rest on, and what kinds of verdicts are counted."""

import math

import numpy as np
import pytest
from conftest import of_study

from tailback.core import verdict
from tailback.core.verdict import (
    ARITHMETIC,
    KINDS,
    LEANS,
    NO,
    ONE_SEED,
    OPEN,
    ORDER,
    SENTENCE,
    VALUE,
    YES,
    ZERO,
    Verdict,
    told,
)
from tailback.show import report
from tailback.show.report import ReportError
from tailback.show.report.study_page import _row
from tailback.study import load as study
from tailback.study import opening
from tailback.study.checks.along import Along
from tailback.study.data.groups import StudyRow
from tailback.study.data.statement import read_statement
from tailback.study.errors import StudyError
from tailback.study.judge import Judge
from tailback.study.samples import Samples

lengths = of_study("kantawala-2005", "measures.holds").lengths

NAME = "kantawala-2005"
SB = ("droptail", "red", "blue", "drr", "tdrr", "qsdrr", "dtdrr", "dsdrr")


@pytest.fixture
def judge():
    return Judge(study.load(NAME), Samples.empty())


def held(judge, statement, values):
    """The verdict of a statement on SB with 200 packets, where `values` has a number a seed for each discipline."""
    s = next(s for s in judge.study.statements if s.id == statement)
    for name, x in values.items():
        for measure in ("sd", "share"):
            judge.samples.data["sb", (name, "200"), "all", measure] = np.array(x, dtype=float)
    return judge.statement(s)


def test_an_order_needs_intervals_that_part_and_leans_without(judge):
    apart = {"blue": [0.060, 0.062, 0.061], "drr": [0.020, 0.021, 0.022], "qsdrr": [0.020, 0.021, 0.019]}
    v = held(judge, "5b", apart)
    assert (v.outcome, v.kind) == (YES, ORDER)
    v = held(judge, "5b", {**apart, "drr": [0.020, 0.1, 0.022]})
    assert v.outcome == LEANS
    assert [c.remark for c in v.checks] == ["cannot be told apart", ""]


def test_one_seed_gives_no_order_and_is_said_to_be_one_seed(judge):
    v = held(judge, "5b", {"blue": [0.06], "drr": [0.02], "qsdrr": [0.02]})
    assert v.outcome == OPEN
    assert v.seeds == 1
    assert all(c.remark.startswith(ONE_SEED) for c in v.checks)
    assert "one seed gives none" in v.note
    assert "0.060" in v.measured  # what was measured is told all the same


def test_a_level_of_one_seed_is_judged_and_said_to_be_of_one_seed(judge):
    v = held(judge, "8d", {"qsdrr": [95], "tdrr": [96]})
    assert v.outcome == YES
    assert [c.remark for c in v.checks] == [ONE_SEED] * 2


def test_where_nothing_is_drawn_one_run_is_enough(judge):
    runs = judge.runs("memory")
    assert runs.arithmetic and not runs.random
    assert judge.runs("sb").random


def test_a_fall_along_an_axis_is_an_order_too(judge):
    check = Along(runs="bl", measure="ratio_mean", of="pb", along="hold", falls=True)
    assert check.kind(judge) == ORDER

    def outcome(first, second):
        judge.samples.data["bl", ("pb", "0.5"), "all", "ratio_mean"] = np.array(first)
        judge.samples.data["bl", ("pb", "1"), "all", "ratio_mean"] = np.array(second)
        return check.decide(judge)[0]

    assert outcome([1.7, 1.71, 1.69], [1.5, 1.51, 1.49]).outcome == YES
    assert outcome([1.7, 1.2, 1.69], [1.5, 1.51, 1.49]).outcome == LEANS
    assert outcome([1.5, 1.51, 1.49], [1.7, 1.71, 1.69]).outcome == NO
    found = outcome([1.7], [1.5])
    assert (found.outcome, found.remark) == (OPEN, ONE_SEED)


def test_one_discipline_varies_less_along_an_axis_than_another(judge):
    check = Along(runs="bl", measure="ratio_mean", of="pb", along="hold", narrower_than="db")
    assert check.kind(judge) == ORDER

    def outcome(**values):
        for name, ends in values.items():
            for hold, x in zip(("0.5", "1"), ends, strict=True):
                judge.samples.data["bl", (name, hold), "all", "ratio_mean"] = np.array(x)
        return check.decide(judge)[0]

    # Twice from one end to the other, against three times; then three times against that.
    twice, thrice = ([1.0, 1.1, 1.05], [2.0, 2.2, 2.11]), ([1.0, 1.2, 1.1], [3.0, 3.6, 3.31])
    assert outcome(pb=twice, db=thrice).outcome == YES
    assert outcome(pb=thrice, db=twice).outcome == NO
    assert outcome(pb=([1.0, 1.0, 1.0], [2.0, 4.0, 2.5]), db=thrice).outcome == LEANS
    assert outcome(pb=([1.0], [2.0]), db=([1.0], [3.0])).remark == ONE_SEED


def test_counts_by_kind_add_up_to_the_counts():
    for name in study.known():
        s = study.load(name)
        rows = Judge(s, Samples.empty()).all({e.id for e in s.experiments})
        by_kind = verdict.kinds(rows)
        assert list(by_kind) == [k for k in KINDS if k in by_kind]
        total = verdict.count(rows)
        for outcome in total:
            assert sum(c[outcome] for c in by_kind.values()) == total[outcome]
        found = {v.id: v.kind for v in rows}
        if name == NAME:
            assert found["R1-4167"] == found["24b"] == found["R6c"] == ARITHMETIC
            assert found["5a"] == found["15e"] == ORDER
            assert found["6a"] == found["5e"] == SENTENCE
            assert found["T2.4-1"] == VALUE
            assert by_kind[ARITHMETIC][YES] >= 5
        elif name == "keshav-1991":
            zeros = [v for v in rows if v.kind == ZERO]
            assert len(zeros) > 200
            assert all(v.published.startswith("0 ") for v in zeros)


# ------------------------------------------------------------------------------------- readings of what is left open


def test_balancing_at_dequeue_has_no_guard_and_the_guarded_rule_is_compared():
    s = study.load(NAME)
    assert not any(s.disciplines[k].queue.get("no_worse", False) for k in ("db", "both"))
    assert all(s.disciplines[k].queue["no_worse"] for k in ("db-guarded", "both-guarded"))
    guarded = [x for x in s.statements if "guarded" in x.id]
    assert guarded and not any(x.gate for x in guarded)


def test_the_weights_of_tdrr_are_those_of_a_rate_clocked_each_100_ms():
    axis = study.load(NAME).runs["tdrr-weight"].axis("weight")
    assert axis.paths == ("link.bottleneck.queue.theta",)
    for mode in ("quick", "full"):
        for weight, theta in axis.values[mode].items():
            assert float(theta.strip(chr(34)).removesuffix("s")) == pytest.approx(0.1 / float(weight))


def test_scenario_8_has_both_round_trips():
    s = study.load("keshav-1991")
    assert 'access_delay = ["0s", "12s"]' in s.runs["scenario-8"].scenario.read_text()
    near = s.runs["scenario-8-24"]
    assert near.scenario == s.runs["scenario-8"].scenario
    assert near.set == ('flows.ftp.access_delay=["0s", "6s"]',)
    compared = {x.id: x.gate for x in s.statements if x.experiment == "scenario-8"}
    assert compared == {
        "8-near": True,
        "8-generic": True,
        "8-pp": True,
        "8-near-24": False,
        "8-generic-24": False,
        "8-pp-24": False,
    }


def test_intervals_of_victims_count_from_20_s_on():
    class Run:
        options = {"from_s": 20}
        series = None

        def probe(self, name):
            return np.array([0.0, 5.0, 20.0, 21.0, 24.0]), np.array([1.0, 2.0, 1.0, 3.0, 1.0])

    assert lengths(Run()).tolist() == [1.0, 3.0]
    assert lengths(Run(), whole=True).tolist() == [5.0, 15.0, 1.0, 3.0]
    assert study.load(NAME).runs["holds"].options["from_s"] == 20


# ------------------------------------------------------------------------------------------------ what is re-read


def test_a_sentence_that_was_read_anew_tells_the_words_and_what_the_first_rule_says(judge):
    # The mean is between the two limits: the first rule asked for 95 %.
    v = held(judge, "5d", {"tdrr": [93, 93.2, 93.1], "qsdrr": [94, 94.1, 94.2]})
    assert v.outcome == YES
    assert "in agreement with the simulations" in v.words
    assert v.first.startswith(NO) and "above 95 %" in v.first and "93.1" in v.first
    assert v.as_dict()["first"] == v.first


def test_the_sentences_that_were_read_anew():
    s = study.load(NAME)
    again = {x.id for x in s.statements if x.first}
    # Of all other rows one limit was replaced by that of its word.
    by_word = {x.id for x in s.statements if x.words == "one limit for each word of the sources, in all rows"}
    assert again - by_word == {
        *(
            "3d",
            "5d",
            "6b",
            "10e",
            "17-4.4b",
            "17-4.5b",
            "17-4.6b",
            "17-4.7b",
            "18a",
            "23b",
            "23d",
            "24a",
            "26a",
            "26c",
        ),
        *("28a", "30b", "31c", "31d", "32c", "36c", "36e", "38a", "38b"),
    }
    with pytest.raises(StudyError, match="words and first_check go together"):
        read_statement(StudyRow({"id": "x", "sentence": "x", "words": "y"}, "statement[0]"), "f.toml")


def test_what_is_printed_is_what_is_tested():
    s = {x.id: x for x in study.load(NAME).statements}
    assert s["T5.2-hash-10000"].checks[0].published == 2.52
    assert not s["T5.2-hash-10000-computed"].gate
    # Filters are what a router has; a count without error is compared.
    assert s["23c"].gate and "groups-20" in s["23c"].checks[0].of
    assert not s["23c-exact"].gate
    assert s["38b"].first[0].where == {"target": 100}
    # Where there is something to converge to: above load 1.
    assert s["38b"].checks[0].where["load"]["from"] > 1
    assert not s["16b-second"].gate and not s["16c-second"].gate
    assert not {x.id: x for x in study.load("keshav-1991").statements}["4-phase"].gate


def test_a_rise_is_one_sided(judge):
    check = Along(runs="fq100", measure="delay_mean", of="scfq", along="background", rises_at_most=0.4)

    def outcome(few, many):
        for n, x in (("9", few), ("19", many)):
            judge.samples.data["fq100", ("scfq", "0.8", n, "100"), "all", "delay_mean"] = np.array([x])
        return [f.outcome for f in check.decide(judge) if f.outcome != OPEN]

    axes = [a.name for a in judge.runs("fq100").axes]
    assert axes == ["queue", "load", "background", "target"]
    assert outcome(1.0, 1.3) == [YES]
    assert outcome(1.0, 1.5) == [NO]
    assert outcome(1.5, 1.0) == [YES]


# --------------------------------------------------------------------------------------------------- the opening


@pytest.fixture
def rows():
    """Verdicts of a study whose main claim holds, and of which one row is unmet."""

    def row(name, outcome, sentence, **more):
        values = {
            "source": "text",
            "experiment": "e",
            "gate": True,
            "published": "as stated",
            "measured": "7 ± 1 packets",
            "seeds": 3,
            "tolerance": "below 9 packets",
        }
        return Verdict(id=name, outcome=outcome, sentence=sentence, **{**values, **more})

    return [
        row("claim", YES, "The queue is short."),
        row("order", YES, "A is above B.", kind=ORDER),
        row("value", NO, "A, 200 packets", kind=VALUE),
        row("zero", YES, "B, drops", kind=ZERO),
        row("aside", NO, "C is below D.", gate=False),
    ]


def test_a_verdict_that_flips_changes_the_opening(rows):
    before = opening.sentences(rows, ["claim"])
    assert len(before) == 5
    assert before[0] == (
        "Of 4 published values and sentences that are judged: 3 reproduced, 0 lean, 1 not, 0 not to be decided by "
        "these runs."
    )
    assert "“The queue is short”" in before[1] and "“A, 200 packets”" in before[2]
    assert "0 of 1 published values, 1 of 1 published zeros, 1 of 1 orders" in before[3]
    rows[0].outcome = NO
    after = opening.sentences(rows, ["claim"])
    assert "2 reproduced, 0 lean, 2 not" in after[0]
    assert "“The queue is short”" not in after[1]
    # An unmet claim stands among them, before what is no claim.
    assert "“The queue is short”" in after[2] and "1 more is unmet" in after[2]
    rows[0].outcome, rows[0].part = LEANS, "holds in 2 of 3 places, not in A, 84 packets"
    leaning = opening.sentences(rows, ["claim"])
    assert "2 reproduced, 1 lean, 1 not" in leaning[0]
    assert "What leans: “The queue is short” (measured: 7 ± 1 packets; holds in 2 of 3 places" in leaning[1]
    assert "“The queue is short”" not in leaning[2]


def test_rows_that_were_read_anew_are_marked_and_counted(rows):
    assert verdict.count(rows)[verdict.ANEW] == 0
    rows[0].words, rows[0].first = "short enough", "not reproduced (asked: below 5 packets; measured: 7)"
    rows[1].chosen = "A counts from its first packet"
    rows[4].chosen = "the same"  # only compared
    assert [v.anew for v in rows] == [True, True, False, False, True]
    assert verdict.count(rows)[verdict.ANEW] == 2
    said = opening.sentences(rows, ["claim"])
    assert "3 reproduced (of these 2 read anew), 0 lean, 1 not" in said[0]
    assert "“The queue is short” (measured: 7 ± 1 packets; read anew)" in said[1]
    assert "1 were read anew after a look, of which 1 come out otherwise by the first rule" in said[4]
    assert "2 rest on a reading chosen after a look" in said[4]


def test_the_claims_of_every_study_are_statements_of_it():
    for name in study.known():
        s = study.load(name)
        judged = [x.id for x in s.statements if x.gate]
        assert len(s.about.claims) >= min(5, len(judged)) > 0
        assert set(s.about.claims) <= set(judged)


def test_a_reason_is_said_once(rows):
    rows[2].explanation = rows[4].explanation = "The start counts."
    said = {}
    told = [_row(v, said) for v in rows]
    assert [r.explanation for r in told] == ["", "", "The start counts.", "", ""]
    assert told[4].as_before == "value"


def test_what_a_study_tells_is_read_as_it_was_written(tmp_path, rows):
    """Also numbers that JSON does not have."""
    rows[0].checks = [verdict.Finding("a", "", "infinite", "below 1", NO, value=math.inf, half_width=math.nan)]
    about = dict.fromkeys(told.Said.__struct_fields__, "")
    written = told.Told(
        study=told.Said(**{**about, "id": "x", "source": [told.Covered(part="a", here="b")]}),
        setup=[told.SetupRow(what="Rate", value="1 Mb/s")],
        again=[told.AgainRow(command="tailback", what="all")],
        mode="quick",
        command="tailback",
        experiments=["e"],
        verdicts=rows,
        count=verdict.count(rows),
        kinds=verdict.kinds(rows),
        opening=["One."],
        sections=[{"id": "e"}],
        disciplines={"red": told.QueueText(title="RED", queue="{}")},
        scenarios={"a.toml": ""},
        runs=1,
        version="1",
        build="b",
    )
    (tmp_path / told.NAME).write_text(written.text(), encoding="utf-8")
    read = told.read(tmp_path)
    assert (read.verdicts[0].checks[0].value, read.verdicts[0].checks[0].half_width) == ("infinite", None)
    assert read.text() == written.text()
    (tmp_path / told.NAME).write_text(written.text().replace('"runs": 1', '"runs": "1"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"Expected `int`, got `str` - at `\$\.runs`"):
        told.read(tmp_path)
    # A version that had three outcomes counted without "leans".
    (tmp_path / told.NAME).write_text(written.text().replace('"leans": 0,', ""), encoding="utf-8")
    with pytest.raises(told.OtherVersion, match="counted other outcomes; run `tailback` into the same folder again"):
        told.read(tmp_path)
    with pytest.raises(ReportError, match="counted other outcomes"):
        report.write(tmp_path)
