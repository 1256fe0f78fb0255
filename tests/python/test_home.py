"""What helps on a home line: physics, candidates, what is refused, the answer and its page."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback import _core
from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import candidates as known
from tailback.apps.ask.home import doing, summary
from tailback.apps.ask.home.answer import _Tried
from tailback.apps.ask.home.grade import grade
from tailback.apps.ask.home.line import question
from tailback.apps.ask.home.measures import HomeRun, asked
from tailback.apps.ask.home.phases import BOTH, DOWN, IDLE, UP, timeline
from tailback.apps.ask.trial import Trial
from tailback.linux import units
from tailback.linux.shaper import lines

LINE = {"down": "100Mbps", "up": "20Mbps", "rtt": "30ms"}


def runs(queue: str, seeds: int = 2, duration: str | None = None, **given: Any) -> list[HomeRun]:
    """The runs of one candidate on a line."""
    line = question(**{**LINE, **given})
    times = timeline(line, None if duration is None else tb.parse_time(duration))
    made = known.today() if queue == known.MODEM else known.candidate(queue, line)
    return _Tried(line, times, Trial(seeds), {made.name: made}, None).seeds(0, seeds)[made.name]


def mean(seen: list[HomeRun], phase: str) -> float:
    return float(np.mean([run.added(phase) for run in seen]))


# What has to be so on any line


def test_an_idle_line_adds_nothing() -> None:
    """Every probe takes the round trip and the time of its own packets on the lines, to the nanosecond."""
    (run,) = runs(known.MODEM, 1, traffic=["upload"])
    probe = run.phases[IDLE].probe
    assert len(probe) > 150 and float(np.ptp(probe)) < 1e-9
    bits = 64 * 8
    # Up and down: Gigabit Ethernet, the shaper's port, the line.
    expected = 0.030 + 2 * 2 * bits / 1e9 + bits / 20e6 + bits / 100e6
    assert abs(probe[0] - expected) < 2e-9


def test_an_upload_fills_the_modem() -> None:
    """One upload behind the modem alone: the longest waits are the modem's buffer."""
    seen = runs(known.MODEM, 3, traffic=["upload"])
    longest = np.mean([np.quantile(run.phases[UP].probe, 0.99) - np.mean(run.phases[IDLE].probe) for run in seen])
    assert abs(longest / 0.250 - 1) < 0.05, longest
    assert 0.7 * 0.250 < mean(seen, UP) < 0.250


def test_a_shaper_at_the_whole_rate_does_nothing_to_a_download() -> None:
    """What arrives through the line at its rate never waits behind it."""
    today = runs(known.MODEM, 2, traffic=["bulk"])
    whole = runs("fq-codel", 2, traffic=["bulk"], share="100%", link="ethernet")
    framed = runs(known.MODEM, 2, traffic=["bulk"], link="ethernet")
    assert abs(mean(whole, DOWN) - mean(framed, DOWN)) < 0.02 * mean(framed, DOWN)
    assert mean(today, DOWN) > 0.1


def test_cake_keeps_an_upload_below_ten_milliseconds() -> None:
    assert mean(runs("cake", 3, traffic=["upload"]), UP) < 0.010


def test_the_start_of_downloads_is_still_felt_and_less_behind_a_smaller_share() -> None:
    starts = {}
    for share in ("95%", "70%"):
        seen = runs("cake", 3, traffic=["bulk"], transfers=16, share=share, link="ethernet")
        starts[share] = float(np.mean([run.start() for run in seen]))
        assert mean(seen, DOWN) < 0.010
    assert starts["95%"] > 0.020
    assert starts["70%"] < starts["95%"]


def test_hosts_share_before_flows_with_cake_alone() -> None:
    """A host with one upload beside a host with four: cake gives each half of the line, fq-codel a fifth of it."""
    shares = {}
    for queue in ("cake", "fq-codel"):
        (run,) = runs(queue, 1, traffic=["bulk", "upload"], link="ethernet")
        up = run.phases[UP].by_kind["upload", "up"]
        shares[queue] = up / run.phases[UP].goodput["up"]
    assert abs(shares["cake"] - 0.5) < 0.05 and abs(shares["fq-codel"] - 0.2) < 0.05, shares


# The question


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"down": "100"}, "down = 100"),
        ({"down": "10kbps"}, "from 64kbps to 10Gbps"),
        ({"rtt": "0s"}, "from 1ms to 2s"),
        ({"hosts": 0}, "hosts = 0: give a number of hosts behind the line from 1 to 50"),
        ({"link": "docsi"}, "did you mean 'docsis'?"),
        ({"traffic": ["web", "call"]}, "nothing here loads the line; add bulk, upload"),
        ({"traffic": ["bulk", "calls"]}, "did you mean 'call'?"),
        ({"traffic": ["rrul", "rrul-be"]}, "name one of them"),
        ({"modem": "10B"}, "at least 6KB"),
        ({"modem": "x"}, "modem = x"),
        ({"modem": "1s,2s,3s"}, "two: down,up"),
        ({"share": "101%"}, "from 10% to 100%"),
        ({"share": "much"}, "such as 95%"),
        ({"sender": "cubik"}, "cubic"),
        ({"varies": "dawn"}, "evening, lte, satellite, a range"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LinkError, match=said.replace("?", r"\?")):
        question(**{**LINE, **given})


def test_a_run_that_is_too_short_is_refused() -> None:
    with pytest.raises(LinkError, match="duration = 20s: 3 phases with load"):
        timeline(question(**LINE), 20.0)


def test_buffers_are_a_time_at_their_own_rate() -> None:
    line = question(**LINE)
    assert (line.down_buffer, line.up_buffer) == (3_125_000, 625_000)
    line = question(**LINE, modem="64KB,1s")
    assert (line.down_buffer, line.up_buffer) == (64_000, 2_500_000)


def test_phases_follow_the_load() -> None:
    assert [p.name for p in timeline(question(**LINE)).phases] == [IDLE, DOWN, UP, BOTH]
    assert [p.name for p in timeline(question(**LINE, traffic=["upload"])).phases] == [IDLE, UP]


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        (["cak"], "did you mean 'cake'?"),
        (["cake", "cake"], "cake is given twice"),
        (["modem"], "at least one discipline beside the modem"),
        (["gone.py:Mine"], "there is no file gone.py"),
        ([{"kind": "nothing"}], "no discipline 'nothing'"),
    ],
)
def test_candidates_that_are_refused(queues: list[Any], said: str) -> None:
    with pytest.raises(LinkError, match=said.replace("?", r"\?")):
        known.chosen(queues, question(**LINE))


def test_a_class_that_is_not_in_its_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Fifo:\n    pass\n")
    with pytest.raises(LinkError, match="has no class Fif; its classes are Fifo"):
        known.candidate(f"{tmp_path}/mine.py:Fif", question(**LINE))
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(LinkError, match="ZeroDivisionError"):
        known.candidate(f"{tmp_path}/broken.py:Fifo", question(**LINE))


def test_parameters_are_those_of_the_lines() -> None:
    """What runs and what is pasted have the same numbers: target and quantum on a slow line, the framing, the rate."""
    line = question("20Mbps", "1Mbps", "30ms", link="vdsl", traffic=["bulk"])
    made = known.candidate("fq-codel", line)
    up, down = made.queues(line, line.share)
    words = " ".join(one.text for one in lines(known.setup(made, line)).up)  # type: ignore[arg-type]
    for name in ("target", "interval"):
        assert f"{name} {units.time_text(_core.parse_time(up['queue'][name]))}" in words
    assert up["queue"]["quantum"] == "300B" and "quantum 300" in words
    assert f"rate {int(up['rate'].removesuffix('bps')) // 1000}kbit" in words and "burst" in up
    assert "target" not in down["queue"]
    cake_up, cake_down = known.candidate("cake", line).queues(line, line.share)
    assert cake_up["framing"] == "ptm" and cake_up["overhead"] == "22B" and cake_down["ingress"] is True


@pytest.mark.parametrize(("added", "expected"), [(0.0049, "A+"), (0.005, "A"), (0.06, "C"), (0.399, "D"), (0.4, "F")])
def test_grades(added: float, expected: str) -> None:
    assert grade(added) == expected


# The answer

SMALL: dict[str, Any] = {
    "down": "20Mbps",
    "up": "5Mbps",
    "rtt": "30ms",
    "link": "docsis",
    "replications": 3,
    "duration": "60s",
}
MINE = """
import tailback as tb

class TwoLevels:
    \"\"\"Small packets first, each kind with room for forty.\"\"\"

    def __init__(self):
        self.small, self.large = [], []

    def enqueue(self, packet, line, out):
        queue = self.small if packet.bytes < 500 else self.large
        if len(queue) >= 40:
            out.dropped(packet, "arriving", "overflow")
        else:
            queue.append(packet)

    def dequeue(self, line, out):
        for queue in (self.small, self.large):
            if queue:
                return queue.pop(0)
        return None

    def backlog(self):
        waiting = self.small + self.large
        return len(waiting), sum(p.bytes for p in waiting)
"""


@pytest.fixture(scope="module")
def answer() -> Any:
    return tb.home_line(**SMALL)


def test_the_answer_names_who_comes_first_and_what_it_costs(answer: Any) -> None:
    text = answer.text(100)
    assert "come" in text and "(grade " in text and "It costs" in text
    assert "modem" in text and "behind a shaper" in text
    assert all(len(line) <= 100 for line in text.split("On Linux")[0].splitlines())
    assert "limit" not in text and "memlimit" not in text
    assert answer.grade("modem") in "CDF" and answer.grade(answer.best) == "A+"


def test_the_answer_says_how_to_type_undo_and_check_the_lines(answer: Any) -> None:
    text = " ".join(answer.text(100).split())
    assert "as root on the router" in text and "this needs the package sqm-scripts" in text
    undo = text.split(" ".join(doing.UNDO_LINUX.split()))[1]
    assert undo.startswith(" tc qdisc del dev WAN root") and "uci delete sqm.wan" in undo
    check = text.split("To check: ")[1]
    assert summary.milliseconds(answer.estimate("added_down_s", answer.best)) + " under a download" in check
    assert "If you change nothing, the column 'today: the modem'" in text and doing.NOT_NEEDED not in text
    # The lines and the block of SQM let cake mark, whatever the hosts of the model do.
    assert (
        "option egress_ecn 'ECN'" in text and "ECN is off at the hosts of the model; cake on the router marks" in text
    )


def test_the_document_has_everything(answer: Any) -> None:
    document = json.loads(json.dumps(answer.to_dict()))
    assert {row["queue"] for row in document["ranking"]} == {"modem", "fq-codel", "cake"}
    cake = next(row for row in document["ranking"] if row["queue"] == "cake")
    assert cake["tc"][0].startswith("tc qdisc replace dev WAN root cake bandwidth 4750kbit")
    assert (
        len(document["shares"]) == 5 and document["line"]["modem"] == "assumed" and document["line"]["link"] == "docsis"
    )
    modem = next(row for row in document["ranking"] if row["queue"] == "modem")
    assert modem["tc"] is None and modem["values"]["added_up_s"] > 0.1


def test_the_page_is_one_file(answer: Any, tmp_path: Path) -> None:
    page = answer.write_page(tmp_path)
    html = page.read_text()
    assert "To check: " in html and "If you change nothing" in html and "as root on the router" in html
    assert "behind a shaper" in html and "today, no shaper" in html and "config queue &#39;wan&#39;" in html
    assert "<script" not in html and 'src="http' not in html
    scenario = tb.load_scenario(tmp_path / "scenarios" / "cake.toml")
    assert abs(scenario.duration_s - answer.times.duration_s) < 1e-6


def test_a_discipline_in_python_takes_part(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    found = tb.home_line(
        **{**SMALL, "replications": 2, "duration": "40s"}, queues=["fq-codel", f"{tmp_path}/mine.py:TwoLevels"]
    )
    assert "TwoLevels" in found.text() and "TwoLevels" in found.write_page(tmp_path).read_text()
    assert found.added("TwoLevels") < 0.2 * found.added("modem")
    assert found.lines("TwoLevels") is None


# The command


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tailback", *words], capture_output=True, text=True, check=False)


HOME = ("home", "--down", "100Mbps", "--up", "20Mbps")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["home", "--rtt", "30ms"], "--down is missing: give --down, --up and --rtt"),
        (["compare", "--rtt", "30ms"], "Missing option '--rate'"),
        (["home", "--down", "100Mbps", "--rtt", "30ms"], "--up is missing"),
        (["compare", "--rate", "1Gbps", "--down", "100Mbps", "--up", "20Mbps", "--rtt", "30ms"], "tailback home"),
        ([*HOME, "--rtt", "30ms", "--buffer", "10 packets"], "No such option"),
        (["compare", "--rate", "10Mbps", "--rtt", "30ms", "--hosts", "3"], "No such option"),
        ([*HOME, "--rtt", "30ms,40ms"], "--rtt = 30ms,40ms"),
        ([*HOME, "--rtt", "30ms", "--senders", "cubic,bbr"], "--senders = cubic,bbr"),
        ([*HOME, "--rtt", "30ms", "--link", "dsl"], "--link = dsl"),
    ],
)
def test_the_command_refuses_with_a_remedy(words: list[str], said: str) -> None:
    done = command(*words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["home", "compare"])
def test_the_command_prints_one_document(name: str) -> None:
    done = command(
        name, "--down", "10Mbps", "--up", "2Mbps", "--rtt", "30ms", "--traffic", "upload", "--duration", "25s",
        "--replications", "2", "--queue", "cake", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best"] == "cake"
    # The old words of the command work, and say so.
    assert ("is now `tailback home`" in done.stderr) == (name == "compare")


def test_a_line_that_varies_runs() -> None:
    """A shaper at a fixed rate cannot help where the line falls below it."""
    steady, evening = (
        mean(runs("cake", 2, traffic=["upload"], varies=varies, link="ethernet"), UP) for varies in (None, "evening")
    )
    assert steady < 0.010 < evening


def test_other_shares_need_no_phase_with_both_loads() -> None:
    """Their runs end before that phase, and show the same of the other phases as longer runs."""
    line = question(**LINE, traffic=["bulk", "call", "game", "web"])
    times = timeline(line, 40)
    made = known.candidate("cake", line)
    tried = _Tried(line, times, Trial(1), {known.MODEM: known.today(), made.name: made}, None)
    whole = tried.seeds(0, 1)[made.name]
    tried.other_shares = [line.share]
    (short,) = tried.shares(made.name).values()
    assert BOTH in whole[0].phases and BOTH not in short[0].phases
    assert short[0].graded == whole[0].graded
    for phase in (DOWN, UP):
        assert short[0].phases[phase].goodput == whole[0].phases[phase].goodput
    # Measures under most load would be of another phase here, so they are left out.
    found = tried.answer({known.MODEM: whole, made.name: whole}, asked(line))
    (told,) = dataclasses.replace(found, shares={line.share: short}).document()["shares"]
    assert {"added_s", "added_down_s", "start_s", "goodput_up"} <= set(told)
    for m in asked(line):
        assert (m.name in told) != m.both and (m.both or told[m.name] == m.value(whole[0])), m.name
    alone = timeline(question(**LINE, traffic=["upload"]))
    assert alone.one_way == alone


def test_rrul_has_flents_marks() -> None:
    line = question(**LINE, traffic=["rrul"])
    from tailback.apps.ask.home.traffic import groups

    made = groups(line, timeline(line))
    marks = {g.table["dscp"] for g in made.values() if g.kind == "rrul" and g.direction == "up"}
    assert marks == {"CS0", "CS1", "CS5", "EF"}
    assert {"rrul-ping", "rrul-udp-be", "rrul-udp-bk", "rrul-udp-ef"} <= set(made)
