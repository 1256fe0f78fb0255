"""A learnt policy as a congestion control of a scenario. The policy gets the same observations as in its environment,
and its actions have the same effect.

    tcp = {"congestion": tb.congestion(TrainedPolicy, file="policy.json")}

The policy acts at the first ACK after each interval, because a connection has no other clock than its ACKs. The
environment acts at the end of the interval. This module does not need Gymnasium.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.text.arguments import checked
from tailback.core.text.os_errors import os_message
from tailback.core.text.plain import file_bytes
from tailback.core.text.whole import write_text

#: The largest window, segments; as in the environment.
MOST_SEGMENTS = 1e5
#: The time in which the first pacing rate sends an initial window, and the range of pacing rates in bytes a second, as
#: in the environment.
FIRST_ROUND_S = 0.1
RATES = (100.0, 1.25e11)
#: The actions of a policy.
ACTIONS = ("window", "rate")


@checked
def save(file: str | Path, layers: Sequence[tuple[Any, Any]], interval_s: float, *, action: str = "window") -> None:
    """Writes a policy. Each layer has weights (a row for each output) and biases, followed by tanh. `action` is that of
    its environment."""
    if action not in ACTIONS:
        raise ValueError(f"a policy acts on {' or '.join(ACTIONS)}, not on {action!r}")
    rows = [{"weights": [list(map(float, row)) for row in w], "biases": list(map(float, b))} for w, b in layers]
    write_text(Path(file), json.dumps({"interval_s": interval_s, "action": action, "layers": rows}, indent=1) + "\n")


@checked
def load(file: str) -> dict[str, Any]:
    """Reads a policy that `save` has written. Raises ValueError."""
    try:
        # A run reads it in another thread, in which Ctrl-C could not interrupt the wait for a pipe.
        text = file_bytes(Path(file)).decode("utf-8")
    except OSError as e:
        raise ValueError(os_message(e)) from None
    except UnicodeDecodeError:
        text = ""
    return _read(text, file)


@lru_cache(8)
def _read(text: str, file: str) -> dict[str, Any]:
    try:
        policy: dict[str, Any] = json.loads(text)
        if policy.get("action", ACTIONS[0]) not in ACTIONS:
            raise ValueError
        if float(policy["interval_s"]) >= 0 and all(layer["weights"] and layer["biases"] for layer in policy["layers"]):
            return policy
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{file} is no policy; write one by tailback.gym.policy.save")


@checked
def act(layers: Sequence[dict[str, Any]], seen: Sequence[float]) -> list[float]:
    """The action of a policy."""
    activations = list(seen)
    for layer in layers:
        pairs = zip(layer["weights"], layer["biases"], strict=True)
        activations = [math.tanh(sum(w * x for w, x in zip(row, activations, strict=True)) + b) for row, b in pairs]
    return activations


class TrainedPolicy:
    """The policy of a file that `tailback.gym.policy.save` has written."""

    #: Results name a control by its module.
    __module__ = "tailback.gym.policy"

    probes = {"action": "1"}
    #: The observations count deliveries.
    wants_rate = True
    #: The parameter that names a file. The contents of this file decide a run, as the code does.
    file_parameters = ("file",)

    def __init__(self, rules: _core.ControlRules, *, file: str) -> None:
        policy = load(file)
        self.layers, self.interval = policy["layers"], policy["interval_s"]
        self.segment = rules.segment
        self.cwnd = rules.initial_window
        self.features = _core.PathFeatures(rules.segment)
        self.acted = 0.0
        self.action = 0.0
        self.pace = self.cwnd / FIRST_ROUND_S if policy.get("action") == "rate" else None
        if self.pace is not None:
            self.cwnd = MOST_SEGMENTS * self.segment

    @property
    def pacing_rate(self) -> float | None:
        return None if self.pace is None else 8.0 * self.pace

    def sending_begins(self, now: float, srtt: float | None) -> None:
        self.acted = now

    def on_ack(self, ack: _core.ControlAck) -> None:
        self.features.add(ack)
        elapsed_s = ack.now - self.acted
        if elapsed_s >= self.interval:
            window = self.cwnd if self.pace is None else self.pace * self.features.round_trip(FIRST_ROUND_S)
            self.action = act(self.layers, self.features.take(elapsed_s, window))[0]
            if self.pace is None:
                self.cwnd = min(max(self.cwnd * 2**self.action, self.segment), MOST_SEGMENTS * self.segment)
            else:
                self.pace = min(max(self.pace * 2**self.action, RATES[0]), RATES[1])
            self.acted = ack.now

    def on_congestion(self, sign: _core.ControlSign) -> None:
        if sign.what in ("timeout", "lost-syn"):
            if self.pace is None:
                self.cwnd = self.segment
            else:
                self.pace = max(self.segment / self.features.round_trip(1.0), RATES[0])

    def window_reset(self, reset: _core.ControlReset) -> None: ...

    def undo(self) -> None: ...
