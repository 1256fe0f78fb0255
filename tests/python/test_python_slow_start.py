"""A rule that ends slow start beside a control in Python: the built-in ones, and SEARCH written from its draft."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tailback as tb

EXAMPLE = f"{Path(tb.__file__).parent / 'examples' / 'my_search.py'}:WatchedReno"
SEGMENT = 1500  # bytes on the wire


def windows(congestion: dict, rate: str, delay: str, **tcp: object) -> tuple[np.ndarray, np.ndarray, float]:
    """Instants and values of the window of one flow with a queue without bound; and when slow start ended."""
    link = {
        "from": "a",
        "to": "b",
        "rate": rate,
        "delay": delay,
        "queue": {"kind": "droptail", "buffer": "100000 packets"},
    }
    result = tb.run(
        {
            "duration": "3s",
            "link": {"path": link},
            "flows": {
                "f": {"from": "a", "to": "b", "tcp": {"delayed_ack": 1, "congestion": congestion, "ecn": "off", **tcp}}
            },
            "record": {"r": {"flows": "f", "probes": ["cwnd", "ssthresh"], "on_change": True}},
        }
    )
    window, threshold = (result.series.where(probe=p) for p in ("cwnd", "ssthresh"))
    ended = threshold["time_s"][np.isfinite(threshold["value"])]
    return window["time_s"], window["value"], float(ended[0]) if len(ended) else float("inf")


@pytest.mark.parametrize(
    ("rate", "delay", "seconds", "products"),
    [("20Mbps", "20ms", 0.339, 5.64), ("100Mbps", "20ms", 0.433, 5.74), ("20Mbps", "50ms", 0.981, 5.66)],
)
def test_search_from_its_draft_ends_slow_start_where_a_calculation_does(
    rate: str, delay: str, seconds: float, products: float
) -> None:
    """In the same bin of 0.35 round trips or the next, and at the same window to 5 %. At 100 ms it has a tie."""
    times, values, end = windows({"kind": EXAMPLE}, rate, delay)
    packet = SEGMENT * 8 / (float(rate.removesuffix("Mbps")) * 1e6)
    path = 2 * float(delay.removesuffix("ms")) / 1e3 + packet
    window = values[np.searchsorted(times, end, side="right") - 1]
    assert -0.035 * path <= end - path - seconds <= 0.7 * path
    assert window * packet / path == pytest.approx(products, rel=0.05)


@pytest.mark.parametrize(
    ("rule", "own"), [("search", {"search": True}), ("own", {"search": True}), ("hystart", {"hystart": True})]
)
def test_a_rule_beside_reno_in_python_has_the_windows_of_the_built_in_reno(rule: str, own: dict) -> None:
    mine = windows({"kind": EXAMPLE, "rule": rule}, "20Mbps", "20ms")
    built_in = windows({"kind": "reno", **own}, "20Mbps", "20ms")
    assert mine[2] == built_in[2] < 1.1
    np.testing.assert_allclose(mine[1], built_in[1], rtol=1e-9)


def test_the_train_of_linux_ends_slow_start_where_cubic_does() -> None:
    linux = {"congestion_form": "linux"}
    mine = windows({"kind": EXAMPLE, "rule": "train"}, "20Mbps", "20ms", **linux)
    cubic = windows({"kind": "cubic"}, "20Mbps", "20ms", **linux)
    assert mine[2] == cubic[2] < 0.25


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(tb.RunError, match='no rule of slow start "hystartpp"; give "hystart" or "train" or "search"'):
        windows({"kind": EXAMPLE, "rule": "hystartpp"}, "20Mbps", "20ms")
