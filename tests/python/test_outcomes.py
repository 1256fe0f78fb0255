"""The four outcomes, with numbers for every kind of check; and no gate passes for what should fail it."""

import math

import msgspec
import numpy as np
import pytest

from tailback.core.verdict import LEANS, NO, ONE_SEED, OPEN, YES, Finding, outcome_of, part_of
from tailback.study import cells
from tailback.study import load as study
from tailback.study.cells import Cell
from tailback.study.checks.along import Along
from tailback.study.checks.base import Measured, Statement
from tailback.study.checks.cell import CellNumber
from tailback.study.checks.every import Every
from tailback.study.checks.limit import Limit
from tailback.study.checks.order import Order
from tailback.study.checks.predicted import Predicted
from tailback.study.checks.rival import Rival
from tailback.study.data.groups import StudyRow
from tailback.study.data.statement import read_statement
from tailback.study.errors import StudyError
from tailback.study.judge import Judge
from tailback.study.samples import Samples

NAME = "kantawala-2005"
#: Three seeds that say the same, and three that do not.
SURE, UNSURE = np.array([-0.01, 0.0, 0.01]), np.array([-1.0, 0.0, 1.0])


@pytest.fixture
def judge():
    return Judge(study.load(NAME), Samples.empty())


def given(judge, values, measure="sd", buffer="200"):
    """Samples of SB: discipline -> the mean, and how seeds differ."""
    for name, (mean, seeds) in values.items():
        judge.samples.data["sb", (name, buffer), "all", measure] = mean + np.asarray(seeds)


def stated(checks, **more):
    shared = {"id": "x", "sentence": "x", "experiment": "fig-3.3", "runs": "sb", "measure": "sd"}
    return read_statement(StudyRow({**shared, "check": checks, **more}, "statement[0]"), "f")


def outcome(judge, check, buffer="200"):
    return judge.statement(stated([{"where": {"buffer": int(buffer)}, **check}])).outcome


@pytest.mark.parametrize(
    ("red", "blue", "expected"),
    [
        ((5.0, SURE), (4.0, SURE), YES),
        ((4.5, UNSURE), (4.0, SURE), LEANS),
        ((4.0, SURE), (4.5, UNSURE), NO),  # the wrong side, though not told apart
        ((4.0, [0.0]), (3.0, [0.0]), OPEN),  # one seed gives no order
    ],
)
def test_one_discipline_above_another(judge, red, blue, expected):
    given(judge, {"red": red, "blue": blue})
    for check in ({"of": "red", "above": "blue"}, {"of": "blue", "below": "red"}, {"order": ["red", "blue"]}):
        assert outcome(judge, check) == expected, check


@pytest.mark.parametrize(
    ("red", "expected"), [((4.1, SURE), YES), ((4.4, UNSURE), LEANS), ((4.6, SURE), NO), (None, OPEN)]
)
def test_one_discipline_near_another(judge, red, expected):
    given(judge, {"blue": (4.0, SURE), **({"red": red} if red else {})})
    assert outcome(judge, {"of": "red", "near": "blue", "within": 0.5}) == expected


@pytest.mark.parametrize(
    ("red", "expected"), [((4.1, SURE), YES), ((4.4, UNSURE), LEANS), ((4.6, SURE), NO), (None, OPEN)]
)
@pytest.mark.parametrize(
    "limit",
    [{"below": 4.5}, {"between": [3.5, 4.5]}, {"published": 4.0, "tolerance": 0.125}, {"over": "blue", "below": 1.125}],
)
def test_a_mean_against_limits(judge, red, expected, limit):
    given(judge, {"blue": (4.0, np.zeros(3)), **({"red": red} if red else {})})
    assert outcome(judge, {"of": "red", **limit}) == expected


@pytest.mark.parametrize(
    ("large", "expected"), [((3.0, SURE), YES), ((3.9, UNSURE), LEANS), ((4.5, SURE), NO), (None, OPEN)]
)
def test_a_mean_that_falls_along_an_axis(judge, large, expected):
    given(judge, {"red": (4.0, SURE)})
    if large:
        given(judge, {"red": large}, buffer="5000")
    check = Along(runs="sb", measure="sd", of="red", along="buffer", falls=True)
    assert outcome_of(check.decide(judge)) == expected


def test_a_fall_with_one_step_up_leans_and_one_that_ends_higher_does_not(judge):
    check = Along(runs="sb", measure="sd", of="red", along="buffer", falls=True)
    for buffer, mean in (("200", 4.0), ("1000", 4.2), ("5000", 3.0)):
        given(judge, {"red": (mean, SURE)}, buffer=buffer)
    assert outcome_of(check.decide(judge)) == LEANS
    given(judge, {"red": (4.1, SURE)}, buffer="5000")
    assert outcome_of(check.decide(judge)) == NO


@pytest.mark.parametrize(
    ("large", "expected"), [((4.1, SURE), YES), ((4.4, UNSURE), LEANS), ((4.6, SURE), NO), (None, OPEN)]
)
@pytest.mark.parametrize("limit", [{"within": 0.5}, {"rises_at_most": 0.5}])
def test_means_that_lie_close_along_an_axis(judge, large, expected, limit):
    given(judge, {"red": (4.0, SURE)})
    if large:
        given(judge, {"red": large}, buffer="5000")
    check = Along(runs="sb", measure="sd", of="red", along="buffer", **limit)
    assert outcome_of(check.decide(judge)) == expected


@pytest.mark.parametrize(
    ("red", "expected"), [((8.0, SURE), YES), ((11.0, UNSURE * 2), LEANS), ((16.0, SURE), NO), ((8.0, [0.0]), OPEN)]
)
def test_one_discipline_that_varies_less_than_another(judge, red, expected):
    # The other has 4 at one end and 12 at the other.
    seeds = np.zeros(len(red[1]))
    given(judge, {"red": (4.0, seeds), "blue": (4.0, seeds)})
    given(judge, {"red": red, "blue": (12.0, seeds)}, buffer="5000")
    check = Along(runs="sb", measure="sd", of="red", along="buffer", narrower_than="blue")
    assert outcome_of(check.decide(judge)) == expected


@pytest.mark.parametrize(
    ("means", "seeds", "expected"),
    [
        ((4.0, 4.1, 4.2), SURE, YES),
        ((4.0, 4.1, 4.2), UNSURE, LEANS),  # intervals reach over
        ((4.0, 4.1, 3.4), SURE, LEANS),  # two of three, and the mean of all
        ((4.0, 3.4, 3.4), SURE, NO),
        ((), SURE, OPEN),
    ],
)
def test_every_flow_by_itself(judge, means, seeds, expected):
    for i, mean in enumerate(means):
        judge.samples.data["sb", ("red", "200"), f"users.{i}", "share"] = mean + np.asarray(seeds)
    check = Every(runs="sb", measure="share", of="red", every=["users.0-2"], above=3.5, where={"buffer": 200})
    assert outcome_of(check.decide(judge)) == expected


def test_a_formula_has_no_interval(judge):
    def model(**limits):
        return Predicted(predict="qsdrr", with_={"flows": 100, "buffer": 4000}, field="victims", **limits)

    fourteen = model(value=14).decide(judge)
    assert outcome_of(fourteen) == YES and outcome_of(model(above=15).decide(judge)) == NO
    # Of two sentences of one kind, one of which holds, the pair leans where the mean of both is right.
    pair = [*model(above=10).decide(judge), *model(above=15).decide(judge)]
    assert outcome_of(pair) == LEANS
    assert outcome_of([]) == OPEN


@pytest.mark.parametrize(
    ("measured", "expected"), [(0.21, YES), (0.27, LEANS), (0.31, NO), (0.13, LEANS), (0.09, NO), (None, OPEN)]
)
def test_a_cell_within_its_class_but_a_quarter_off_leans(judge, monkeypatch, measured, expected):
    cell = Cell(0.20, 0.03, "B", 0.1, "throughput")
    number = CellNumber(
        id="x",
        experiment="e",
        runs="sb",
        queue="red",
        table="t",
        class_="1",
        title="FTP",
        metric="throughput",
        cell=cell,
    )
    values = None if measured is None else np.full(6, measured)
    monkeypatch.setattr("tailback.study.checks.cell.pooled", lambda *_: values)
    v = number.verdict(judge)
    assert v.outcome == expected
    assert bool(v.part) == (expected == LEANS)
    if measured is not None:
        assert cells.mark(cell, measured, False) == {YES: "", LEANS: cells.LEANING, NO: cells.MISS}[expected]


def test_an_exact_cell_and_what_is_not_printed_do_not_lean():
    assert not Cell(0.06, None, "A", 0.1, "drops").leans(0.079)
    assert not Cell(0.01, None, "B", 0.1, "drops").leans(0.015)
    assert Cell(0.01, None, "B", 0.1, "drops").leans(0.016)


# --------------------------------------------------------------------------------------- places and parts of a sentence


def finding(outcome, margin, relation=0, what="A"):
    return Finding(what, "", "", "", outcome, margin=margin, relation=relation)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(YES, 1), finding(YES, 1)], YES),
        ([finding(YES, 1), finding(LEANS, 1)], LEANS),
        ([finding(YES, 1), finding(OPEN, None)], YES),
        # One relation at several places.
        ([finding(YES, 2), finding(NO, -1)], LEANS),
        ([finding(YES, 1), finding(NO, -2)], NO),  # the mean is on the wrong side
        ([finding(LEANS, 2), finding(NO, -1)], NO),  # clear at no place
        ([finding(YES, 9), finding(NO, -1), finding(NO, -1)], NO),  # more than half fail
        ([finding(NO, -1), finding(NO, -1)], NO),
        ([finding(YES, math.inf), finding(NO, -math.inf)], NO),
        ([finding(YES, 1), finding(NO, None)], NO),
        # Several relations: the worst of them.
        ([finding(YES, 9), finding(NO, -1, 1)], NO),
        ([finding(YES, 9), finding(LEANS, 1, 1)], LEANS),
        ([finding(OPEN, None)], OPEN),
    ],
)
def test_the_places_of_a_relation_and_the_relations_of_a_sentence(findings, expected):
    assert outcome_of(findings) == expected
    assert outcome_of(findings[::-1]) == expected


def test_what_holds_in_part_says_where_it_does_not():
    held = [finding(YES, 2, what="A, 84 packets"), finding(NO, -1, what="A, 200 packets")]
    assert part_of(held) == "holds in 1 of 2 places, not in A, 200 packets"
    assert part_of(held[:1]) == part_of(held[1:]) == ""


def test_a_sentence_leans_where_it_holds_in_the_part_that_the_study_names(judge):
    checks = {"check": [{"of": "red", "above": 4.0}], "part_check": [{"of": "red", "above": 3.0}]}
    checks = {k: [{**c[0], "where": {"buffer": 200}}] for k, c in checks.items()}
    s = stated(checks["check"], part="from the second period on", part_check=checks["part_check"])
    for mean, expected in ((5.0, YES), (3.5, LEANS), (2.5, NO)):
        given(judge, {"red": (mean, SURE)})
        v = judge.statement(s)
        assert v.outcome == expected
        assert v.part == ("holds from the second period on" if expected == LEANS else "")
    with pytest.raises(StudyError, match="part and part_check go together"):
        stated(checks["check"], part="x")


# ------------------------------------------------------------------------------------- no gate passes for what is wrong


def comparisons():
    """(study, statement, check) of everything judged that says which of two disciplines has more, or how much more."""
    for name in study.known():
        s = study.load(name)
        for x in s.statements:
            for c in x.checks if x.gate else ():
                ratio = isinstance(c, Limit) and c.over is not None
                narrower = isinstance(c, Along) and c.narrower_than is not None
                if isinstance(c, (Rival, Order)) or ratio or narrower:
                    yield name, x, c


def pairs(c):
    """(the side that should have more, the side that should have less, the check of them alone)."""
    if isinstance(c, Order):
        return [(a, b, msgspec.structs.replace(c, order=[a, b])) for a, b in zip(c.order, c.order[1:], strict=False)]
    of = [c.of] if isinstance(c.of, str) else c.of
    return [(x, None, msgspec.structs.replace(c, of=x)) for x in of]


def placed(judge, c, name, values):
    """The same samples at every point of a check."""
    runs = judge.runs(c.runs)
    for where in judge.places(c):
        key = tuple(name if a.disciplines else where[a.name] for a in runs.axes)
        for klass in {c.class_, getattr(c, "class_over", None) or c.class_}:
            judge.samples.data[c.runs, key, klass, c.measure] = values


def asked(judge, x, c):
    """What comes of one check alone, of the statement it stands in."""
    alone = Statement(x.id, x.sentence, x.source, x.experiment, True, "", "", "", (c,))
    return judge.statement(alone).outcome


def apart(c):
    """Values of a side and of the other that a comparison asks for: clear of each other in every seed."""
    low = np.array([1.0, 1.01, 0.99])
    rival = c.above or c.below
    if isinstance(c, Rival) and rival is not None:
        factor, by = c.factor or 1.0, c.by or 0.0
        side = factor * low + by + (0.5 if c.above else -0.5) * max(1.0, abs(by), factor)
        return side, low
    return None, low


def ids(found):
    return [f"{name}:{x.id}" for name, x, _ in found]


ORDERS = [f for f in comparisons() if isinstance(f[2], Order) or (isinstance(f[2], Rival) and f[2].near is None)]


@pytest.mark.parametrize(("name", "x", "c"), ORDERS, ids=ids(ORDERS))
def test_an_order_with_its_two_sides_swapped_is_not_reproduced(name, x, c):
    judge = Judge(study.load(name), Samples.empty())
    for side, other, alone in pairs(c):
        if isinstance(alone, Order):
            high, low = np.array([2.0, 2.01, 1.99]), np.array([1.0, 1.01, 0.99])
        else:
            other = alone.above or alone.below
            high, low = apart(alone)
        for taken_off in getattr(alone, "less", None) or ():
            placed(judge, alone, taken_off, np.full(3, 0.5))
        placed(judge, alone, side, high)
        placed(judge, alone, other, low)
        assert asked(judge, x, alone) == YES
        shifted = isinstance(alone, Rival) and (alone.by is not None or alone.factor is not None)
        if shifted:
            # More than so much more, or no more than so much: as far on the other side of that.
            line = (alone.factor or 1.0) * low + (alone.by or 0.0)
            placed(judge, alone, side, 2 * line - high)
            assert asked(judge, x, alone) == NO
            continue
        placed(judge, alone, side, low)
        placed(judge, alone, other, high)
        assert asked(judge, x, alone) == NO
        # Both sides the same: no better than the discipline it is held against.
        placed(judge, alone, other, low)
        assert asked(judge, x, alone) == NO


OTHERS = [f for f in comparisons() if f not in ORDERS]


@pytest.mark.parametrize(("name", "x", "c"), OTHERS, ids=ids(OTHERS))
def test_a_level_beside_another_discipline_can_fail(name, x, c):
    """Closeness and ratios: for a discipline that is far off, to one side or to the other, they are not reproduced."""
    judge = Judge(study.load(name), Samples.empty())
    for side, _, alone in pairs(c):
        other = getattr(alone, "near", None) or getattr(alone, "over", None) or alone.narrower_than
        found = []
        for times in (0.001, 1.0, 1000.0):
            for base, who in ((times, side), (1.0, other)):
                placed(judge, alone, who, base * 1000 * np.array([1.0, 1.001, 0.999]))
            if isinstance(alone, Along):
                spread(judge, alone, side, times)
            found.append(asked(judge, x, alone))
        assert NO in found, (alone, found)


def spread(judge, c, name, times):
    """The last point of an axis further off than the others."""
    runs = judge.runs(c.runs)
    for where in judge.places(c)[-1:]:
        key = tuple(name if a.disciplines else where[a.name] for a in runs.axes)
        judge.samples.data[c.runs, key, c.class_, c.measure] = times * 1e6 * np.ones(3)


def test_every_study_with_orders_is_asked():
    asked_of = {name for name, _, _ in ORDERS}
    assert {"habib-2000", "jiang-2006", "kantawala-2005", "keshav-1991", "liu-2001"} <= asked_of
    assert len(ORDERS) > 100
    assert all(isinstance(c, Measured) for _, _, c in ORDERS)


def test_one_seed_that_is_the_wrong_way_round_says_so(judge):
    given(judge, {"red": (4.0, [0.0]), "blue": (5.0, [0.0])})
    v = judge.statement(stated([{"of": "red", "above": "blue", "where": {"buffer": 200}}]))
    assert v.outcome == OPEN and v.checks[0].remark == f"{ONE_SEED}: not as asked, but no order"
