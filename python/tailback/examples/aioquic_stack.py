"""aioquic as a flow: both ends of a QUIC connection with TLS, bulk data from the first to the second.

pip install aioquic, and `transport = "aioquic_stack.py:Quic"` for a group of flows.
"""

from datetime import datetime

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY, NAME = Ed25519PrivateKey.from_private_bytes(bytes(32)), x509.Name([])
YEARS = datetime(2020, 1, 1), datetime(2120, 1, 1)
CERTIFICATE = x509.CertificateBuilder(NAME, NAME, KEY.public_key(), 1, *YEARS).sign(KEY, None)
PEER = ("10.0.0.1", 443)


class Quic:
    def __init__(self, pair, *, control: str = "reno"):
        self.config = QuicConfiguration(is_client=pair.first, congestion_control_algorithm=control, verify_mode=0)
        self.config.certificate, self.config.private_key = CERTIFICATE, KEY
        self.quic, self.sent, self.delivered = None, [], 0

    def start(self, now):
        if self.config.is_client:
            self.quic = QuicConnection(configuration=self.config)
            self.quic.connect(PEER, now)

    def receive(self, data, ecn, now):
        if self.quic is None:
            first = pull_quic_header(Buffer(data=data), host_cid_length=8).destination_cid
            self.quic = QuicConnection(configuration=self.config, original_destination_connection_id=first)
        self.quic.receive_datagram(data, PEER, now)
        events = iter(self.quic.next_event, None)
        self.delivered += sum(len(e.data) for e in events if isinstance(e, StreamDataReceived))

    def transmit(self, now):
        if not self.sent and self.quic:
            stream = self.quic._streams.get(0)
            if self.config.is_client and (stream is None or len(stream.sender._buffer) < 1 << 18):
                self.quic.send_stream_data(0, bytes(1 << 18))
            self.sent = [data for data, _ in self.quic.datagrams_to_send(now)][::-1]
        return self.sent.pop() if self.sent else None

    @property
    def timeout(self):
        return self.quic and self.quic.get_timer()

    def on_timeout(self, now):
        self.quic.handle_timer(now)
