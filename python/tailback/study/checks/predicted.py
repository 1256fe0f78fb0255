"""A check of the prediction of a closed-form model (`tailback.core.theory`), without any run.

check = [{ predict = "qsdrr", with = { flows = 100, buffer = 4000 }, field = "victims", value = 14, within = 0 }]
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tailback.core.theory.predict import Qsdrr, TailDrop, qsdrr, tail_drop
from tailback.core.verdict import ARITHMETIC, NO, YES, Finding
from tailback.study.checks.base import Check, Evidence

#: The fields of the models, with words and units.
_FIELDS = {
    "queue_drop": ("the queue falls by", "packets"),
    "queue_after": ("queue after the overflow", "packets"),
    "cycle_s": ("cycle", "s"),
    "victims": ("flows hit", ""),
    "window_empty": ("window, empty queue", "packets"),
    "window_full": ("window, full queue", "packets"),
    "rtt_full_s": ("round trip, full queue", "s"),
}


class Predicted(Check, kw_only=True, frozen=True):
    predict: Literal["tail_drop", "qsdrr"]
    with_: dict[str, float] = msgspec.field(name="with")
    field: str
    value: float | None = None
    within: float = 0.0
    above: float | None = None
    below: float | None = None

    def kind(self, judge: Evidence) -> str:
        return ARITHMETIC

    def decide(self, judge: Evidence) -> list[Finding]:
        prediction = float(getattr(self._model(), self.field))
        name, unit = _FIELDS.get(self.field, (self.field, ""))
        text = f"{name} {prediction:.4g} {unit}".rstrip()
        if self.value is not None:
            lower, upper = self.value - self.within, self.value + self.within
            requirement = f"{self.value:g}" + (f" within {self.within:g}" if self.within else "") + f" {unit}".rstrip()
        else:
            lower = -math.inf if self.above is None else self.above
            upper = math.inf if self.below is None else self.below
            requirement = f"above {lower:g}" if self.above is not None else f"below {upper:g}"
        margin = min(prediction - lower, upper - prediction)
        return [Finding("model", "", text, requirement, YES if margin >= 0 else NO, prediction, margin=margin)]

    def _model(self) -> TailDrop | Qsdrr:
        w = self.with_
        flows, buffer = int(w["flows"]), w["buffer"]
        if self.predict == "qsdrr":
            return qsdrr(flows, int(buffer))
        packets_per_s = w["rate_bps"] / 8 / w["packet_bytes"]
        return tail_drop(flows, packets_per_s, w["rtt_s"], buffer, w.get("hit_share", 0.7))
