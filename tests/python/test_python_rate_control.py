"""Rate controls of media written in Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tailback as tb

EXAMPLE = Path(tb.__file__).parent / "examples" / "my_rate_control.py"
TEXT = """
duration = "20s"
warmup = "5s"
[link.line]
from = "a"
to = "b"
rate = "3Mbps"
delay = "20ms"
queue = { kind = "droptail", buffer = "100 packets" }
[flows.call]
traffic = { kind = "video", preset = "rfc8593" }
rtp = { control = "mine.py:Mine", max_rate = "2Mbps" }
"""
#: Every part of the contract, and what it has seen.
SOUND = """
class Mine:
    probes = {"seen": "1"}
    report_every = 0.05
    def __init__(self, terms, *, share: float = 0.5):
        self.share, self.terms, self.target = share, terms, terms.start
        self.pacing, self.window, self.timer = None, None, 1.0
        self.seen = self.frames = self.sent = self.ticks = 0
    def on_feedback(self, feedback):
        self.seen += len(feedback.packets)
        self.target = self.share * self.terms.max
    def on_frame(self, frame):
        self.frames += frame.bytes
    def on_sent(self, sent):
        self.sent += sent.bytes
    def on_timer(self, now):
        self.ticks += 1
        self.timer = now + 1
"""


def net(control: object, rate: str = "3Mbps", **more: object) -> tb.Network:
    rtp = {"control": control, "max_rate": "2Mbps", **more}
    lab = tb.network().link("line", "a", "b", rate=rate, delay="20ms", queue="droptail")
    return lab.flows("call", traffic={"kind": "video", "preset": "rfc8593"}, rtp=rtp)


class Level:
    """A fixed rate."""

    probes = {"last": "s"}

    def __init__(self, terms, *, share: float = 0.5) -> None:
        self.terms, self.target, self.last = terms, share * terms.max, None

    def on_feedback(self, feedback) -> None:
        self.last = feedback.now


def rate(result: tb.Result) -> float:
    return float(result.flows["throughput_bps"][0])


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_encoder_makes_what_the_class_sets(share: float) -> None:
    """The mean of frames is the target; the rest of a frame's last packet is not padded."""
    result = net(tb.rate_control(Level, share=share)).run(duration="60s", warmup="5s")
    assert rate(result) == pytest.approx(share * 2e6, rel=0.03)


def test_a_class_stands_where_a_name_does() -> None:
    by_class = net({"kind": Level, "share": 0.5}).run(duration="5s")
    by_function = net(tb.rate_control(Level, share=0.5)).run(duration="5s")
    assert rate(by_class) == rate(by_function) > 0
    assert repr(tb.rate_control(Level, share=0.5)).endswith("Level', share=0.5)")
    assert rate(net(tb.rate_control("nada", xref="20ms")).run(duration="5s")) > 0


def test_what_a_class_hears_is_what_happened() -> None:
    """Each packet is told of once, as received or lost, with times that the path can have."""
    told: list = []

    class Hears:
        report_packets = 4

        def __init__(self, terms) -> None:
            assert (terms.min, terms.start, terms.max, terms.ecn) == (150e3, 300e3, 2e6, "ect1")
            self.target, self.sent, self.frames = terms.max, 0, []

        def on_frame(self, frame) -> None:
            assert frame.waiting >= frame.bytes > 0 and frame.waited >= 0

        def on_sent(self, sent) -> None:
            assert sent.number == self.sent and sent.in_flight >= sent.bytes
            self.sent += 1

        def on_feedback(self, feedback) -> None:
            told.extend(feedback.packets)
            assert [p.number for p in feedback.packets] == sorted(p.number for p in feedback.packets)
            assert feedback.rtt > 0.04 and feedback.in_flight >= 0

    lab = net(Hears, rate="1Mbps", ecn="ect1").link("line", queue={"kind": "droptail", "buffer": "5 packets"})
    result = lab.run(duration="10s")
    numbers = [p.number for p in told]
    assert len(numbers) == len(set(numbers))
    lost = [p for p in told if p.received is None]
    assert 0 < len(lost) <= result.links["dropped_packets"][0]
    assert all(p.received > p.sent + 0.02 - 1e-3 for p in told if p.received is not None)
    assert not any(p.marked for p in told)


def test_window_pacing_and_timer_do_what_they_say(tmp_path: Path) -> None:
    """A window of a packet: 9920 bits in a round trip of 43 ms, or some more where packets are not full."""
    (tmp_path / "mine.py").write_text(SOUND)
    (tmp_path / "lab.toml").write_text(TEXT + '[record.r]\nflows = "call"\nprobes = ["seen", "target"]\nevery = "1s"\n')
    free = tb.run(tmp_path / "lab.toml")
    assert rate(free) == pytest.approx(1e6, rel=0.05)
    seen = free.series.where(probe="seen")["value"]
    assert np.all(np.diff(seen) > 0)
    held = SOUND.replace("None, None, 1.0", "None, 1240, 1.0")
    (tmp_path / "mine.py").write_text(held)
    assert rate(tb.run(tmp_path / "lab.toml")) == pytest.approx(9920 / 0.0433, rel=0.05)
    slow = SOUND.replace("None, None, 1.0", "100e3, None, 1.0")
    (tmp_path / "mine.py").write_text(slow)
    assert rate(tb.run(tmp_path / "lab.toml")) == pytest.approx(100e3, rel=0.02)


def test_bursts_and_padding_do_what_they_say() -> None:
    """A tenth of a second at 1 Mbit/s is 12500 B. Padding fills the rest of the pace, and is not delivered."""
    gaps: list = []

    class Padded:
        def __init__(self, terms, *, padding: int = 0, burst: float = 0.0) -> None:
            self.target, self.pacing, self.padding, self.burst = 500e3, 1e6, padding, burst
            self.last, self.pads = 0.0, 0

        def on_feedback(self, feedback) -> None: ...

        def on_sent(self, sent) -> None:
            gaps.append(sent.now - self.last)
            self.last = sent.now
            self.pads += sent.padding

    def lab(**more: float) -> tb.Network:
        return net(tb.rate_control(Padded, **more))

    plain = lab().run(duration="20s", warmup="5s")
    padded = lab(padding=1000).run(duration="20s", warmup="5s")
    assert rate(plain) == pytest.approx(500e3, rel=0.05)
    on_line = padded.links.where(name="line")["throughput_bps"][0]
    assert on_line == pytest.approx(1e6, rel=0.02)
    assert padded.flows["goodput_bps"][0] == pytest.approx(float(plain.flows["goodput_bps"][0]), rel=0.02)
    gaps.clear()
    lab(burst=0.1).run(duration="5s")
    assert sum(g == 0 for g in gaps) > len(gaps) / 4
    gaps.clear()
    lab().run(duration="5s")
    assert not any(g == 0 for g in gaps[1:])


@pytest.mark.parametrize(
    ("given", "said"),
    [({"burst": -1.0}, "burst = -1"), ({"burst": 61.0}, "burst = 61"), ({"padding": 70_000}, "padding = 70000")],
)
def test_a_burst_and_padding_have_bounds(given: dict[str, float], said: str) -> None:
    class Wild:
        def __init__(self, terms, *, burst: float = 0.0, padding: int = 0) -> None:
            self.target, self.burst, self.padding = terms.start, burst, padding

        def on_feedback(self, feedback) -> None: ...

    with pytest.raises(tb.RunError, match=said):
        net(tb.rate_control(Wild, **given)).run(duration="1s")


def test_driven_by_hand_a_class_gets_what_it_is_given() -> None:
    told: list = []

    class Notes:
        probes = {"seen": "1"}

        def __init__(self, terms) -> None:
            self.target, self.window, self.timer, self.seen = terms.start, 3000, 1.0, 0

        def on_feedback(self, feedback) -> None:
            told.append([(p.number, p.bytes, p.sent, p.received, p.marked) for p in feedback.packets])
            told.append((feedback.now, feedback.rtt, feedback.in_flight))
            self.seen += len(feedback.packets)
            self.target = 1e6

        def on_frame(self, frame) -> None:
            told.append((frame.now, frame.bytes, frame.waiting, frame.waited))

        def on_sent(self, sent) -> None:
            told.append((sent.now, sent.number, sent.bytes, sent.in_flight, sent.padding))

        def on_timer(self, now) -> None:
            self.timer = None

    control = tb.drive_rate_control(Notes, rtp={"max_rate": "2Mbps"})
    assert (control.target, control.pacing, control.window, control.next_timer) == (300e3, 450e3, 3000, 1.0)
    assert control.frame(now=0.1, bytes=5000) == 300e3
    control.sent(now=0.2, number=0, bytes=1240, in_flight=1240, padding=True)
    report = [(0, 1240, 0.2, 0.25, True), (1, 1240, 0.21, None)]
    assert control.feedback(now=0.3, packets=report, rtt=0.1, in_flight=7) == 1e6
    assert told == [
        (0.1, 5000, 5000, 0.0),
        (0.2, 0, 1240, 1240, True),
        [(0, 1240, 0.2, 0.25, True), (1, 1240, 0.21, None, False)],
        (0.3, 0.1, 7),
    ]
    assert control.probe("seen") == 2 and control.timer(now=1.0) == 1e6 and control.next_timer is None
    with pytest.raises(ValueError, match=r"time does not go back: the last call was at 1 s, this one is at 0\.5 s"):
        control.timer(now=0.5)
    with pytest.raises(ValueError, match='no probe "sean"; there are seen'):
        control.probe("sean")
    for wrong, said in (
        ([(0, 1240, 0.2)], "this has 3 numbers"),
        ([7], "this is no tuple"),
        ([(0, 1240, 0.2, 0.1)], "arrived before it was sent"),
        ([(1, 1240, 0.2, 0.3), (0, 1240, 0.2, 0.3)], "in the order of numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            control.feedback(now=2.0, packets=wrong, rtt=0.1)


def test_a_timer_that_is_due_waits_for_its_call() -> None:
    """A report at the instant of the timer comes first; what `on_timer` leaves is later."""

    class Due:
        def __init__(self, terms, *, pause: float = 1.0) -> None:
            self.target, self.timer, self.pause = terms.start, 1.0, pause

        def on_feedback(self, feedback) -> None: ...

        def on_timer(self, now) -> None:
            self.timer = now + self.pause

    control = tb.drive_rate_control(Due)
    control.feedback(now=1.0, packets=[], rtt=0.1)
    assert control.next_timer == 1.0
    control.timer(now=1.0)
    assert control.next_timer == 2.0
    stuck = tb.drive_rate_control(tb.rate_control(Due, pause=0.0))
    with pytest.raises(RuntimeError, match=r"on_timer leaves timer = 1\.0"):
        stuck.timer(now=1.0)


def test_driven_by_hand_nada_is_its_equations() -> None:
    """RFC 8698: ramp-up by gamma = 50 ms / (rtt + DELTA + DFILT) over what arrives; then the gradual update."""
    nada = tb.drive_rate_control("nada", rtp={"max_rate": "2Mbps"})

    def report(n: int, queue: float) -> float:
        packets = [(10 * n + i, 1250, 0.1 * n + 0.01 * i, 0.1 * n + 0.01 * i + 0.02 + queue) for i in range(10)]
        return nada.feedback(now=0.1 * n + 0.15, packets=packets, rtt=0.05)

    for n in range(10):
        ramped = report(n, 0.0)
    # The most that arrives is 40 packets in the 0.43 s from the first one to the fourth report.
    assert ramped == pytest.approx(40 * 8 * 1250 / 0.43 * (1 + 0.05 / 0.27), rel=1e-6)
    # All 15 delays are of the queue after two reports. The second has no change of x: 30 ms.
    report(10, 0.03)
    before = report(11, 0.03)
    offset = 0.03 - 0.01 * 2e6 / before
    assert report(12, 0.03) == pytest.approx(before * (1 - 0.5 * 0.1 / 0.5 * offset / 0.5), rel=1e-9)
    assert nada.probe("queueing") == pytest.approx(0.03)


def test_what_is_driven_by_hand_in_a_run_is_what_runs() -> None:
    """GCC behind a class that passes on all that it is told, and says what it says: the same run, probes included."""

    class Behind:
        report_every, report_step = 0.05, 0.00025

        def __init__(self, terms) -> None:
            bounds = {name: f"{rate:.0f}bps" for name, rate in (("min_rate", terms.min), ("max_rate", terms.max))}
            self.inner = tb.drive_rate_control("gcc", rtp=bounds)
            self.take(-1.0)

        def take(self, now: float) -> None:
            inner = self.inner
            self.target, self.pacing, self.burst, self.padding = inner.target, inner.pacing, inner.burst, inner.padding
            self.window = inner.window
            self.timer = None if inner.next_timer is None else max(inner.next_timer, now + 1e-9)

        def on_feedback(self, feedback) -> None:
            packets = [(p.number, p.bytes, p.sent, p.received, p.marked) for p in feedback.packets]
            self.inner.feedback(feedback.now, packets, rtt=feedback.rtt, in_flight=feedback.in_flight)
            self.take(feedback.now)

        def on_frame(self, frame) -> None:
            self.inner.frame(frame.now, frame.bytes, waiting=frame.waiting, waited=frame.waited)
            self.take(frame.now)

        def on_sent(self, sent) -> None:
            self.inner.sent(sent.now, sent.number, sent.bytes, in_flight=sent.in_flight, padding=sent.padding)
            self.take(sent.now)

        def on_timer(self, now: float) -> None:
            self.inner.timer(now)
            self.take(now)

    one, two = (net(control).run(duration="30s") for control in ("gcc", Behind))
    assert rate(one) == pytest.approx(rate(two), rel=1e-3) and rate(one) > 1.5e6


def test_the_example_keeps_its_queue_short() -> None:
    """Alone on 5 Mbit/s it uses more than half of the line, with a fifth of the time that the buffer holds."""
    lab = net(tb.rate_control(f"{EXAMPLE}:Calm"), rate="5Mbps", max_rate="10Mbps")
    result = lab.run(duration="60s", warmup="20s", replications=2)
    link = result.links.where(name="line")
    assert min(link["utilisation"]) > 0.6 and max(link["sojourn_p99_s"]) < 0.1
    assert len(EXAMPLE.read_text().splitlines()) <= 50


def test_a_probe_has_the_unit_that_the_class_gives_it(tmp_path: Path) -> None:
    """The stored folder has it too, where the class is gone; that of a built-in control is its own."""
    own_class = SOUND.replace('{"seen": "1"}', '{"sent": "bytes", "queueing": "bit/s"}') + "    queueing = 2e6\n"
    (tmp_path / "mine.py").write_text(own_class)
    record = '[record.r]\nflows = "call"\nprobes = ["sent", "queueing", "target"]\nevery = "1s"\n'
    (tmp_path / "lab.toml").write_text(TEXT + record)
    result = tb.run(tmp_path / "lab.toml", out=tmp_path / "out")
    units = {"sent": "(MB)", "queueing": "(Mb/s)", "target": "(Mb/s)"}
    for probe, unit in units.items():
        assert result.plot(probe).axes[0].get_ylabel() == f"{probe} {unit}"
    (tmp_path / "mine.py").unlink()
    code = "import sys, tailback as tb; print(tb.load_result(sys.argv[1]).plot(sys.argv[2]).axes[0].get_ylabel())"
    for probe in ("sent", "queueing"):
        done = subprocess.run([sys.executable, "-c", code, tmp_path / "out", probe], capture_output=True, text=True)
        assert done.stdout.strip() == f"{probe} {units[probe]}", done.stderr
    lab = net("nada").record(flows="call", probes=["queueing"], every="1s")
    assert lab.run(duration="5s").plot("queueing").axes[0].get_ylabel() == "queueing (ms)"


def test_jobs_sweeps_and_stores(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOUND)
    (tmp_path / "lab.toml").write_text(TEXT)
    one, two = (tb.run(tmp_path / "lab.toml", replications=3, jobs=n) for n in (1, 2))
    assert list(one.flows["throughput_bps"]) == list(two.flows["throughput_bps"])
    plan = tb.Plan.product(tmp_path / "lab.toml", {"flows.call.rtp.control.share": [0.2, 0.9]})
    plan.execute(tmp_path / "out", jobs=2)
    swept = tb.read_results(tmp_path / "out").flows["throughput_bps"]
    assert swept[0] == pytest.approx(0.4e6, rel=0.05) and swept[1] == pytest.approx(1.8e6, rel=0.05)
    # Another text of the file is another run.
    before = plan.build()
    (tmp_path / "mine.py").write_text(SOUND + "# changed\n")
    again = tb.Plan.product(tmp_path / "lab.toml", {"flows.call.rtp.control.share": [0.2, 0.9]})
    assert list(tb.load_scenario(tmp_path / "lab.toml").controls) == ["mine.py:Mine"]
    assert before != again.build()


def test_a_scenario_travels_without_its_class_but_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOUND)
    (tmp_path / "lab.toml").write_text(TEXT)
    scenario = pickle.dumps(tb.load_scenario(tmp_path / "lab.toml"))
    code = "import pickle, sys, tailback as tb; tb.run(pickle.load(sys.stdin.buffer))"
    done = subprocess.run([sys.executable, "-c", code], input=scenario, capture_output=True, cwd=tmp_path.parent)
    last = done.stderr.decode().strip().splitlines()[-1]
    assert done.returncode == 1 and "tb.rate_control" in last
    assert "mine.py:Mine, and the run did not get this class" in last


#: What may be wrong with a class: what is replaced, by what, and what the one message has to name.
MISTAKES = [
    (
        "def on_feedback(self, feedback)",
        "def on_report(self, feedback)",
        "mine.py:Mine is not a rate control: it has no method on_feedback",
    ),
    ("def on_feedback(self, feedback)", "def on_feedback(self)", "on_feedback cannot be called with one argument"),
    ("def on_feedback(self, feedback)", "async def on_feedback(self, feedback)", "on_feedback is a coroutine"),
    ("def __init__(self, terms, *, share: float = 0.5)", "def __init__(self, *, terms)", "no argument for the terms"),
    ("share: float = 0.5", "share=[]", "its parameter share is neither"),
    ("share: float = 0.5", "share=None", "its parameter share has the default None"),
    ("report_every = 0.05", "report_every = 0", "has report_every = 0"),
    ("report_every = 0.05", "report_packets = 'all'", "has report_packets = 'all'"),
    ("report_every = 0.05", "report_frames = 1", "has report_frames = 1"),
    ("report_every = 0.05", "on_sent = 3", "on_sent"),
    (
        "self.target = share, terms, terms.start",
        "self.goal = share, terms, terms.start",
        "has no attribute target after __init__",
    ),
    ("self.target = self.share * self.terms.max", "self.target = float('nan')", "Mine.on_feedback leaves target = nan"),
    ("self.target = self.share * self.terms.max", "self.target = 0", "Mine.on_feedback leaves target = 0"),
    ("self.target = self.share * self.terms.max", "self.pacing = -1", "Mine.on_feedback leaves pacing = -1"),
    ("self.target = self.share * self.terms.max", "self.window = 0", "Mine.on_feedback leaves window = 0"),
    ("self.target = self.share * self.terms.max", "return 1e6", "on_feedback returns 1000000.0"),
    ("self.target = self.share * self.terms.max", "1 / 0", "Mine.on_feedback failed"),
    ("self.frames += frame.bytes", "frame.gone", "Mine.on_frame failed"),
    ("self.sent += sent.bytes", "raise SystemExit(3)", "Mine.on_sent failed"),
    ("self.timer = now + 1", "self.timer = now", "Mine.on_timer leaves timer = 1.0"),
    ("def on_timer(self, now)", "def tick(self, now)", "it has no method on_timer"),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_a_mistake_is_one_message(old: str, new: str, said: str, tmp_path: Path, capsys) -> None:
    assert old in SOUND
    source = SOUND.replace(old, new)
    if new == "on_sent = 3":
        source = source.replace("    def on_sent(self, sent):\n        self.sent += sent.bytes\n", "")
    (tmp_path / "mine.py").write_text(source)
    (tmp_path / "lab.toml").write_text(TEXT)
    with pytest.raises((tb.ScenarioError, tb.RunError)) as e:
        tb.run(tmp_path / "lab.toml", replications=2, jobs=2)
    message = str(e.value)
    assert said in message and "engine stopped" not in message and message.count("failed:") <= 2, message
    assert capsys.readouterr().err == ""


FITS = """
class Mine:
    cwnd = 20000.0
    def __init__(self, rules): ...
    def on_ack(self, ack): ...
    def on_congestion(self, sign): ...
"""


def test_a_control_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    """Also where another file of this name has had a class that fits."""
    (tmp_path / "lab.toml").write_text(
        TEXT.replace("rtp = {", 'tcp = { congestion = "mine.py:Mine" }\n#').replace("traffic =", "#")
    )
    (tmp_path / "mine.py").write_text(FITS)
    tb.load_scenario(tmp_path / "lab.toml")
    (tmp_path / "mine.py").write_text(SOUND)
    with pytest.raises(tb.ScenarioError, match=r"mine\.py:Mine"):
        tb.load_scenario(tmp_path / "lab.toml")
    with pytest.raises(tb.ScenarioError, match="a rate control is a class of your own or a name, not int"):
        tb.rate_control(5)  # type: ignore[arg-type]
    with pytest.raises(tb.ScenarioError, match='did you mean "gcc"'):
        tb.rate_control("gccc")
