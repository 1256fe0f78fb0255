"""Measures from the model of the set's link, for comparison: numbers of `tailback.theory.predict` for the run's buffer.

The `options` of the set of runs are rate, rtt, packet and hit_share, and also flows unless flows is an axis.
"""

from __future__ import annotations

from tailback.study.measures import RunView, measure
from tailback.theory import predict


def tail_drop(run: RunView) -> predict.TailDrop:
    from tailback import _core

    o = run.options
    c = _core.parse_rate(o["rate"]) / 8 / _core.parse_bytes(o["packet"])
    flows = int(run.labels.get("flows", o.get("flows", 0)))
    return predict.tail_drop(flows, c, _core.parse_time(o["rtt"]), run.buffer, o["hit_share"])


def qsdrr(run: RunView) -> predict.Qsdrr:
    return predict.qsdrr(int(run.labels.get("flows", run.options.get("flows", 0))), int(run.buffer))


@measure("model_queue_drop", "Fall of the queue, model", "packets", "predict tail-drop")
def model_queue_drop(run: RunView, klass: str) -> float:
    return tail_drop(run).queue_drop


@measure("model_cycle", "Cycle, model", "s", "predict tail-drop")
def model_cycle(run: RunView, klass: str) -> float:
    return tail_drop(run).cycle_s


@measure("model_victims", "Flows hit, model", "flows", "predict qsdrr", digits=0)
def model_victims(run: RunView, klass: str) -> float:
    return float(qsdrr(run).victims)


@measure(
    "cycle_scaled", "Cycle over full round trip and window", "1", "cycle / (round trip with a full buffer x window)"
)
def cycle_scaled(run: RunView, klass: str) -> float:
    from .series import cycle

    model = tail_drop(run)
    return cycle(run, klass) / (model.rtt_full_s * model.window_full)
