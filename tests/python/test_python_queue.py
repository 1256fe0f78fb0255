"""Disciplines written in Python: conservation, what happens when they are wrong, and driving a discipline by hand."""

from __future__ import annotations

import collections
import functools
import pickle
import random
import re
import subprocess
import sys

import pytest

import tailback as tb


class Fifo:
    """Drop-tail of 50 packets, as a user would write it."""

    limit = 50

    def __init__(self) -> None:
        self.stored: collections.deque = collections.deque()

    def enqueue(self, packet, line, out) -> None:
        if len(self.stored) >= self.limit:
            out.dropped(packet, "arriving", "overflow")
        else:
            self.stored.append(packet)

    def dequeue(self, line, out):
        return self.stored.popleft() if self.stored else None

    def backlog(self) -> int:
        return len(self.stored)


def lab(queue, **kw):
    return tb.dumbbell(flows=4, bottleneck="5Mbps", rtt="40ms", queue=queue, **kw)


def bottleneck(result):
    return result.links.where(name="bottleneck")[0]


def test_it_does_what_the_built_in_one_does() -> None:
    mine = lab(Fifo).run(duration="10s")
    built_in = lab(tb.queue("droptail", buffer="50 packets")).run(duration="10s")
    a, b = bottleneck(mine), bottleneck(built_in)
    for name in ("arrived_packets", "delivered_packets", "dropped_packets"):
        assert a[name] == b[name] > 0
    assert list(mine.flows["goodput_bps"]) == list(built_in.flows["goodput_bps"])
    # Conservation: what has arrived was delivered, dropped, or is still in queue, line and wire.
    inside = a["arrived_packets"] - a["delivered_packets"] - a["dropped_packets"]
    assert 0 <= inside <= 50 + 1 + 20
    assert list(mine.losses["reason"]) == ["overflow"]


def test_threads_do_not_change_it() -> None:
    one = lab(Fifo).run(duration="4s", replications=4, jobs=1)
    two = lab(Fifo).run(duration="4s", replications=4, jobs=4)
    assert list(one.flows["goodput_bps"]) == list(two.flows["goodput_bps"])


class Shaper(Fifo):
    """At most a packet each 10 ms, by Wait and by timer in turn."""

    due = 0.0

    def dequeue(self, line, out):
        if not self.stored:
            return None
        if line.now < self.due:
            return tb.Wait(self.due)
        self.due = line.now + 0.01
        return self.stored.popleft()


class Timed(Fifo):
    """Drops everything every 100 ms."""

    due = 0.1

    def next_timer(self) -> float:
        return self.due

    def on_timer(self, line, out) -> None:
        self.due += 0.1
        while self.stored:
            out.dropped(self.stored.popleft(), "queued", "overload")


class Marker(Fifo):
    def enqueue(self, packet, line, out) -> None:
        if packet.is_ecn_capable and len(self.stored) > 10:
            out.marked(packet, "step")
        super().enqueue(packet, line, out)


def test_waiting_timers_and_marks() -> None:
    slow = bottleneck(lab(Shaper).run(duration="5s"))
    assert 480 <= slow["delivered_packets"] <= 500
    timed = lab(Timed).run(duration="5s")
    assert {(r["place"], r["reason"]) for r in timed.losses} == {("queued", "overload")}
    marked = lab(Marker, tcp={"ecn": "on"}).run(duration="5s")
    assert bottleneck(marked)["marked_packets"] > 0 and marked.flows["marked_packets"].sum() > 0


class Chance(Fifo):
    """Loses one packet in fifty by chance."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random()

    def seed(self, number: int) -> None:
        self.random.seed(number)

    def enqueue(self, packet, line, out) -> None:
        if self.random.random() < 0.02:
            out.dropped(packet, "arriving", "early")
        else:
            super().enqueue(packet, line, out)


def test_one_that_draws_at_random_gets_a_seed_of_its_run() -> None:
    def delivered(seed: int, jobs: int) -> list:
        r = lab(Chance).run(duration="4s", seed=seed, replications=3, jobs=jobs)
        return list(r.links.where(name="bottleneck")["delivered_packets"])

    once = delivered(1, 1)
    assert once == delivered(1, 3) and len(set(once)) > 1 and once[1:] == delivered(2, 1)[:2]
    # Driven by hand, too.
    both = [tb.drive(Chance, seed=5) for _ in range(2)]
    for q in both:
        for i in range(300):
            q.enqueue(tb.packet(), now=i * 0.01)
            q.dequeue()
    assert len(both[0].drops) == len(both[1].drops) > 0


class Loses(Fifo):
    def enqueue(self, packet, line, out) -> None:
        if packet.sequence < 100_000:
            super().enqueue(packet, line, out)


class LosesInTheDark(Loses):
    backlog = None


class Doubles(Fifo):
    last = None

    def dequeue(self, line, out):
        if line.now > 1 and self.last is not None:
            return self.last
        self.last = super().dequeue(line, out)
        return self.last


class Raises(Fifo):
    def dequeue(self, line, out):
        return {}["a key"] if line.now > 1 else super().dequeue(line, out)


class Makes(Fifo):
    def dequeue(self, line, out):
        return tb.packet()


class Nonsense(Fifo):
    def dequeue(self, line, out):
        return 42


class BadWord(Fifo):
    limit = 3

    def enqueue(self, packet, line, out) -> None:
        out.dropped(packet, "arriving", "overflown")


class DropsTwice(Fifo):
    def enqueue(self, packet, line, out) -> None:
        out.dropped(packet)
        out.dropped(packet)


class StandsStill(Fifo):
    def next_timer(self) -> float:
        return 0.5

    def on_timer(self, line, out) -> None:
        pass


class NoQueue:
    pass


class NotMade(Fifo):
    def __init__(self) -> None:
        raise OSError("no such file")


class Keeps(Fifo):
    kept = None

    def enqueue(self, packet, line, out) -> None:
        if Keeps.kept is None:
            Keeps.kept = out
        super().enqueue(packet, line, out)


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        (Loses, "a packet was lost"),
        (LosesInTheDark, "have not left"),
        (Doubles, "has already left this queue"),
        (Raises, "KeyError: 'a key'"),
        (Makes, "never given to this queue"),
        (Nonsense, "not int"),
        (BadWord, 'did you mean "overflow"'),
        (DropsTwice, "has already left"),
        (StandsStill, "time would stand still"),
        (NoQueue, "no method enqueue"),
        (NotMade, "no such file"),
    ],
)
def test_a_wrong_discipline_ends_its_run_with_a_clear_word(queue, says, capfd) -> None:
    with pytest.raises(tb.RunError) as e:
        lab(queue).run(duration="5s")
    assert says in str(e.value) and "bottleneck" in str(e.value)
    assert [r["status"] for r in e.value.result.runs] == ["failed"]
    # No panic of the engine on the terminal.
    assert capfd.readouterr().err == ""


def test_a_failed_run_is_a_row_among_others(tmp_path) -> None:
    made = iter(range(100))

    def some():
        return Raises() if next(made) == 1 else Fifo()

    with pytest.raises(tb.RunError) as e:
        lab(some, reverse_queue="droptail").run(
            duration="3s", replications=3, jobs=1, out=tmp_path / "o", queues_key="some"
        )
    assert [r["status"] for r in e.value.result.runs] == ["done", "failed", "done"]
    assert len(e.value.result.groups) == 2


def test_a_plan_of_failures_is_stored_and_tried_again(tmp_path) -> None:
    for _ in range(2):
        with pytest.raises(tb.RunError) as e:
            lab(Raises).run(duration="3s", replications=2, out=tmp_path / "o")
        r = e.value.result
        assert r.store_error is None and r.report["reused"] == 0
        assert len(r.flows) == 0 and "goodput_bps" in r.flows
    again = tb.load_result(tmp_path / "o")
    assert list(again.runs["status"]) == ["failed"] * 2 and "no run was finished" in again.summary()
    assert again.to_dict()["flows"] == []


def test_out_is_for_its_call_only() -> None:
    Keeps.kept = None
    lab(Keeps).run(duration="1s")
    with pytest.raises(RuntimeError, match="during the call"):
        Keeps.kept.note(0, 1.0)


def test_a_mistyped_port_is_refused() -> None:
    with pytest.raises(ValueError, match="bottleneck"):
        tb.run(
            lab("droptail").set(duration="1s").to_dict() | {"topology": {**lab(Fifo).document["topology"]}},
            queues={"botleneck": Fifo},
        )
    with pytest.raises(TypeError, match="class of your own"):
        lab(Fifo())


def test_stored_runs_know_the_discipline(tmp_path) -> None:
    def made(limit: int):
        q = Fifo()
        q.limit = limit
        return q

    small, large = (functools.partial(made, n) for n in (10, 40))
    for queue, reused in ((small, 0), (small, 1), (large, 0)):
        r = lab(queue).run(duration="2s", out=tmp_path / "o")
        assert r.report["reused"] == reused
    with pytest.raises(ValueError, match="queues_key"):
        lab(functools.partial(made, object())).run(duration="2s", out=tmp_path / "o")


def test_a_built_in_discipline_by_hand() -> None:
    q = tb.drive(tb.queue("codel", buffer="5 packets", ecn=True), rate="1Mbps")
    packets = [tb.packet(flow=i, ecn=i % 2 == 0) for i in range(6)]
    for p in packets:
        q.enqueue(p, now=0.001)
    assert q.backlog() == (5, 7500) and len(q) == 5
    assert q.drops == [(packets[5], "arriving", "overflow")]
    assert q.dequeue(now=0.002) is packets[0] and packets[0].stamp == 0.001
    assert set(q.probes) >= {"dropping"} and q.probe("dropping") == 0
    with pytest.raises(KeyError, match="dropping"):
        q.probe("droping")
    with pytest.raises(ValueError, match="time does not go back"):
        q.dequeue(now=0.0)
    with pytest.raises(ValueError, match="in the queue already"):
        q.enqueue(packets[1])
    while q.dequeue():
        pass
    assert q.backlog() == (0, 0) and q.dequeue() is None
    # Sojourn times above target for longer than an interval: it marks.
    for k in range(200):
        q.enqueue(tb.packet(ecn=True), now=1 + 0.01 * k)
        if k > 3:
            q.dequeue()
    assert q.marks and q.marks[0][0].ecn == "ce"


def test_a_discipline_of_ones_own_by_hand() -> None:
    q = tb.drive(Timed)
    q.enqueue(tb.packet(), now=0.05)
    assert q.next_timer == pytest.approx(0.1) and len(q) == 1
    q.advance(0.25)
    assert len(q) == 0 and [d[1:] for d in q.drops] == [("queued", "overload")]
    q = tb.drive(Loses)
    with pytest.raises(RuntimeError, match="a packet was lost"):
        q.enqueue(tb.packet(sequence=200_000))


def test_packets_made_by_hand_are_checked() -> None:
    for bad in ({"bytes": 0}, {"bytes": 70_000}, {"ecn": "maybe"}, {"dscp": 64}):
        with pytest.raises(ValueError):
            tb.packet(**bad)
    with pytest.raises(RuntimeError, match="not ECN-capable"):
        tb.packet().set_ce()
    p = tb.packet(flow=3, ecn=True, dscp=46)
    p.set_ce()
    assert (p.ecn, p.dscp, p.flow, p.key("tuple")) == ("ce", 46, 3, 3)


def test_a_stored_scenario_does_not_run_without_its_python_queue(tmp_path, cli) -> None:
    stored = tmp_path / "o" / "scenario.toml"
    Fifo.limit = 5
    try:
        first = lab(Fifo).run(duration="2s", out=stored.parent)
        mine = bottleneck(first)["dropped_packets"]
        # With the class at hand it runs, from the text and from the scenario of a result that was read back.
        for source in (stored, tb.load_result(stored.parent).scenario):
            given = {"bottleneck": Fifo, "bottleneck.reverse": Fifo}
            assert bottleneck(tb.run(source, queues=given))["dropped_packets"] == mine > 0
    finally:
        Fifo.limit = 50
    # Without, it is refused on every way, with the class and how to run it.
    says = r"Fifo.*[\s\S]*queues="
    read_back = tb.load_result(stored.parent)
    for way in (
        lambda: tb.load_scenario(stored),
        lambda: tb.load_scenario(stored.read_text()),
        lambda: tb.run(stored),
        lambda: tb.run(stored.read_text(), overrides=["seed=2"]),
        lambda: tb.run(read_back.scenario),
        lambda: tb.Plan([({}, read_back.scenario)]).execute(),
        lambda: tb.Plan.product(stored, {"rtt": ("flows.bulk.rtt", ["40ms"])}),
        lambda: tb.Plan.product(read_back.scenario, {"rtt": ("flows.bulk.rtt", ["40ms"])}),
    ):
        with pytest.raises(ValueError, match=says):
            way()
    for command in (["run", str(stored)], ["check", str(stored)], ["run", str(stored), "--out", str(stored.parent)]):
        told = cli(*command)
        assert told.returncode == 2 and "test_python_queue.Fifo" in told.stderr, told.stderr
        assert re.search(r"scenario\.toml:\d+:\d+", told.stderr) and "queues=" in told.stderr
    told = cli("run", "-", input=stored.read_text())
    assert told.returncode == 2 and re.search(r"standard input:\d+:\d+", told.stderr)
    # What is stored is still read, shown and pickled.
    assert pickle.loads(pickle.dumps(read_back)) == read_back
    assert {x["queue"] for x in read_back.scenario.spec["links"]} == {"python"}


def test_a_queue_in_python_runs_on_every_way_or_is_refused() -> None:
    net = lab(Fifo).set(duration="2s")
    droptail = bottleneck(lab("droptail").set(duration="2s").run())["dropped_packets"]
    Fifo.limit = 5
    try:
        mine = bottleneck(net.run())["dropped_packets"]
        assert mine > droptail
        assert bottleneck(tb.run(net))["dropped_packets"] == mine
        assert bottleneck(tb.run(net, overrides=["seed=1"]))["dropped_packets"] == mine
        for plan in (
            tb.Plan([({}, net)]),
            tb.Plan.product(net, {"rtt": ("flows.bulk.rtt", ["40ms"])}),
            tb.Plan.explicit(net, [({}, {})]),
        ):
            assert plan.execute().links.where(name="bottleneck")[0]["dropped_packets"] == mine
    finally:
        Fifo.limit = 50
    # The way back has a queue of the same sort, as with any other discipline.
    made = []
    lab(lambda: made.append(1) or Fifo()).run(duration="100ms")
    assert len(made) == 2
    made.clear()
    lab(lambda: made.append(1) or Fifo(), reverse_queue="droptail").run(duration="100ms")
    assert len(made) == 1
    hops = tb.parking_lot(3, rate="5Mbps", rtt="40ms", queue="droptail", reverse_queue=lambda: made.append(1) or Fifo())
    hops.run(duration="100ms")
    assert len(made) == 1 + 3
    for way in (net.load, net.to_dict, net.to_toml, lambda: tb.load_scenario(net)):
        with pytest.raises(TypeError, match=r"at bottleneck is written in Python \(Fifo\).*net.run"):
            way()
    with pytest.raises(ValueError, match="different queues"):
        tb.Plan([({"q": "a"}, net), ({"q": "b"}, lab("droptail").set(duration="2s"))])
    with pytest.raises(ValueError, match="written in Python"):
        tb.Plan.product(net, {"queue": ("topology.queue", ["red"])})


class Either(Fifo):
    """Marks above ten packets where its network marks, and drops there where it does not."""

    def enqueue(self, packet, line, out) -> None:
        if len(self.stored) > 10:
            if not (line.marking and packet.is_ecn_capable):
                out.dropped(packet, "arriving", "early")
                return
            out.marked(packet, "step")
        super().enqueue(packet, line, out)


def test_it_is_told_whether_its_network_marks() -> None:
    for marking in (True, False):
        line = bottleneck(lab(Either).set(marking=marking).run(duration="5s"))
        assert (line["marked_packets"] > 0, line["dropped_packets"] > 0) == (marking, not marking)
    # By its default, too: on where a flow has ECN.
    for ecn in ("on", "off"):
        assert (bottleneck(lab(Either, tcp={"ecn": ecn}).run(duration="5s"))["marked_packets"] > 0) == (ecn == "on")
    queue = tb.drive(Either)
    for _ in range(12):
        queue.enqueue(tb.packet(ecn=True), now=0.0)
    assert len(queue.marks) == 1 and not queue.drops


ENDLESS = """
import os, signal, sys, threading, time
import tailback as tb

class Fifo:
    def __init__(self): self.q = []
    def enqueue(self, packet, line, out): self.q.append(packet)
    def dequeue(self, line, out): return self.q.pop(0) if self.q else None

class Spins(Fifo):
    def enqueue(self, packet, line, out):
        while True: pass

class SpinsFromTheStart(Fifo):
    def __init__(self):
        while True: time.sleep(0.001)

class Holds(Fifo):
    # Does not let go at once.
    def dequeue(self, line, out):
        for _ in range(3):
            try:
                while True: time.sleep(0.001)
            except KeyboardInterrupt: pass
        while True: pass

def net(queue): return tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="20ms", queue=queue)

want = net(Fifo).run(duration="1s").flows["goodput_bps"].tolist()
for queue in (Spins, SpinsFromTheStart, Holds):
    began = time.monotonic()
    assert net(queue).run(duration="1s", replications=3, jobs=2, progress=lambda r: False).interrupted, queue
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try: net(queue).run(duration="1s")
    except KeyboardInterrupt: pass
    else: raise AssertionError(queue)
    # What was sent to one run reaches no other.
    assert net(Fifo).run(duration="1s", replications=2).flows["goodput_bps"].tolist()[:2] == want
print("ended")
"""


def test_a_call_that_does_not_end_is_ended_with_its_run() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout == "ended\n", done.stderr


LEAVES = """
import threading, time
import tailback as tb

class Fifo:
    def __init__(self): self.q = []
    def enqueue(self, packet, line, out): self.q.append(packet)
    def dequeue(self, line, out): return self.q.pop(0) if self.q else None

net = tb.dumbbell(flows=10, bottleneck="10Mbps", rtt="20ms", queue=Fifo)
begun = threading.Event()
run = lambda: net.run(duration="100s", progress=lambda r: begun.set())
threading.Thread(target=run, daemon=True).start()
begun.wait()
time.sleep(0.1)
"""


def test_python_leaves_while_a_run_goes_on() -> None:
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (done.returncode, done.stderr)


def test_a_class_stands_in_a_shaper() -> None:
    """At the rate of the shaper, in a run and by hand; the shaper's own values may vary."""
    shaped = tb.queue("htb", rate="2Mbps", burst="0B", queue=Fifo)
    net = tb.dumbbell(flows=1, bottleneck="100Mbps", rtt="20ms", queue=shaped).set(duration="5s")
    assert bottleneck(net.run())["throughput_bps"] == pytest.approx(2e6, rel=0.03)
    q = tb.drive(tb.queue("htb", rate="8Mbps", burst="0B", queue=Fifo))
    for _ in range(2):
        q.enqueue(tb.packet(bytes=1000), now=0.0)
    assert q.dequeue().bytes == 1000
    assert q.dequeue().until == 0.001
    plan = tb.Plan.product(net, {"rate": ("topology.queue.rate", ["1Mbps", "2Mbps"])})
    assert len(plan.points) == 2
    with pytest.raises(ValueError, match="written in Python"):
        tb.Plan.product(net, {"queue": ("topology.queue.queue", ["codel", "pie"])})


class Watched(Fifo):
    """Keeps what it has seen, and the share that was refused."""

    probes = {"seen": "packets", "refused": "1"}

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.refused = 0, None

    def enqueue(self, packet, line, out) -> None:
        self.seen += 1
        self.refused = float(len(self.stored) >= self.limit)
        super().enqueue(packet, line, out)


def test_what_it_keeps_is_recorded() -> None:
    net = lab(Watched).record(link="bottleneck", probes=["queue", "seen", "refused"], every="100ms")
    series = net.run(duration="5s").series
    seen = series.where(probe="seen")["value"]
    assert seen[-1] > 1000 and list(seen) == sorted(seen)
    assert set(series.where(probe="refused")["value"]) == {0.0, 1.0}
    q = tb.drive(Watched)
    q.enqueue(tb.packet(), now=0.0)
    assert q.probes == {"seen": "packets", "refused": "1"} and q.probe("seen") == 1
    with pytest.raises(tb.RunError, match="sene"):
        lab(Watched).record(link="bottleneck", probes=["sene"], every="100ms").run(duration="1s")


@pytest.mark.parametrize(("wrong", "said"), [(3, "not int"), ({"gone": "1"}, "AttributeError")])
def test_probes_that_cannot_be_read_are_one_message(wrong, said: str) -> None:
    bad = type("Bad", (Fifo,), {"probes": wrong})
    with pytest.raises(tb.RunError, match=said):
        lab(bad).record(link="bottleneck", probes=["gone"], every="100ms").run(duration="1s")
