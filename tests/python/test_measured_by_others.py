"""Tables that others measured: every cell has a source, a tolerance and a scenario, and a few come out as stored."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import tailback as tb

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "validation"))

from by_others import cells, compare, page, setups  # noqa: E402

SOURCES = cells.load()
CELLS = [cell for source in SOURCES for cell in source.cells]


def test_there_are_seven_sources_each_cited_with_what_it_was_measured_on() -> None:
    assert len(SOURCES) == 7
    for source in SOURCES:
        assert {"title", "url", "commit", "file", "on"} <= source.document.keys()
        assert all(absent["table"] and absent["why"] for absent in source.absent)


def test_every_cell_has_a_tolerance_around_its_number() -> None:
    assert len(CELLS) >= 150
    for cell in CELLS:
        assert math.isfinite(cell.low) and cell.low <= cell.theirs <= cell.high, cell.name
        assert cell.low < cell.high, cell.name


def test_names_of_cells_are_their_own() -> None:
    for source in SOURCES:
        assert len({cell.name for cell in source.cells}) == len(source.cells)


def test_every_row_becomes_a_scenario() -> None:
    seen = set()
    for cell in CELLS:
        scenario = setups.SETUPS[cell.table["setup"]](cell.table, cell.row).scenario
        if (key := str(scenario)) not in seen:
            seen.add(key)
            tb.load_scenario(scenario)


def test_a_pair_printed_in_both_orders_is_one_pair() -> None:
    (cell,) = (c for c in CELLS if c.name == "pairs-50-dualpi2 cubic 10 prague 10 first_mbps")
    assert cell.values == [12.65, 13.04]
    (alike,) = (c for c in CELLS if c.name.startswith("pairs-50-dualpi2 cubic 10 cubic 10"))
    assert alike.values == [23.11, 24.18]


def test_three_measurements_reach_from_the_least_to_the_largest() -> None:
    (cell,) = (c for c in CELLS if c.name == "pings reno 10.0 4 5 ping_ms")
    assert (sorted(cell.values), cell.low, cell.high) == ([9.7, 10.3, 15.4], 9.7, 15.4)


def test_without_repetition_it_is_15_per_cent() -> None:
    (cell,) = (c for c in CELLS if c.table["name"] == "spike")
    assert (cell.low, cell.high) == pytest.approx((4346 * 0.85, 4346 * 1.15))


def test_no_source_weighs_more_than_a_third() -> None:
    counts = [compare.Count(1000, 1000), compare.Count(10, 0), compare.Count(10, 0), compare.Count(10, 0)]
    assert compare.weighted(counts) == pytest.approx(1 / 3, abs=0.01)


def test_a_fair_queue_is_one_cell_that_holds_as_a_whole() -> None:
    fair = [cell for cell in CELLS if cell.table["name"] == "pairs-10-fq-codel"]
    verdicts = [compare.Verdict(cell, cell.theirs) for cell in fair]
    assert compare.count(verdicts) == compare.Count(1, 1)
    assert compare.count([*verdicts[1:], compare.Verdict(fair[0], 2 * fair[0].high)]) == compare.Count(1, 0)


def test_the_page_is_made_from_what_is_stored() -> None:
    measured, seeds = compare.stored()
    verdicts = compare.judge(SOURCES, measured)
    assert page.PAGE.read_text(encoding="utf-8") == page.text(SOURCES, verdicts, seeds)


PINNED = [
    "red-two-flows red first_mbps",
    "ratios-50 sack 30 60 ratio",
    "depths reno 8 15000 depth_p50",
    "pings bbr 1.5 20 100 ping_ms",
    "spike prague 80 50.0 1.0 30 highest_rtt_ms",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", PINNED)
def test_what_is_stored_comes_out_again(name: str) -> None:
    measured, seeds = compare.stored()
    ((source, cell),) = ((s, c) for s in SOURCES for c in s.cells if c.name == name)
    setup = setups.SETUPS[cell.table["setup"]](cell.table, cell.row)
    result = tb.run(setup.scenario, replications=max(seeds, cell.table.get("seeds", 0)))
    assert setup.read(result)[cell.figure] == pytest.approx(measured[source.key][name], abs=1e-6)
