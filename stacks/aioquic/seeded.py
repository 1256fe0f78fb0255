"""aioquic of the example, to which applications write, and which sends the same bytes for the same seed."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from aioquic import tls
from aioquic.quic import connection, packet
from cryptography.hazmat.primitives.asymmetric import ec, x448, x25519

from tailback.examples.aioquic_stack import Quic

#: All random numbers of both ends, and the keys of the exchange.
RANDOM = random.Random()
for module in (tls, connection, packet):
    module.os = SimpleNamespace(urandom=RANDOM.randbytes)  # type: ignore[attr-defined]
for key, size in ((x25519.X25519PrivateKey, 32), (x448.X448PrivateKey, 56)):
    key.generate = lambda key=key, size=size: key.from_private_bytes(RANDOM.randbytes(size))  # type: ignore
ec.generate_private_key = lambda curve: ec.derive_private_key(RANDOM.getrandbits(250), curve)  # type: ignore

#: Handed over to the stream at once; more follows as it leaves.
PART = 1 << 16


class Written(Quic):
    """One stream that the client opens; both ends write to it."""

    probes = {"cwnd": "bytes", "rtt": "s"}

    def __init__(self, pair: Any, *, control: str = "cubic") -> None:
        if pair.first:
            RANDOM.seed(pair.seed)
        super().__init__(pair, control=control)
        self.left, self.ends, self.ended = 0.0, False, False

    def write(self, amount: int | None, now: float) -> None:
        self.left += float("inf") if amount is None else amount

    def close(self, now: float) -> None:
        self.ends = True

    def transmit(self, now: float) -> bytes | None:
        if not self.sent and self.quic:
            if self.stream or (self.config.is_client and self.left):
                self.fill()
            self.sent = [data for data, _ in self.quic.datagrams_to_send(now)][::-1]
        return self.sent.pop() if self.sent else None

    def fill(self) -> None:
        while self.left and (self.stream is None or len(self.stream.sender._buffer) < PART):
            part = min(self.left, PART)
            self.left -= part
            self.quic.send_stream_data(0, bytes(int(part)))
        if self.ends and not self.left and not self.ended:
            self.quic.send_stream_data(0, b"", end_stream=True)
            self.ended = True

    @property
    def stream(self) -> Any:
        return self.quic and self.quic._streams.get(0)

    @property
    def connected(self) -> bool:
        return self.quic is not None and self.quic._handshake_complete

    @property
    def acknowledged(self) -> int:
        return self.stream.sender._buffer_start if self.stream else 0

    @property
    def closed_by_peer(self) -> bool:
        return self.stream is not None and self.stream.receiver.is_finished

    @property
    def cwnd(self) -> float:
        return self.quic._loss._cc.congestion_window if self.quic else float("nan")

    @property
    def rtt(self) -> float:
        return self.quic._loss._rtt_smoothed if self.quic else float("nan")
