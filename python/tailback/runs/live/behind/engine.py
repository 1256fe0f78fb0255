"""The process of the box: it forwards between both devices in real time until it gets the message to stop, and answers
with the results. This process is a child of the command, and no signal of the terminal reaches it. The line therefore
continues while the program is stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.runs.live.agent import Channel
from tailback.runs.live.behind.line import LONGEST

#: The time before a packet is due during which the box polls instead of sleeping, s.
WATCH = 60e-6
#: The interval of messages with the state, s.
_TELL_EVERY = 0.1


class EngineError(RuntimeError):
    """The box has failed. The text has the reason."""


@dataclass
class WhatPassed:
    """The results of the box."""

    quality: dict[str, Any]
    results: Any
    #: For each flow: its first conversation, and the number of its conversations.
    had: dict[str, tuple[list[Any], int]]
    captured: int


class Engine:
    """The running box."""

    def __init__(self, box: Any, devices: tuple[int, int], real_time: bool, finished: Any) -> None:
        """`finished` is the function that the process of the box applies to its results; it returns a document."""
        our_end, their_end = socket.socketpair()
        states, tells = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel, self.states = Channel(our_end), states
        self.state: dict[str, Any] = {}
        own_pid = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                our_end.close()
                states.close()
                _serve(own_pid, box, devices, real_time, finished, Channel(their_end), tells)
            finally:
                os._exit(1)
        their_end.close()
        tells.close()
        for device in devices:
            os.close(device)

    def begin(self) -> None:
        """Starts forwarding and the clock."""
        with contextlib.suppress(OSError):
            self.channel.send({"begin": True})

    def poll(self) -> dict[str, Any]:
        """The latest state. Raises EngineError if the box has ended."""
        while select.select([self.states], [], [], 0)[0]:
            message = self.states.recv(4096)
            if not message:
                raise EngineError(self._why())
            self.state = json.loads(message)
        return self.state

    def _why(self) -> str:
        with contextlib.suppress(EOFError, OSError):
            end_text = f"its clock ends after {LONGEST // 86_400} days"
            return str(self.channel.receive()[0].get("error", end_text))
        return "its process was killed"

    def stop(self) -> dict[str, Any]:
        """End the line, and return the answer of its process."""
        try:
            self.channel.end.shutdown(socket.SHUT_WR)
            answer, _ = self.channel.receive()
        except (EOFError, OSError):
            raise EngineError("its process was killed") from None
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self.channel.end.close()
        self.states.close()


def _serve(
    parent: int, box: Any, devices: tuple[int, int], real_time: bool, finished: Any, channel: Channel, tells: Any
) -> None:
    _core.end_with_parent()
    if os.getppid() != parent:
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    tells.setblocking(False)
    told, busiest = 0.0, _Busiest()

    def go_on(state: dict[str, Any]) -> bool:
        nonlocal told
        busiest.see(state)
        now_s = time.monotonic()
        if now_s - told >= _TELL_EVERY:
            told = now_s
            with contextlib.suppress(BlockingIOError):
                tells.send(json.dumps(_finite(state)).encode())
        return not select.select([channel.end], [], [], 0)[0]

    channel.receive()
    try:
        state = box.run(*devices, time.monotonic_ns(), float(LONGEST), WATCH, real_time, go_on)
    except OSError as e:
        channel.send({"error": str(e)})
        return
    conversations = {name: (list(first), n) for name, first, n in box.had()}
    run = box.finish(state["time_s"])
    answer = WhatPassed(
        {**state, **busiest.rates()}, _core.live_results([run], state["time_s"]), conversations, run.captured
    )
    try:
        channel.send(finished(answer))
    except (OSError, ValueError, RuntimeError) as e:
        channel.send({"error": f"what passed cannot be stored: {e}"})


def _finite(state: dict[str, Any]) -> dict[str, Any]:
    return {k: None if v != v else v for k, v in state.items()}


class _Busiest:
    """The highest rate that came out on each side over about a second."""

    def __init__(self) -> None:
        self.since: tuple[float, int, int] = (0.0, 0, 0)
        self.most = [0.0, 0.0]

    def see(self, state: dict[str, Any]) -> None:
        now_s, *sides = (state["time_s"], state["near_bytes"], state["far_bytes"])
        begin, *bytes_before = self.since
        if now_s - begin < 1:
            return
        for i, (a, b) in enumerate(zip(bytes_before, sides, strict=True)):
            self.most[i] = max(self.most[i], (b - a) * 8 / (now_s - begin))
        self.since = (now_s, state["near_bytes"], state["far_bytes"])

    def rates(self) -> dict[str, float]:
        return {"near_busiest_bps": self.most[0], "far_busiest_bps": self.most[1]}
