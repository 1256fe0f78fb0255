"""Shows single packets: reruns to an instant, and gives the queue's contents and a log of its decisions."""

from __future__ import annotations

from tailback import _core
from tailback.apps.lab.state import State
from tailback.core.text.room import MemoryRefusal, room
from tailback.runs.campaign import memory


class Packets:
    """Answers requests for instants of the runs of a state, and keeps the last rerun."""

    def __init__(self) -> None:
        self._kept = _core.LabPackets()

    def ahead(self, state: State, side: int, stop: _core.Stop) -> None:
        """Prepares every instant of a run before one is requested, if the run is not too long."""
        if side == 1 and state.beside is None:
            return
        question = _core.LabQuestion.about_all(state.core, side)
        if question is not None:
            self._run(question, stop)

    def at(self, state: State, side: int, instant: float, stop: _core.Stop) -> bytes | None:
        """The frame with the contents and decisions of one run's queue at an instant; None if it was stopped."""
        question = _core.LabQuestion.about(state.core, side, instant)
        return self._kept.answer(question) if self._run(question, stop) else None

    def _run(self, question: _core.LabQuestion, stop: _core.Stop) -> bool:
        if self._kept.has(question):
            return True
        refusal = memory.too_much([(question.memory, 1)], 1, False, room())
        if refusal is not None:
            raise MemoryRefusal(refusal)
        return self._kept.run(question, stop)
