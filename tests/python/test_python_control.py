"""Congestion controls written in Python: the windows of a built-in one, where a class may stand, and its mistakes."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb

EXAMPLE = Path(tb.__file__).parent / "examples" / "my_reno.py"
TRACES = Path(__file__).parents[1] / "reference" / "tcp-traces"
MINE = f"{EXAMPLE}:Reno"


def reference_network(variant: str, name: str, congestion: str) -> dict:
    """The network of `tests/reference/tcp-traces` for one of its files."""
    forced = name.startswith("force")
    lost = {"force_d1": [15], "force_d3": [15, 27, 29]}.get(name, [])
    access = {"rate": "10Mbps", "delay": "1ms", "queue": {"kind": "droptail", "buffer": "1000 packets"}}
    slow = {
        "rate": "1Mbps",
        "delay": "20ms",
        "queue": {"kind": "droptail", "buffer": "99 packets" if forced else "9 packets"},
        "reverse_queue": {"kind": "droptail", "buffer": "1000 packets"},
    }
    if lost:
        slow["impair"] = [{"kind": "by-index", "indices": lost}]
    tcp = {
        "profile": "ns2",
        "clock_phase": "5558807ns",
        "variant": variant.lower().rstrip("1"),
        "payload": "960B",
        "window_cap": f"{28 if forced else 10_000} packets",
        "initial_window": "2 packets",
        "delayed_ack": 2 if name.startswith("delack") else 1,
        "congestion": congestion,
    }
    return {
        "duration": "6s" if forced else "20s",
        "link": {
            "first": {"from": "s", "to": "r1", **access},
            "slow": {"from": "r1", "to": "r2", **slow},
            "last": {"from": "r2", "to": "d", **access},
        },
        "flows": {"f": {"from": "s", "to": "d", "start": "0.1s", "tcp": tcp}},
        "record": {"r": {"flows": "f", "probes": ["cwnd", "ssthresh"], "on_change": True}},
    }


def windows(congestion: str, variant: str, name: str, probe: str = "cwnd") -> tuple[np.ndarray, np.ndarray]:
    series = tb.run(reference_network(variant, name, congestion)).series.where(probe=probe)
    return series["time_s"], series["value"]


def traced(variant: str, name: str) -> list[float]:
    """The windows of ns-2, each change once: the last of an instant."""
    rows: list[tuple[float, float]] = []
    with gzip.open(TRACES / f"{variant}_{name}.csv.gz", "rt") as lines:
        for line in lines:
            t, event, a, _ = line.rstrip("\n").split(",")
            if event == "cwnd":
                if rows and abs(rows[-1][0] - float(t)) < 2e-5:
                    rows.pop()
                if not rows or abs(rows[-1][1] - float(a)) > 5e-4:
                    rows.append((float(t), float(a)))
    return [a for _, a in rows]


@pytest.mark.parametrize("name", ["ack_b10", "delack_b10", "force_d1", "force_d3"])
@pytest.mark.parametrize("variant", ["Tahoe", "Reno", "Newreno", "Sack1"])
def test_a_reno_of_thirty_lines_has_the_windows_of_the_built_in_one(variant: str, name: str) -> None:
    for probe in ("cwnd", "ssthresh"):
        (t, built_in), (t_mine, mine) = windows("reno", variant, name, probe), windows(MINE, variant, name, probe)
        assert np.array_equal(t, t_mine) and np.array_equal(built_in, mine)
    # It is the trace that it is meant to be, with its losses.
    values = windows(MINE, variant, name)[1]
    theirs = traced(variant, name)
    assert len(values) == len(theirs) > 20 and np.abs(values - theirs).max() < 0.002
    assert (np.diff(values) < -1).any(), "nothing was lost"


class Steady:
    """A window of so many segments, whatever happens."""

    probes = {"acks": "ACKs", "last_rtt": "s"}

    def __init__(self, rules, *, segments: float = 10.0, paced: bool = False) -> None:
        self.cwnd = segments * rules.segment
        self.pacing_rate = 2e6 if paced else None
        self.acks, self.last_rtt = 0, None

    def on_ack(self, ack) -> None:
        self.acks += 1
        self.last_rtt = ack.rtt if ack.rtt is not None else self.last_rtt

    def on_congestion(self, sign) -> None: ...

    def window_reset(self, reset) -> None: ...

    def undo(self) -> None: ...


def lab(congestion, **kw):
    return tb.dumbbell(bottleneck="10Mbps", rtt="40ms", tcp={"congestion": congestion, "delayed_ack": 1}, **kw)


def goodput(result) -> float:
    return float(result.flows["goodput_bps"][0])


def test_a_class_stands_where_a_name_does() -> None:
    """As a class, with parameters, in a dict, in changes and plans; what it keeps is recorded."""
    ten = lab(Steady).run(duration="5s")
    assert goodput(ten) == pytest.approx(10 * 1460 * 8 / 0.0412, rel=0.05)
    document = {**lab("reno").to_dict(), "duration": "5s"}
    document["flows"]["bulk"]["tcp"] = {"congestion": Steady, "delayed_ack": 1}
    assert goodput(tb.run(document)) == goodput(ten)
    document["flows"]["bulk"]["tcp"] = {"congestion": tb.congestion(Steady, segments=5), "delayed_ack": 1}
    assert goodput(tb.run(document)) == pytest.approx(goodput(ten) / 2, rel=0.03)
    paced = lab(tb.congestion(Steady, segments=100, paced=True)).run(duration="5s")
    assert goodput(paced) == pytest.approx(2e6 * 1460 / 1500, rel=0.02)
    plan = tb.Plan.product(lab(Steady).set(duration="2s"), {"flows.bulk.tcp.congestion.segments": [2, 4]})
    two, four = plan.execute().flows["goodput_bps"]
    assert four == pytest.approx(2 * two, rel=0.01)
    both = tb.Plan.product(lab(Steady).set(duration="2s"), {"flows.bulk.tcp.congestion": ["cubic", MINE]})
    assert len(both.execute().flows) == 2


def test_what_it_keeps_is_recorded() -> None:
    net = lab(Steady).record(flows="bulk", probes=["acks", "last_rtt", "cwnd"], every="100ms")
    result = net.run(duration="2s")
    acks = result.series.where(probe="acks")["value"]
    assert acks[-1] > 400 and (np.diff(acks) > 0).all()
    rtts = result.series.where(probe="last_rtt")["value"]
    assert 0.04 <= rtts[-1] < 0.06
    assert set(result.series.where(probe="cwnd")["value"][1:]) == {10.0}
    with pytest.raises(tb.ScenarioError, match="akcs"):
        lab(Steady).record(flows="bulk", probes=["akcs"], every="100ms").run(duration="1s")


def test_it_takes_an_open_connection_over_and_hands_it_on() -> None:
    net = lab("reno").change(flows="bulk", congestion=[Steady, "cubic"], at=["2s", "4s"])
    net.record(flows="bulk", probes=["cwnd"], every="100ms")
    values = net.run(duration="8s").series.where(probe="cwnd")["value"]
    # Steady has no take_over: it goes on with the window it finds, and keeps it.
    assert len(set(values[22:39])) == 1 and len(set(values[45:])) > 3


def test_threads_and_repetition_do_not_change_it() -> None:
    one = lab(MINE).run(duration="4s", replications=4, jobs=1)
    two = lab(MINE).run(duration="4s", replications=4, jobs=4)
    assert one == two


def test_driven_by_hand_it_is_the_built_in_one() -> None:
    both = [tb.drive_congestion(name, tcp={"payload": "1000B"}) for name in ("reno", tb.congestion(MINE))]
    said = {}
    for control, called in zip(both, ("built-in", "mine"), strict=True):
        windows = said[called] = [control.cwnd]
        for i in range(1, 60):
            if i % 17 == 0:
                windows.append(control.congestion(now=i * 0.01, what="loss"))
            elif i == 40:
                windows.append(control.congestion(now=i * 0.01, what="timeout"))
            windows.append(control.ack(now=i * 0.01, acked=1000, rtt=0.1))
        windows += [control.undo(now=1), control.reset(now=1, what="idle"), control.ssthresh]
    assert said["built-in"] == said["mine"] and len(set(said["mine"])) > 20
    with pytest.raises(ValueError, match=r"time does not go back: the last call was at 1 s, this one is at 0\.5 s"):
        both[1].ack(now=0.5, acked=1000)
    with pytest.raises(ValueError, match="time does not go back"):
        both[1].ack(now=float("nan"), acked=1000)


def test_a_control_from_a_file_runs_in_commands(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text())
    (tmp_path / "lab.toml").write_text(TEXT)
    run = [sys.executable, "-m", "tailback", "run", "lab.toml", "--json", "--out", "out"]
    first = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    document = json.loads(first.stdout)
    assert document["groups"][0]["goodput_bps_sum"] > 5e6
    # Nothing is left behind, and the result is read where the class is not at hand.
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lab.toml", "mine.py", "out"]
    (tmp_path / "mine.py").rename(tmp_path / "gone.py")
    script = (
        "import tailback as tb; r = tb.load_result('out'); print(r.scenario.spec['flows'][0]['name'], len(r.flows))"
    )
    read = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert read.stdout.split() == ["bulk", "1"], read.stderr
    again = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 2 and "there is no file mine.py" in again.stderr and "Traceback" not in again.stderr


TEXT = """
duration = "3s"
link.bottleneck = { from = "a", to = "b", rate = "10Mbps", delay = "20ms", queue = "codel" }
[flows.bulk]
tcp = { congestion = { kind = "mine.py:Reno", kept = 0.7 } }
"""


def test_stored_runs_are_those_of_the_code(tmp_path: Path) -> None:
    """What is stored is used again as long as the class is the same."""
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text())
    lab_file = tmp_path / "lab.toml"
    lab_file.write_text(TEXT)
    runs = tb.Plan([({}, tb.load_scenario(lab_file))]).runs()
    assert tb.Plan([({}, tb.load_scenario(lab_file))]).runs() == runs
    plan = tb.Plan([({}, tb.load_scenario(lab_file))])
    plan.execute(tmp_path / "out")
    assert plan.execute(tmp_path / "out").report["reused"] == 1
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text().replace("0.5", "0.6"))
    assert tb.Plan([({}, tb.load_scenario(lab_file))]).execute(tmp_path / "out").report["reused"] == 0


def test_a_scenario_travels_without_its_class_but_does_not_run() -> None:
    script = (
        "import pickle, sys, tailback as tb\n"
        "s = pickle.loads(sys.stdin.buffer.read())\n"
        "print(s.spec['flows'][0]['name'], s.controls)\n"
        "try: tb.run(s)\n"
        "except ValueError as e: print(e)\n"
    )
    packed = pickle.dumps(tb.Plan([({}, lab(tb.congestion(Steady, segments=3)).set(duration="1s"))]).points[0][1])
    out = subprocess.run([sys.executable, "-c", script], input=packed, capture_output=True, check=True)
    said = out.stdout.decode().splitlines()
    assert said[0].startswith("bulk {") and said[0].endswith("None}")
    assert "Steady, and the run did not get this class; run it where the class is" in said[1]


def test_a_class_that_is_defined_again_takes_its_name_over() -> None:
    """As in a notebook whose cell is run again. What was read before keeps its class."""

    def made(segments: int) -> type:
        class Again(Steady):
            def __init__(self, rules) -> None:
                super().__init__(rules, segments=segments)

        return Again

    before = lab(made(4)).set(duration="2s").load()
    after = lab(made(8)).set(duration="2s").load()
    assert before.controls != after.controls and list(before.controls) == list(after.controls)
    assert goodput(tb.run(after)) == pytest.approx(2 * goodput(tb.run(before)), rel=0.02)


def test_it_is_not_sent_to_workers(tmp_path: Path) -> None:
    plan = tb.Plan([({}, lab(Steady).set(duration="1s"))])
    with pytest.raises(ValueError, match="Steady is written in Python, and is not sent to workers"):
        plan.execute(tmp_path / "out", client=object())


def test_it_is_captured(tmp_path: Path) -> None:
    from tailback import _core

    assert _core.capture(lab(Steady).set(duration="1s").load(), "bottleneck", tmp_path / "c.pcapng") > 200
    with pytest.raises(RuntimeError, match="leaves cwnd = nan"):
        wrong = type("Wrong", (Steady,), {"on_ack": lambda self, ack: setattr(self, "cwnd", float("nan"))})
        _core.capture(lab(wrong).set(duration="1s").load(), "bottleneck", tmp_path / "d.pcapng")


def test_a_text_from_elsewhere_runs_no_code(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('it ran')\n")
    text = TEXT.replace("mine.py", f"{tmp_path}/mine.py")
    with pytest.raises(tb.ScenarioError, match=r"is the Python class .* which is not known here"):
        tb.load_scenario(text, code=False)
    with pytest.raises(tb.ScenarioError, match="SystemExit: it ran"):
        tb.load_scenario(text)


def test_senders_of_a_comparison() -> None:
    answer = tb.compare_queues(
        rate="10Mbps",
        rtt="40ms",
        flows=2,
        senders=["cubic", MINE],
        traffic=["bulk"],
        queues=["droptail", "codel"],
        replications=2,
        duration="6s",
    )
    assert answer.to_dict()["link"]["senders"] == ["cubic", "Reno"]
    with pytest.raises(
        ValueError, match=r"senders = gone\.py:Reno: the class gone\.py:Reno: there is no file gone\.py"
    ):
        tb.compare_queues(rate="10Mbps", rtt="40ms", flows=2, senders=["gone.py:Reno"])


#: What may be wrong with a class: a line of it is replaced, and what the one message has to name.
SOUND = """
class Mine:
    def __init__(self, rules, *, gain: float = 1.0):
        self.rules, self.cwnd, self.ssthresh, self.pacing_rate = rules, 10 * rules.segment, float("inf"), None
        self.seen = 0
    def on_ack(self, ack):
        self.seen += 1
    def on_congestion(self, sign):
        self.cwnd = self.cwnd / 2
    def window_reset(self, reset):
        self.cwnd = reset.cwnd
    def sending_begins(self, now, srtt):
        self.began = now
    def seed(self, number):
        self.number = number
"""
METHODS = {
    "__init__": "self.seen = 0",
    "on_ack": "self.seen += 1",
    "on_congestion": "self.cwnd = self.cwnd / 2",
    "sending_begins": "self.began = now",
    "seed": "self.number = number",
}
LEFT = {
    "cwnd": ["float('nan')", "float('inf')", "1.0", "-3000", "0", "'10'", "None", "[]", "1j"],
    "ssthresh": ["float('nan')", "0", "-1", "'big'", "None"],
    "pacing_rate": ["0", "float('nan')", "-5.0", "float('inf')", "'1Mbps'", "()"],
}
RAISED = ["1 / 0", "raise SystemExit(3)", "raise KeyboardInterrupt", "self.gone", "raise ValueError('no')"]
STATIC = [
    ("    def on_ack(self, ack):\n        self.seen += 1\n", "", "it has no method on_ack"),
    ("def on_congestion(self, sign)", "def on_loss(self, sign)", "it has no method on_congestion"),
    ("def on_ack(self, ack)", "def on_ack(self)", "on_ack cannot be called with one argument"),
    ("def on_ack(self, ack)", "async def on_ack(self, ack)", "on_ack is a coroutine"),
    ("        self.seen += 1", "        yield 1", "on_ack is a coroutine or a generator"),
    ("def __init__(self, rules, *, gain: float = 1.0)", "def __init__(self, *, rules)", "no argument for the rules"),
    ("gain: float = 1.0", "gain=[]", "its parameter gain is neither"),
    ("class Mine:\n", "class Mine:\n    probes = 3\n", "Mine.probes is int"),
    ("class Mine:\n", "class Mine:\n    probes = ['no name']\n", "which is no attribute"),
    ("class Mine:\n", "class Mine:\n    echo = 'loud'\n", "has echo = 'loud'"),
    ("class Mine:\n", "class Mine:\n    codepoint = 3\n", "has codepoint = 3"),
    ("class Mine:\n", "class Mine:\n    wants_rate = 'yes'\n", "has wants_rate = 'yes'"),
    ("class Mine:\n", "class Mine:\n    marks = 'likes'\n", "has marks = 'likes'"),
    ("class Mine:\n", "class Mine:\n    ignores_losses = 1\n", "has ignores_losses = 1"),
    ("class Mine:\n", "class Mine:\n    undo = 3\n", "has undo = 3"),
    ("class Mine:", "class Mine(Gone):", "NameError"),
    ("class Mine:", "class Mine", "SyntaxError"),
    ("class Mine:", "class Other:", "has no class Mine"),
    ("        self.seen += 1", "        return 3", "on_ack returns 3"),
    (
        "class Mine:\n",
        "class Mine:\n    made = []\n    def __new__(cls, *a, **k):\n        cls.made = cls.made or "
        "[object.__new__(cls)]\n        return cls.made[0]\n",
        "gave the same object for two connections",
    ),
    # A thread of one's own: what it leaves is found at the next call.
    (
        "        self.seen = 0\n",
        "        self.seen = 0\n        import threading\n        t = threading.Thread("
        "target=lambda: setattr(self, 'cwnd', -1))\n        t.start(); t.join()\n",
        "leaves cwnd = -1",
    ),
]


def drawn_mistakes(n: int) -> list[tuple[str, str]]:
    """Classes that are wrong, and what the message about each has to contain."""
    rng = np.random.default_rng(31)
    found = [(SOUND.replace(old, new), said) for old, new, said in STATIC]
    while len(found) < n:
        method = str(rng.choice(list(METHODS)))
        line = METHODS[method]
        if rng.integers(2):
            attribute = str(rng.choice(list(LEFT)))
            value = str(rng.choice(LEFT[attribute]))
            wrong, said = f"self.{attribute} = {value}", f"Mine.{method} leaves {attribute} = "
        else:
            wrong, said = str(rng.choice(RAISED)), f"Mine.{method} failed"
        found.append((SOUND.replace(line, wrong), said))
    return found


@pytest.mark.parametrize("number", range(50))
def test_a_mistake_is_one_message_and_leaves_nothing(number: int, tmp_path: Path, capsys) -> None:
    source, said = drawn_mistakes(50)[number]
    (tmp_path / "mine.py").write_text(source)
    text = """
    duration = "3s"
    [link.bottleneck]
    from = "a"
    to = "b"
    rate = "10Mbps"
    delay = "20ms"
    queue = { kind = "droptail", buffer = "5 packets" }
    [flows.bulk]
    count = 2
    tcp = { congestion = "mine.py:Mine" }
    """
    (tmp_path / "lab.toml").write_text(text)
    before = threads()
    with pytest.raises((tb.ScenarioError, tb.RunError)) as e:
        tb.run(tmp_path / "lab.toml", replications=2, jobs=2, out=tmp_path / "out")
    message = str(e.value)
    assert said in message and "Mine" in message, message
    assert message.count("failed:") <= 2 and "engine stopped" not in message
    assert capsys.readouterr().err == ""
    # A thread of an earlier test may have ended meanwhile.
    assert threads() <= before
    assert {p.name for p in tmp_path.iterdir()} <= {"mine.py", "lab.toml", "out"}
    # The next run is not harmed.
    assert goodput(lab(Steady).run(duration="0.5s")) > 0


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_status_of_a_command_with_a_wrong_class(tmp_path: Path) -> None:
    """2 for a class that cannot be a control, 1 for a run that fails; one message, no traceback."""
    run = [sys.executable, "-m", "tailback", "run", "lab.toml"]
    for change, status, said in [
        (("def on_ack(self, ack)", "def on_ak(self, ack)"), 2, "it has no method on_ack"),
        (("self.seen += 1", "self.cwnd = float('nan')"), 1, "mine.py:Mine.on_ack leaves cwnd = nan ("),
    ]:
        (tmp_path / "mine.py").write_text(SOUND.replace(*change))
        (tmp_path / "lab.toml").write_text(TEXT.replace("Reno", "Mine").replace("kept", "gain"))
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status and said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and done.stderr.count("error:") == 1


def test_a_parent_in_another_file_decides_what_is_stored(tmp_path: Path) -> None:
    """Runs are not used again if the class stayed and its parent changed."""
    (tmp_path / "lab.toml").write_text(TEXT.replace("Reno", "Mine"))
    (tmp_path / "mine.py").write_text("import parent_of_mine\n\nclass Mine(parent_of_mine.Reno): ...\n")
    reused = []
    for kept in ("0.5", "0.5", "0.6"):
        (tmp_path / "parent_of_mine.py").write_text(EXAMPLE.read_text().replace("0.5", kept))
        plan = "tb.Plan([({}, tb.load_scenario('lab.toml'))])"
        code = f"import tailback as tb; print({plan}.execute('out').report['reused'])"
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        reused.append(int(done.stdout))
    assert reused == [0, 1, 0]


@pytest.mark.parametrize("default", ["float('nan')", "float('inf')", "10**30", "-1e999"])
def test_a_default_that_no_scenario_can_give_is_refused(default: str, tmp_path: Path) -> None:
    kind = "int" if "**" in default else "float"
    (tmp_path / "mine.py").write_text(SOUND.replace("gain: float = 1.0", f"gain: {kind} = {default}"))
    with pytest.raises(tb.ScenarioError, match=r"parameter gain has the default .*\n.*give it a finite number"):
        tb.congestion(f"{tmp_path / 'mine.py'}:Mine")


@pytest.mark.parametrize("window", ["1e300", "2e9"])
def test_a_window_beyond_all_memory_ends_the_run(window: str, tmp_path: Path) -> None:
    """Unpaced, such a window is sent at once; with a pacing rate it is none."""
    source = SOUND.replace("self.seen += 1", f"self.cwnd = {window}")
    (tmp_path / "mine.py").write_text(source)
    (tmp_path / "lab.toml").write_text(TEXT.replace("Reno", "Mine").replace("kept", "gain"))
    with pytest.raises(tb.RunError, match=r"leaves cwnd = .*give at most 1000000 segments, or set a pacing_rate"):
        tb.run(tmp_path / "lab.toml", duration="500ms")
    (tmp_path / "mine.py").write_text(source.replace('float("inf"), None', 'float("inf"), 1e7'))
    assert goodput(tb.run(tmp_path / "lab.toml", duration="500ms")) > 0


def test_a_sweep_finds_classes_beside_its_files(tmp_path: Path) -> None:
    """A class in a scenario and one on an axis, from another folder; changed code is run anew."""
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text() + "\n\nclass Other(Reno): ...\n")
    (tmp_path / "lab.toml").write_text(TEXT)
    paths = 'paths = ["flows.bulk.tcp.congestion"]'
    axis = f'[axis.control]\n{paths}\nvalues = ["mine.py:Reno", "mine.py:Other", "cubic"]\n'
    (tmp_path / "plan.toml").write_text(f'scenario = "lab.toml"\n{axis}')
    (tmp_path / "elsewhere").mkdir()
    command = [sys.executable, "-m", "tailback", "sweep", "../plan.toml", "--out", "out", "--json"]
    for reused in (0, 3, 0):
        done = subprocess.run(command, cwd=tmp_path / "elsewhere", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reused"] == reused
        if reused:
            (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text().replace("0.5", "0.6"))
    results = tb.read_results(tmp_path / "elsewhere" / "out")
    report = [*command[:3], "report", "out"]
    done = subprocess.run(report, cwd=tmp_path / "elsewhere", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(set(results.flows["goodput_bps"])) == 2, "Other is Reno, and CUBIC is not"


def test_the_lab_says_that_it_has_no_classes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text())
    (tmp_path / "lab.toml").write_text(TEXT)
    command = [sys.executable, "-m", "tailback", "lab", "lab.toml", "--export", "lab.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "mine.py:Reno is written in Python, which the lab does not run" in " ".join(done.stderr.split())


def windowed(segments: int) -> type:
    class Windowed(Steady):
        def __init__(self, rules) -> None:
            super().__init__(rules)
            self.cwnd = segments * rules.segment

    return Windowed


def test_what_a_class_remembers_decides_what_is_stored(tmp_path: Path) -> None:
    """Two classes of one function differ only in what they remember."""
    reused = []
    for segments in (2, 2, 20):
        plan = tb.Plan([({}, tb.load_scenario(lab(windowed(segments)).set(duration="1s")))])
        reused.append(plan.execute(tmp_path / "out").report["reused"])
    assert reused == [0, 1, 0]


def test_two_classes_of_one_name_are_not_taken_for_each_other() -> None:
    """A function that makes classes gives them one name; the network would run the later one twice."""

    def make(segments: float) -> type:
        class Fixed:
            def __init__(self, rules: Any) -> None:
                self.cwnd = segments * rules.segment

            def on_ack(self, ack: Any) -> None: ...

            def on_congestion(self, sign: Any) -> None: ...

        return Fixed

    small, large = (tb.congestion(make(n)) for n in (2.0, 20.0))
    with pytest.raises(tb.ScenarioError, match="is now the name of another class"):
        tb.dumbbell(flows={"small": {"tcp": {"congestion": small}}, "large": {"tcp": {"congestion": large}}})
    assert tb.dumbbell(tcp={"congestion": large})
