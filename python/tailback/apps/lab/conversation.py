"""The requests of a page and their answers, independent of the transport of messages.

Messages of the page are JSON objects with `do`; answers are frames (crate `tailback-lab`) whose header has `do` too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tailback import _core
from tailback.apps.lab import tours
from tailback.apps.lab.figures import TYPES, figure
from tailback.apps.lab.frames import message as framed
from tailback.apps.lab.packets import Packets
from tailback.apps.lab.runs import LabOrder, Latest
from tailback.apps.lab.state import LabError, Mode, State, explicit
from tailback.core.scenario.read import load_scenario
from tailback.core.text.os_errors import os_message
from tailback.core.text.room import MemoryRefusal

#: Errors of the request, and not of the program.
REFUSALS = (_core.ScenarioError, LabError, MemoryRefusal, ValueError, RuntimeError)


class Conversation:
    """The conversation with one page. `send` is called with frames, in threads of this object."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send
        self._runs = Latest(send, lambda order, e: self._refuse(e, order.input))
        #: Whether no state has been requested yet.
        self._first = True
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="lab-beside")
        self._packets, self._stop = Packets(), _core.Stop()
        #: The thread for saving and for tours; the watched instant may change meanwhile.
        self._saves = _core.Stop()
        #: The thread for runs that are made before an instant is requested.
        self._ahead = _core.Stop()

    def take(self, text: str) -> None:
        """Takes a message of the page; its answer follows later."""
        try:
            message = json.loads(text)
            if not isinstance(message, Mapping):
                raise LabError("a message is a JSON object with `do`")
            self._take(message)
        except Exception as e:  # The page gets every error of a message.
            self._refuse(e)

    def close(self) -> None:
        """Ends the conversation when the page is closed."""
        self._runs.close()
        self._stop.set()
        self._ahead.set()
        self._saves.set()
        self._beside.shutdown(wait=False, cancel_futures=True)

    def _take(self, message: Mapping[str, Any]) -> None:
        do = message.get("do")
        if do in ("state", "watch"):
            self._ahead.set()
        if do == "state":
            mode: Mode = "coarse" if message.get("mode") == "coarse" else "full"
            columns = int(message.get("columns", 600))
            state = State.of(message.get("state"))
            self._runs.ask(LabOrder(int(message["input"]), state, mode, columns, first=self._first))
            self._first = False
            return
        if do == "packets":
            # The instant moves with the pointer, so an older request is dropped.
            self._stop.set()
            self._stop = _core.Stop()
        if do == "watch":
            self._ahead = _core.Stop()
            self._beside.submit(self._answer, self._watch, message, self._ahead)
            return
        work = {"packets": self._at, "copy": self._copy, "figure": self._figure, "read": self._read, "tour": self._tour}
        if do not in work:
            raise LabError(f"a page cannot do {do!r}; it can do state, watch, {', '.join(work)}")
        if do in ("figure", "tour"):
            self._saves.set()
            self._saves = _core.Stop()
        stop = self._stop if do == "packets" else self._saves
        self._beside.submit(self._answer, work[str(do)], message, stop)

    def _answer(self, work: Callable[..., bytes | None], message: Mapping[str, Any], stop: _core.Stop) -> None:
        try:
            frame = work(message, stop)
            if frame is not None:
                self.send(frame)
        except Exception as e:  # Every request ends with an answer.
            if not stop.is_set:
                self._refuse(e)

    def _refuse(self, e: Exception, input: int | None = None) -> None:
        match e:
            case KeyError() if e.args:
                text = f"{e.args[0]} is missing in the message"
            case OSError():
                text = os_message(e)
            case TypeError() | OverflowError() | RecursionError():
                text = f"the message is not one that a page sends: {e}"
            case MemoryError():
                text = "there is not enough memory for it"
            case Exception() if isinstance(e, REFUSALS):
                text = str(e)
            case _:
                text = f"the lab cannot do it ({type(e).__name__}: {e}); please report this state"
        self.send(framed({"do": "refused", "input": input, "text": text}))

    def _at(self, message: Mapping[str, Any], stop: _core.Stop) -> bytes | None:
        if stop.is_set:
            return None
        return self._packets.at(State.of(message.get("state")), int(message["side"]), float(message["at"]), stop)

    def _watch(self, message: Mapping[str, Any], stop: _core.Stop) -> None:
        state = State.of(message.get("state"))
        for side in (int(message["side"]), 1 - int(message["side"])):
            if not stop.is_set:
                self._packets.ahead(state, side, stop)

    def _copy(self, message: Mapping[str, Any], _: _core.Stop) -> bytes:
        return framed({"do": "copy", "kind": message.get("kind"), **State.of(message.get("state")).copies()})

    def _figure(self, message: Mapping[str, Any], stop: _core.Stop) -> bytes | None:
        quantity, file_kind = str(message.get("what")), str(message.get("kind"))
        image = figure(State.of(message.get("state")), quantity, file_kind, stop)
        if image is None:
            return None
        return framed(
            {"do": "figure", "name": f"{quantity}.{file_kind}", "type": TYPES[file_kind], "bytes": len(image)}, image
        )

    def _read(self, message: Mapping[str, Any], _: _core.Stop) -> bytes:
        """Makes a state from the text of a scenario. A wrong one is refused with the same message as a file."""
        scenario = load_scenario(str(message.get("text", "")) + "\n", name="what was pasted", code=False)
        return framed({"do": "read", "state": State(explicit(json.loads(scenario.json))).as_dict()})

    def _tour(self, message: Mapping[str, Any], stop: _core.Stop) -> bytes | None:
        try:
            return framed({"do": "tour", **tours.shown(tours.find(str(message.get("name"))), stop)})
        except KeyboardInterrupt:
            return None


def hello(state: State) -> dict[str, Any]:
    """The first message to a page."""
    return {"state": state.as_dict(), "tours": tours.listed(), "version": _core.__version__}
