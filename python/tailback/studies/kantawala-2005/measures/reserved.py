"""Measures of reserved flows: delays, and the time until a flow has its reserved rate.

Delays in gaps are divided by `gap_ms` of the set's options, which is the time between two packets of the flow.
Convergence times are those of the settling meter (`tailback describe settling`), one for each interval. An interval
that ends outside of the band counts with its whole length.
"""

from __future__ import annotations

import numpy as np

from tailback.study.measures import RunView, measure


def _delay_ms(run: RunView, klass: str, column: str) -> float:
    return 1e3 * float(np.mean(run.flows[column][run.of(klass)]))


def _gap_ms(run: RunView) -> float:
    return float(run.options.get("gap_ms", "nan"))


@measure("delay_mean", "Mean delay", "ms", "arrival at the queue to end of transmission, mean over the class", digits=3)
def delay_mean(run: RunView, klass: str) -> float:
    return _delay_ms(run, klass, "delay_mean_s")


@measure("delay_max", "Maximum delay", "ms", "of a flow, mean over the flows of the class", digits=3)
def delay_max(run: RunView, klass: str) -> float:
    return _delay_ms(run, klass, "delay_max_s")


@measure("delay_mean_gaps", "Mean delay, packet gaps", "gaps", "mean delay over the flow's own gap", digits=3)
def delay_mean_gaps(run: RunView, klass: str) -> float:
    return _delay_ms(run, klass, "delay_mean_s") / _gap_ms(run)


@measure("delay_max_gaps", "Maximum delay, packet gaps", "gaps", "maximum delay over the flow's own gap", digits=3)
def delay_max_gaps(run: RunView, klass: str) -> float:
    return _delay_ms(run, klass, "delay_max_s") / _gap_ms(run)


@measure("delay_max_over_mean", "Maximum over mean delay", "1", "of the class", digits=2)
def delay_max_over_mean(run: RunView, klass: str) -> float:
    return _delay_ms(run, klass, "delay_max_s") / _delay_ms(run, klass, "delay_mean_s")


def settled(run: RunView, klass: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    """For each interval: the time until the last flow of the class had settled, and the length of the interval (s)."""
    t = run.intervals
    is_kept = np.isfinite(t[column]) & ((t["group"] == klass) | (klass == "all"))
    starts, index = np.unique(t["from_s"][is_kept], return_inverse=True)
    last_s, length = np.zeros(len(starts)), np.zeros(len(starts))
    np.maximum.at(last_s, index, t[column][is_kept])
    np.maximum.at(length, index, (t["to_s"] - t["from_s"])[is_kept])
    return last_s, length


def _mean_settled(run: RunView, klass: str, column: str) -> float:
    settled_s, _ = settled(run, klass, column)
    return float(np.mean(settled_s)) if len(settled_s) else float("nan")


_VARIANTS = {
    "": ("settled_s", "every delivery counted"),
    "_without_first": ("settled_without_first_s", "the first delivery not counted"),
    "_sliding": ("settled_sliding_s", "over a sliding window"),
}

for _suffix, (_column, _how) in _VARIANTS.items():
    _title = "Convergence time" + (f", {_how}" if _suffix else "")

    def _seconds(run: RunView, klass: str, column: str = _column) -> float:
        return _mean_settled(run, klass, column)

    def _gaps(run: RunView, klass: str, column: str = _column) -> float:
        return 1e3 * _mean_settled(run, klass, column) / _gap_ms(run)

    _doc = f"until all flows of the class stay within the band, {_how}; mean over the intervals"
    measure(f"settled{_suffix}", _title, "s", _doc, digits=3)(_seconds)
    measure(f"settled{_suffix}_gaps", f"{_title}, packet gaps", "gaps", _doc, digits=2)(_gaps)


@measure(
    "settled_from_start_gaps",
    "Convergence time from the first packet, packet gaps",
    "gaps",
    "of the first interval, the first delivery not counted",
    digits=2,
)
def settled_from_start_gaps(run: RunView, klass: str) -> float:
    settled_s, _ = settled(run, klass, "settled_without_first_s")
    return 1e3 * float(settled_s[0]) / _gap_ms(run) if len(settled_s) else float("nan")


@measure("unsettled", "Intervals that end outside the band", "1", "every delivery counted", digits=0)
def unsettled(run: RunView, klass: str) -> float:
    settled_s, length = settled(run, klass, "settled_s")
    return float(np.sum(settled_s >= length - 1e-9))


@measure("unsettled_without_first", "The same, first delivery not counted", "1", "of all intervals", digits=0)
def unsettled_without_first(run: RunView, klass: str) -> float:
    settled_s, length = settled(run, klass, "settled_without_first_s")
    # The clock starts with the first delivery, less than a tenth of a second after the beginning of the interval.
    return float(np.sum(settled_s >= length - 0.1))
