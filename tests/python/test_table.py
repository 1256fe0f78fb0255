"""Tables: shared memory, Arrow, data frames, selection, and how they look."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from conftest import SMALL

import tailback as tb


@pytest.fixture(scope="module")
def result() -> tb.Result:
    return tb.run(SMALL, replications=2)


def address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def test_numbers_are_shared_not_copied(result: tb.Result) -> None:
    t = result.flows
    a, b = t["goodput_bps"], t["goodput_bps"]
    assert a.dtype == np.float64 and len(a) == len(t) == 8
    assert address(a) == address(b)
    assert not a.flags.writeable and not a.flags.owndata
    assert t["sent_packets"].dtype == np.uint64
    # A slice of the table looks into the same memory.
    assert address(t[2:]["goodput_bps"]) == address(a) + 16
    assert list(t["group"]) == ["bulk"] * 8


def test_memory_outlives_the_table() -> None:
    a = tb.run(SMALL).flows["goodput_bps"]
    copy = a.copy()
    tb.run(SMALL, seed=2)
    assert (a == copy).all()


def test_rows_slices_and_where(result: tb.Result) -> None:
    t = result.flows
    rows = list(t.rows())
    # As text: a value that a flow does not have is not a number, and not equal to itself.
    assert repr(rows) == repr(list(t)) and len(rows) == 8 and repr(rows[3]) == repr(t[3]) == repr(t[-5])
    assert rows[0]["id"] == "bulk.0" and isinstance(rows[0]["sent_packets"], int)
    assert [r["id"] for r in t.where(run=1)] == [f"bulk.{i}" for i in range(4)]
    assert len(t.where(id=["bulk.0", "bulk.3"])) == 4
    assert len(t.where(id="nobody")) == 0 and t.where(id="nobody")["goodput_bps"].shape == (0,)
    assert "goodput_bps" in t and "nonsense" not in t
    with pytest.raises(KeyError, match="goodput_bps"):
        t["godput_bps"]
    with pytest.raises(IndexError):
        t[8]
    with pytest.raises(TypeError):
        t[None]


def test_units_and_docs_are_with_the_columns(result: tb.Result) -> None:
    t = result.links
    assert t.units["sojourn_p95_s"] == "s" and t.docs["utilisation"]
    assert list(t.units) == t.columns


def test_text_fits_a_terminal(result: tb.Result) -> None:
    for name in ("flows", "groups", "links", "series", "log"):
        text = repr(getattr(result, name))
        assert all(len(line) <= 80 for line in text.splitlines()), text
        assert name in text
    html = result.links._repr_html_()
    assert "bit/s" in html and html.count("<tr>") == len(result.links) + 1


def test_polars(result: tb.Result) -> None:
    pl = pytest.importorskip("polars")
    frame = result.flows.to_polars()
    assert frame.shape == (8, len(result.flows.columns))
    assert frame["goodput_bps"].to_list() == list(result.flows["goodput_bps"])
    # Shared, not copied.
    assert address(frame["goodput_bps"].to_numpy()) == address(result.flows["goodput_bps"])
    # Any reader of Arrow's C interface takes the table itself.
    assert pl.DataFrame(result.links).equals(result.links.to_polars())
    assert result.log.to_polars().shape[0] == 0


def test_pandas(result: tb.Result) -> None:
    pytest.importorskip("pandas")
    frame = result.flows.to_pandas()
    assert list(frame.columns) == result.flows.columns and len(frame) == 8
    assert math.isclose(frame["goodput_bps"].sum(), result.flows["goodput_bps"].sum())
    assert np.shares_memory(frame["goodput_bps"].to_numpy(), result.flows["goodput_bps"])


def test_parquet_round_trip(result: tb.Result, tmp_path) -> None:
    result.save(tmp_path / "kept")
    again = tb.load_result(tmp_path / "kept")
    for name in ("runs", "flows", "groups", "links", "losses", "intervals", "series", "log", "transfers"):
        a, b = getattr(result, name), getattr(again, name)
        assert a.columns == b.columns and a.units == b.units and repr(list(a)) == repr(list(b))
    assert again.scenario.digest == result.scenario.digest
    assert again.manifest["seeds"] == [1, 2]


def test_rows_are_written_as_json(result: tb.Result) -> None:
    link = result.links
    for columns in (list(link.columns), ["name"], []):
        rows = json.loads(link.json_rows(columns))
        assert len(rows) == len(link)
        for text, row in zip(rows, link.rows(), strict=True):
            assert list(text) == columns
            wanted = {c: row[c] for c in columns}
            assert text == {c: None if isinstance(x, float) and not math.isfinite(x) else x for c, x in wanted.items()}
    assert link[:0].json_rows(["name"]) == "[]"
    with pytest.raises(KeyError, match="no column"):
        link.json_rows(["nothing"])
