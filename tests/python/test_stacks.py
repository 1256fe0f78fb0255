"""Transports written in Python: both ends of flows and of sessions, parameters, recordings, plans, messages."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback import _core
from tailback.apps.ask.link.link import link
from tailback.apps.ask.link.traffic import Times, scenario


class Stream:
    """Sends what is written in datagrams of 1000 bytes, eight outstanding, each acknowledged; repeats after 0.2 s."""

    probes = {"outstanding_now": "packets"}

    def __init__(self, pair: Any, *, window: int = 8, ecn: bool = False) -> None:
        self.pair, self.window, self.codepoint = pair, window, 2 if ecn else 0
        self.written = self.next = self.acknowledged = self.delivered = self.marks = 0
        self.outstanding: dict[int, tuple[int, float]] = {}
        self.arrived: dict[int, int] = {}
        self.acked: dict[int, int] = {}
        self.answers: list[int] = []
        self.ends = self.closed_by_peer = False

    def write(self, amount: int | None, now: float) -> None:
        self.written = 1 << 62 if amount is None else self.written + amount

    def close(self, now: float) -> None:
        self.ends = True

    def receive(self, data: bytes, ecn: int, now: float) -> None:
        assert type(data) is bytes and type(ecn) is int and type(now) is float
        self.marks += ecn == 3
        begin = int.from_bytes(data[1:9])
        if data[0] == 0:
            self.answers.append(begin)
            self.arrived[begin] = len(data) - 9
            while self.delivered in self.arrived:
                self.delivered += self.arrived[self.delivered]
        elif begin in self.outstanding:
            self.acked[begin] = self.outstanding.pop(begin)[0]
            while self.acknowledged in self.acked:
                self.acknowledged += self.acked[self.acknowledged]

    def transmit(self, now: float) -> Any:
        if self.answers:
            return b"\1" + self.answers.pop().to_bytes(8)
        late = [b for b, (_, at) in self.outstanding.items() if at + 0.2 <= now]
        if late:
            begin, size = late[0], self.outstanding[late[0]][0]
        elif self.next < self.written and len(self.outstanding) < self.window:
            begin, size = self.next, min(1000, self.written - self.next)
            self.next += size
        else:
            return None
        self.outstanding[begin] = size, now
        return b"\0" + begin.to_bytes(8) + bytes(size), self.codepoint

    @property
    def timeout(self) -> float | None:
        return min((at + 0.2 for _, at in self.outstanding.values()), default=None)

    def on_timeout(self, now: float) -> None:
        assert self.timeout is not None and now >= self.timeout

    @property
    def outstanding_now(self) -> int:
        return len(self.outstanding)

    @property
    def closed(self) -> bool:
        return self.acknowledged == self.written


def network(**group: Any) -> Any:
    return tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": {"transport": tb.stack(Stream), **group}})


def test_a_stack_carries_what_a_source_writes() -> None:
    result = network(traffic={"kind": "transfer", "size": "100kB"}).run(duration="5s")
    row = {name: result.flows[name][0] for name in ("goodput_bps", "sent_packets", "reverse_sent_packets")}
    assert row == {"goodput_bps": 160_000.0, "sent_packets": 100, "reverse_sent_packets": 100}


def test_parameters_marks_and_recordings() -> None:
    group = {"transport": tb.stack(Stream, window=40, ecn=True)}
    net = tb.dumbbell(bottleneck="5Mbps", rtt="20ms", queue=tb.queue("codel"), flows={"mine": group})
    net.record("window", flows="mine", probes=["outstanding_now"], every="100ms")
    result = net.run(duration="3s")
    assert result.flows["marked_packets"][0] > 0 and result.flows["dropped_packets"][0] == 0
    values = result.series["value"]
    assert len(values) == 31 and max(values) == 40


def test_a_capture_has_the_bytes_of_a_stack(tmp_path: Path) -> None:
    class Greeting(Stream):
        def transmit(self, now: float) -> Any:
            given = super().transmit(now)
            return (b"good morning" * 20, 0) if given and self.pair.first else given

    net = network(transport=tb.stack(Greeting), traffic={"kind": "transfer", "size": "4kB"})
    path = tmp_path / "line.pcapng"
    packets = _core.capture(tb.load_scenario({**net.to_dict(), "duration": "1s"}), "bottleneck", path)
    assert packets >= 4 and path.read_bytes().count(b"good morning" * 20) >= 4


def test_losses_and_copies_reach_a_stack() -> None:
    net = tb.dumbbell(
        bottleneck="10Mbps",
        rtt="40ms",
        impair=[{"kind": "duplicate", "probability": 0.3}, {"kind": "random", "probability": 0.1}],
        flows={"mine": {"transport": tb.stack(Stream), "traffic": {"kind": "transfer", "size": "60kB"}}},
    )
    result = net.run(duration="20s")
    assert result.flows["goodput_bps"][0] == 60_000 * 8 / 20
    assert result.flows["sent_packets"][0] > 60


def test_pages_over_a_stack_and_the_same_bytes_with_two_jobs() -> None:
    net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={})
    pages = {"kind": "web", "clients": 2, "think": {"kind": "constant", "mean": "300ms"}}
    net.sessions("pages", **pages, transport=tb.stack(Stream))
    one, two = (net.run(duration="4s", replications=2, jobs=jobs) for jobs in (1, 2))
    assert len(one.pages["objects"]) > 4
    # As text: the pages that are not done have no time, which equals nothing.
    written = [str([list(r.pages["done_s"]), list(r.groups["goodput_bps_sum"])]) for r in (one, two)]
    assert written[0] == written[1]


def test_a_file_names_a_class(tmp_path: Path) -> None:
    text = Path(__file__).read_text().partition("def network")[0].partition("class Stream")[2]
    (tmp_path / "mine.py").write_text(f"from typing import Any\n\n\nclass Stream{text}")
    (tmp_path / "lab.toml").write_text(
        'duration = "2s"\n[topology]\nkind = "dumbbell"\nrate = "10Mbps"\ndelay = "20ms"\nqueue = "codel"\n'
        '[flows.mine]\ntransport = { kind = "mine.py:Stream", window = 4 }\n'
    )
    command = [sys.executable, "-m", "tailback", "run", "lab.toml", "--out", "stored"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "mine" in done.stdout
    (tmp_path / "mine.py").unlink()
    # What is stored is read without the class.
    result = tb.read_results(tmp_path / "stored")
    assert result.flows["goodput_bps"][0] > 500_000


def test_a_connection_is_kept_until_all_has_arrived() -> None:
    """A server that closes with its answer, over a stack that does not say when it is done."""

    def pages(stack: type) -> list[float]:
        net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={})
        net.sessions("pages", kind="web", connection="new", transport=tb.stack(stack))
        return list(net.run(duration="10s").transfers["done_s"])

    done = pages(Stream)
    assert pages(type("NeverSays", (Stream,), {"closed": None})) == done and len(done) > 1


def test_a_server_of_sessions_may_speak_first() -> None:
    began: list[tuple[bool, float]] = []

    class Banner(Stream):
        speaks_first = True

        def start(self, now: float) -> None:
            began.append((self.pair.first, now))

    net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={})
    net.sessions(
        "ask", kind="requests", response={"kind": "constant", "mean": "1000B"}, requests=1, transport=tb.stack(Banner)
    )
    net.run(duration="2s")
    assert began == [(True, 0.0), (False, 0.0)]


def test_an_end_that_never_begins_is_not_closed() -> None:
    """A person stops before the first key; without that it begins, and is closed."""
    calls: list[str] = []

    class Logged(Stream):
        def start(self, now: float) -> None:
            calls.append("start")

        def close(self, now: float) -> None:
            calls.append("close")

    for stop, heard in (("1.001s", []), ("20s", ["start", "start", "close"])):
        mine = {"transport": tb.stack(Logged), "traffic": "telnet", "start": "1s", "stop": stop}
        tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": mine}).run(duration="30s")
        assert calls == heard


def test_slowdowns_of_a_stack() -> None:
    """Three links of 10 Mb/s, each stores a datagram: 167 of 1228 B and two more, and 15 ms."""
    net = tb.network()
    for name, ends in {"one": "ab", "two": "bc", "three": "cd"}.items():
        net.link(name, *ends, rate="10Mbps", delay="5ms", queue="droptail")
    sizes = {"kind": "constant", "mean": "200kB"}
    net.workload("moves", hosts=["a", "d"], load=0.01, sizes=sizes, transport=tb.stack(Stream, window=45))
    result = net.run(duration="60s")
    took = np.array(result.transfers["done_s"]) - result.transfers["asked_s"]
    # The last datagram has 800 B of data.
    ideal = (166 * 1228 + 828 + 2 * 1228) * 8 / 1e7 + 0.015
    row = {name: result.slowdowns[name][0] for name in ("slowdown_ideal_mean", "slowdown_alone_mean")}
    assert row == pytest.approx({"slowdown_ideal_mean": np.mean(took) / ideal, "slowdown_alone_mean": 1.0}, rel=1e-6)


def test_a_transport_may_have_methods_of_a_control() -> None:
    class Counting(Stream):
        def on_ack(self, number: int) -> None: ...

    result = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": {"transport": Counting}}).run(duration="1s")
    assert result.flows["goodput_bps"][0] > 1e6


def test_a_stack_is_a_sender_of_a_comparison() -> None:
    how: dict[str, Any] = {"rate": "10Mbps", "flows": 2, "senders": ["cubic", tb.stack(Stream, window=20)]}
    answer = tb.compare_queues(
        **how,
        rtt="40ms",
        traffic=["bulk", "web"],
        queues=["droptail", "codel"],
        replications=2,
        duration="6s",
    )
    told = answer.to_dict()
    assert told["link"]["senders"] == ["cubic", "Stream"]
    assert "Stream: long transfers only; what else is asked for is carried by cubic." in str(told)
    alone = link("10Mbps", "40ms", 2, senders=[Stream], traffic=["web", "bulk"])
    made = scenario(alone, {"kind": "codel"}, Times(1, 2, ""), False, {})
    assert made["flows"]["Stream"]["transport"]["kind"].endswith("Stream")
    assert made["sessions"]["web"]["tcp"]["congestion"] == "cubic"
    with pytest.raises(ValueError, match="a fabric has flows of TCP; name a congestion control"):
        tb.compare_queues(rate="10Gbps", fabric="leaf-spine", senders=[Stream])


def test_a_stack_in_rust_is_not_for_python() -> None:
    with pytest.raises(tb.ScenarioError, match="the transport is a stack from outside"):
        tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": {"transport": "stack"}}).run(duration="1s")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"transmit": None}, "is not a stack: it has no method transmit; give it `def transmit(self, now)`"),
        ({"receive": lambda self, data: None}, "cannot be called with 3 arguments"),
        ({"transmit": lambda self, now: "text"}, "transmit gives str (0 s into the run); give bytes, a pair of bytes"),
        ({"transmit": lambda self, now: (b"x", 7)}, "transmit gives tuple"),
        ({"transmit": lambda self, now: bytes(70_000)}, "a datagram of 70028 B (0 s into the run); give 1 to 65535 B"),
        ({"transmit": lambda self, now: 1 / 0}, "transmit failed (0 s into the run): ZeroDivisionError"),
        ({"delivered": property(lambda self: "much", lambda self, value: None)}, "delivered = 'much'"),
        (
            {"timeout": 0.0, "on_timeout": lambda self, now: None, "write": lambda self, amount, now: None},
            "stands still (0 s into the run)",
        ),
        ({"transmit": lambda self, now: b"x"}, "sends 262144 datagrams at once (0 s into the run)"),
        (
            {"connected": property(lambda self: self.nothing)},
            "connected failed (0.0208296 s into the run): AttributeErr",
        ),
        (
            {"receive": lambda self, *given: setattr(self, "delivered", 9 - self.delivered)},
            "has delivered 0 B, after 9 B",
        ),
        ({"header": "no"}, "has header = 'no'"),
        ({"__init__": lambda self: None}, "takes no argument for the connection that it is an end of"),
        ({"probes": 5}, "probes is int"),
    ],
)
def test_a_wrong_class_gets_one_message(change: dict[str, Any], said: str) -> None:
    wrong = type("Wrong", (Stream,), change)
    with pytest.raises((tb.ScenarioError, tb.RunError)) as e:
        tb.dumbbell(bottleneck="10Mbps", rtt="40ms", flows={"mine": {"transport": tb.stack(wrong)}}).run(duration="1s")
    text = " ".join(str(e.value).replace("\n  = help:", ";").split())
    assert said in text, text


def test_an_object_is_not_a_class() -> None:
    with pytest.raises(tb.ScenarioError, match="a stack is a class of your own or a name, not Stream"):
        tb.stack(Stream(None))  # type: ignore[arg-type]
    with pytest.raises(tb.ScenarioError, match="is no class"):
        tb.stack("quic")
