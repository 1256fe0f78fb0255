"""Compares a recording of a live run with the simulator."""

from __future__ import annotations

from typing import Any

from tailback import _core

_WORDS = {"mark": "marks", "drop": "drops", "exit": "departures"}


class ReplayError(RuntimeError):
    """The simulator decides differently. The text names the place."""


def compare(scenario: Any, recording: str) -> str:
    """A text that all decisions are the same, with their numbers. Raises ReplayError if they are not."""
    replay_recording = _core.live_replay(scenario, scenario.seed, recording, scenario.duration_s)
    counts = []
    for word, noun in _WORDS.items():
        live_lines, simulated_lines = _lines(recording, word), _lines(replay_recording, word)
        for i, (a, b) in enumerate(zip(live_lines, simulated_lines, strict=False)):
            if a != b:
                raise ReplayError(f"number {i + 1} of the {noun} differs: live {a!r}, simulated {b!r}")
        if len(live_lines) != len(simulated_lines):
            raise ReplayError(f"{len(live_lines)} {noun} live, {len(simulated_lines)} simulated")
        counts.append(f"{len(live_lines)} {noun}")
    return f"{len(_lines(recording, 'arrival'))} arrivals: the same {', '.join(counts)}, in the same order"


def _lines(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(word + " ")]
