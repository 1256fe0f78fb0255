"""`queue-against-time`: a recorded queue, and the model of section 3.1 over a stretch of it."""

from __future__ import annotations

import math

from tailback import plots, predict
from tailback.figures import Drawing, figure
from tailback.measures.series import overflows


def model_of(w: dict, buffer: float) -> predict.TailDrop:
    """The model that an output's `model` table describes."""
    from tailback import _core

    c = _core.parse_rate(w["rate"]) / 8 / _core.parse_bytes(w["packet"])
    return predict.tail_drop(w["flows"], c, _core.parse_time(w["rtt"]), buffer, w["hit_share"])


@figure("queue-against-time")
def queue_against_time(d: Drawing):
    for runs, p in d.points():
        view = d.view(runs, p)
        if view is None:
            continue
        t, q = view.probe("queue")
        full = view.buffer
        w = d.output["model"]
        model = model_of(w, full)
        at = overflows(q, full)
        if len(at) == 0:
            return plots.queue_against_time(t, q, full)
        # The third overflow: the first two belong to the start.
        origin = float(t[at[min(2, len(at) - 1)]])
        end = min(float(t[-1]), origin + max(4 * model.cycle_s, 5.0))
        cycles = math.ceil((end - origin) / max(model.level()[0][-1], 1e-9))
        times, levels = model.level(cycles)
        start = max(0.0, origin - 0.15 * (end - origin))
        label = f"model, {100 * w['hit_share']:g} % of flows hit"
        return plots.queue_against_time(t, q, full, ([origin + x for x in times], levels), (start, end), label)
    return None
