"""Dialogues of the RFCs: our senders keep every line, and a sender in which the rule is broken does not.

`MUTANTS` has a broken sender for every line: other parameters, or a shell around the sender that changes what it hears
or what is seen of it.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.apps.conformance.aqm import FOLDER
from tailback.apps.conformance.dialogue import DialogueError, evaluate, parse
from tailback.apps.conformance.lines import Dialogue, installed
from tailback.apps.conformance.ours import OurSender
from tailback.apps.conformance.play import play
from tailback.apps.conformance.receiver import FarEnd, GivenAck, PlayedPath, SentSegment
from tailback.apps.conformance.run import accurate, facts, ours, spared, try_line
from tailback.apps.conformance.ways import try_ways

LINES = {line.name: line for file in installed() for line in file.lines}
MY_RENO = Path(tailback.__file__).parent / "examples" / "my_reno.py"
CONTROLS = ("reno", "cubic", "dctcp", "bbr")
#: Asked without other settings only: its lines need a path, and take seconds.
OF_PATHS = ("bbr3",)


class Shell:
    """A sender of ours, and what is changed of it."""

    slack_ns, slack_share, whole = 0, 0.0, False

    def __init__(self, own: OurSender) -> None:
        self.own = own

    def write(self, segments: int | None, more: int = 0) -> None:
        self.own.write(segments, more)

    def withdraw(self) -> None:
        self.own.withdraw()

    def give(self, answer: GivenAck) -> None:
        self.own.give(answer)

    def advance(self, until_ns: int) -> None:
        self.own.advance(until_ns)

    def take(self) -> list[SentSegment]:
        return self.own.take()

    def state(self) -> Mapping[str, float]:
        return self.own.state()


class Deaf(Shell):
    """No acknowledgement has an effect, so that none stops or restarts the timer."""

    def give(self, answer: GivenAck) -> None:
        pass


class Mute(Shell):
    """Nothing is sent again, as if no timer ran."""

    def take(self) -> list[SentSegment]:
        return [s for s in super().take() if not s.again]


class Latest(Shell):
    """What is sent again is not the earliest segment but the one behind it."""

    def take(self) -> list[SentSegment]:
        return [replace(s, number=s.number + s.again) for s in super().take()]


class Late(Shell):
    """An acknowledgement is heard 60 ms later, so that round trips are measured wrong."""

    def __init__(self, own: OurSender) -> None:
        super().__init__(own)
        self.now_ns = 0
        self.waiting: list[tuple[int, GivenAck]] = []

    def give(self, answer: GivenAck) -> None:
        self.waiting.append((self.now_ns + 60_000_000, answer))

    def advance(self, until_ns: int) -> None:
        while self.waiting and self.waiting[0][0] <= until_ns:
            due, answer = self.waiting.pop(0)
            self.own.advance(due)
            self.own.give(answer)
        self.now_ns = until_ns
        self.own.advance(until_ns)


class EchoIsLoss(Shell):
    """An echo counts as the report of three segments above a hole."""

    def give(self, answer: GivenAck) -> None:
        if "ece" in answer.flags:
            answer = replace(answer, reports=((answer.acked + 2, answer.acked + 4),))
        super().give(answer)


class NoCwr(Shell):
    """CWR is never set."""

    def take(self) -> list[SentSegment]:
        return [replace(s, flags=s.flags - {"cwr"}) for s in super().take()]


class Ahead(Shell):
    """An acknowledgement of one segment counts as one of two."""

    def give(self, answer: GivenAck) -> None:
        super().give(replace(answer, acked=answer.acked + 1))


class TwoReports(Shell):
    """No more than two segments count as reported."""

    def give(self, answer: GivenAck) -> None:
        super().give(replace(answer, reports=tuple((a, min(b, a + 1)) for a, b in answer.reports)))


class Unmoved(Shell):
    """Its model of the path never leaves Startup, so that it has no bounds, and its rate is what it was."""

    def state(self) -> Mapping[str, float]:
        return {**super().state(), "mode": 0.0, "bottleneck_rate": 1.0, "inflight_longterm": math.inf}


def binomial(**own: float) -> dict[str, Any]:
    return {"congestion": {"kind": "binomial", "law": "aimd", **own}}


# For each line a sender that breaks its rule: parameters, and the shell around it.
MUTANTS: dict[str, tuple[dict[str, Any], type[Shell]]] = {
    "bbr1/startup-doubles": ({"congestion": "reno", "initial_ssthresh": "10 packets"}, Shell),
    "bbr1/startup-is-paced": ({"congestion": "reno"}, Shell),
    "bbr1/a-loss-is-no-reduction": ({"congestion": "reno"}, Shell),
    "bbr1/window-of-two-products": ({"congestion": "reno"}, Shell),
    "bbr1/probe-rtt": ({"congestion": "reno"}, Shell),
    "rfc3042/one-new-segment-a-duplicate": ({"limited_transmit": False}, Shell),
    "rfc3042/no-repeats": ({"dupack_threshold": 2}, Shell),
    "rfc3042/the-window-stays": ({"dupack_threshold": 2}, Shell),
    "rfc3042/two-segments-beyond-the-window": ({"limited_transmit_form": "per_duplicate"}, Shell),
    "rfc3168/data-is-capable": ({"ecn": "off"}, Shell),
    "rfc3168/an-echo-reduces": ({"ecn": "ignore"}, Shell),
    "rfc3168/one-reduction-a-window": ({"congestion": "scalable"}, Shell),
    "rfc3168/cwr": ({}, NoCwr),
    "rfc3168/an-echo-does-not-grow": ({"ecn": "ignore"}, Shell),
    "rfc3168/no-repeat": ({}, EchoIsLoss),
    "rfc3168/repeats-are-not-capable": ({"ect_on_retransmissions": True}, Shell),
    "rfc5681/initial-window": ({"initial_window": "20 packets"}, Shell),
    "rfc5681/initial-window-after-a-lost-syn": ({"syn_loss_window": "initial"}, Shell),
    "rfc5681/slow-start": ({"byte_counting": 8}, Ahead),
    "rfc5681/slow-start-counts-bytes": ({"byte_counting": 8}, Shell),
    "rfc5681/avoidance": (binomial(a=2), Shell),
    "rfc5681/avoidance-with-delayed-acks": ({"byte_counting": 0}, Shell),
    "rfc5681/loss-halves-the-flight": (binomial(b=0.2), Shell),
    "rfc5681/threshold-of-two-segments": (binomial(b=0.2), Shell),
    # As a sender that counts the two segments of limited transmit: half of six.
    "rfc5681/limited-transmit-is-not-in-the-flight": (binomial(b=0.25), Shell),
    "rfc5681/timeout-leaves-one-segment": ({"timeout_reaction": "halve"}, Shell),
    "rfc5681/timeout-halves-the-flight": (binomial(b=0.2), Shell),
    "rfc5681/a-second-timeout-keeps-the-threshold": ({"repeated_timeout": "lower"}, Shell),
    "rfc5681/fast-retransmit": ({"dupack_threshold": 4}, Shell),
    "rfc5681/fast-recovery-inflates": ({"variant": "tahoe"}, Shell),
    "rfc5681/fast-recovery-deflates": ({"grow_on_exit": True}, Shell),
    "rfc5681/restart-window": ({"idle_restart": False}, Shell),
    "rfc5682/two-new-segments": ({"frto": False}, Shell),
    "rfc5682/spurious-timeout": ({"frto": False}, Shell),
    "rfc5682/real-timeout": ({"frto": False}, Shell),
    "rfc5681/the-advertised-window": ({"connection": "one-way"}, Shell),
    "rfc5681/half-a-segment": ({"initial_ssthresh": "5 packets"}, Shell),
    "rfc7323/the-echo-says-which-copy": ({"timestamps": False}, Shell),
    "rfc7323/the-echo-of-the-first-copy": ({"timestamps": False}, Shell),
    "linux/disorder-and-recovery": ({"loss": "dupthresh", "dupack_threshold": 5}, Shell),
    "linux/a-reduction-by-marks": ({"ecn": "ignore"}, Shell),
    "linux/loss": ({"tlp": True, "loss": "rack"}, Shell),
    "rfc6298/first-timeout-of-a-syn": ({"initial_rto": "3s"}, Shell),
    "rfc6298/first-sample": ({"rto_form": "ticks", "clock_granularity": "500ms"}, Shell),
    "rfc6298/next-samples": ({}, Late),
    "rfc6298/floor-of-one-second": ({"min_rto": "200ms"}, Shell),
    # The echo of the first copy's time stamp gives a sample of the segment that was sent twice.
    "rfc6298/no-sample-of-a-repeat": ({"timestamps": True}, Shell),
    "rfc6298/timer-starts-with-data": ({}, Mute),
    "rfc6298/timer-stops-when-all-is-acknowledged": ({}, Deaf),
    "rfc6298/new-ack-restarts-the-timer": ({}, Deaf),
    "rfc6298/earliest-segment-first": ({}, Latest),
    "rfc6298/backoff": ({"max_rto": "1s"}, Shell),
    "rfc6298/greatest-timeout": ({"max_rto": "50s"}, Shell),
    "rfc6298/three-seconds-after-a-lost-syn": ({"syn_backoff": "keep"}, Shell),
    "rfc6298/backoff-lasts-until-a-sample": ({"backoff_ends": "ack"}, Shell),
    "rfc6582/a-partial-ack-repairs-the-next": ({"variant": "reno"}, Shell),
    "rfc6582/a-partial-ack-deflates": ({"partial_ack_excess": "window"}, Shell),
    "rfc6582/a-full-ack-ends-recovery": ({"grow_on_exit": True}, Shell),
    "rfc6582/no-fast-retransmit-after-a-timeout": ({"inflation": "window"}, Shell),
    "rfc6582/one-reduction-an-episode": ({"variant": "reno"}, Shell),
    "rfc6675/three-segments-above": ({"dupack_threshold": 4}, Shell),
    "rfc6675/discontiguous-reports": ({"dupack_threshold": 4}, Shell),
    "rfc6675/two-segments-above-are-not-enough": ({"dupack_threshold": 2}, Shell),
    "rfc6675/an-ack-that-moves-and-reports": ({"variant": "newreno"}, Shell),
    "rfc6675/every-hole-is-repaired": ({"variant": "newreno"}, Shell),
    "rfc6675/the-pipe-limits-what-is-sent": ({"prr": "losses"}, Shell),
    "rfc6675/recovery-ends-at-its-point": ({"variant": "reno"}, Shell),
    "rfc6675/one-reduction-an-episode": ({"variant": "reno"}, Shell),
    "rfc6675/rescue": ({"sack_form": "pipe"}, Shell),
    "rfc6937/in-proportion": ({"prr": "off"}, Shell),
    "rfc6937/ends-at-the-threshold": ({"grow_on_exit": True}, Shell),
    "rfc8257/alpha-begins-at-one": ({"congestion": {"kind": "dctcp", "alpha": 0.2}}, Shell),
    "rfc8257/alpha-without-marks": ({"congestion": {"kind": "dctcp", "gain": 0.25}}, Shell),
    "rfc8257/alpha-of-marks": ({"ecn": "ignore"}, Shell),
    "rfc8257/alpha-cuts": ({"congestion": "reno"}, Shell),
    "rfc8257/one-cut-a-window": ({"congestion": "scalable"}, Shell),
    "rfc8257/losses-as-reno": ({"congestion": "cubic"}, Shell),
    "bbr3/startup-ends-on-a-plateau": ({}, Unmoved),
    "bbr3/startup-ends-on-loss-when-limited": ({}, Unmoved),
    "bbr3/drain-ends-on-inflight": ({}, Unmoved),
    "bbr3/drain-ends-after-three-rounds": ({}, Unmoved),
    "bbr3/up-ends-on-a-plateau": ({}, Unmoved),
    "bbr3/up-ends-on-loss-when-limited": ({}, Unmoved),
    "bbr3/limited-without-loss-stays-in-up": ({}, Unmoved),
    "bbr3/down-ends-on-inflight": ({}, Unmoved),
    "bbr3/down-ends-after-its-time": ({}, Unmoved),
    "bbr3/probe-rtt": ({}, Unmoved),
    "bbr3/no-probe-rtt-after-a-rest": ({}, Unmoved),
    "bbr3/aggregation-in-startup": ({}, Unmoved),
    "bbr3/aggregation-in-cruise": ({}, Unmoved),
    "bbr3/less-than-a-packet": ({}, Unmoved),
    "bbr3/ten-times-the-rate": ({}, Unmoved),
    "bbr3/the-bound-grows-faster-each-round": ({}, Unmoved),
    "bbr3/a-tenth-of-the-rate": ({}, Unmoved),
    "bbr3/a-policer": ({}, Unmoved),
    "bbr3/a-spurious-recovery-is-undone": ({}, Unmoved),
    "bbr3/a-spurious-timeout-is-undone": ({}, Unmoved),
    "bbr3/probe-rtt-in-startup": ({}, Unmoved),
    "bbr3/a-loss-in-up-lowers-the-bound": ({}, Unmoved),
    "bbr3/limited-in-refill": ({}, Unmoved),
    "rfc8985/reordering-window": ({"loss": "dupthresh"}, Shell),
    "rfc8985/no-window-after-three-reports": ({}, TwoReports),
    "rfc8985/a-lost-repair-is-found": ({"loss": "dupthresh"}, Shell),
    "rfc8985/tail-loss-probe": ({"tlp": False}, Shell),
    "rfc8985/probe-with-new-data": ({"tlp": False}, Shell),
    # A control without losses as signs, as its window is above what it may do.
    "rfc5681/a-loss-slows": ({"congestion": "bbr"}, Shell),
    "rfc8985/a-reported-probe-starts-the-repair": ({"tlp": False}, Shell),
    "rfc8985/probe-of-a-single-segment": ({"tlp_ack_delay": "1us"}, Shell),
    "rfc9438/beta": ({"congestion": {"kind": "cubic", "beta": 0.5}}, Shell),
    "rfc9438/beta-for-an-echo": ({"ecn_decrease": 0.9}, Shell),
    "rfc9438/back-at-the-plateau": ({"congestion": {"kind": "cubic", "c": 0.8}}, Shell),
    "rfc9438/beyond-the-plateau": ({"congestion": {"kind": "cubic", "c": 0.8}}, Shell),
    "rfc9438/reno-friendly": ({"congestion": {"kind": "cubic", "reno_friendly": False}}, Shell),
    "rfc9438/fast-convergence": ({"congestion": {"kind": "cubic", "fast_convergence": False}}, Shell),
    "rfc9438/timeout": ({"congestion": {"kind": "cubic", "beta": 0.5}}, Shell),
    "rfc9438/spurious-event-is-undone": ({"undo": "off"}, Shell),
}  # fmt: skip


def control_of(line: Dialogue) -> str:
    """The first control that a line is for."""
    first = line.table.to[0]
    return "reno" if first == "any" else first


@pytest.mark.parametrize("name", LINES)
def test_our_senders_keep_every_line(name: str) -> None:
    line = LINES[name]
    for control in (*CONTROLS, *OF_PATHS):
        if line.is_for(control) and not spared(line, facts(control)):
            assert try_line(line, ours(line, control), accurate(control)) == "", control


def test_every_line_has_a_mutant() -> None:
    assert set(MUTANTS) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_a_sender_that_breaks_the_rule_fails(name: str) -> None:
    line, (change, shell) = LINES[name], MUTANTS[name]
    control = control_of(line)
    found = try_line(line, shell(ours(line, control, **change)), accurate(control))
    assert found.startswith("step "), name


def test_what_a_control_says_spares_it_a_line_and_the_summary_tells_which_rules_were_asked(
    tmp_path: Path, cli: Any
) -> None:
    deaf = "class Deaf:\n    def __init__(self, rules): self.cwnd = rules.initial_window\n"
    deaf += "    def on_ack(self, ack): self.cwnd += 10 * ack.acked\n    def on_congestion(self, sign): pass\n"
    (tmp_path / "mine.py").write_text(deaf)
    asked = f"{tmp_path / 'mine.py'}:Deaf"
    done = cli("conform", asked)
    assert done.returncode == 1 and "rfc5681/a-loss-slows" in done.stdout
    assert "rules of its own algorithm: none asked; --like NAME" in done.stdout
    (tmp_path / "mine.py").write_text(deaf.replace("class Deaf:", "class Deaf:\n    ignores_losses = True"))
    said = cli("conform", asked)
    assert said.returncode == 0 and "the control says that it ignores losses" in said.stdout


def test_a_mutant_is_no_other_sender() -> None:
    """The shells themselves change nothing."""
    line = LINES["rfc6675/every-hole-is-repaired"]
    assert try_line(line, Shell(ours(line, "reno")), False) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0ms path 3ms room 4", "write how long the line takes for a segment"),
        ("0ms jump 3", "step 1, '0ms jump 3': 'jump': there is no such step; there are open, write,"),
        ("# nothing", "the dialogue has no steps"),
        ("1ms write 1\nB write 3", "step 2, 'B write 3': 'B write 3': this step needs both ends"),
    ],
)
def test_a_wrong_dialogue_is_said(text: str, says: str) -> None:
    with pytest.raises(DialogueError) as e:
        parse(text)
    assert says in str(e.value)


def test_an_unknown_state_is_said() -> None:
    line = LINES["rfc5681/initial-window"]
    with pytest.raises(DialogueError, match="there is no state 'widow'; there are backoff, ca_state, cwnd"):
        play(parse("0ms widow = 3"), ours(line, "reno"), FarEnd())


def test_a_window_that_grows_without_end_is_said() -> None:
    line = LINES["rfc5681/initial-window"]
    with pytest.raises(DialogueError, match="more than 200000 segments were sent; lose one"):
        play(parse("0ms path 10ms\n0ms write forever\n100s cwnd > 1"), ours(line, "reno"), FarEnd())


#: Lines that do not hold with the profile `linux`, and that its page says are other rules there.
EVERYWHERE = {"rfc5681/initial-window-after-a-lost-syn", "rfc6298/floor-of-one-second"}
GROWTH = {"rfc5681/half-a-segment", "rfc5681/slow-start-counts-bytes"}
REPAIR = {
    "rfc5681/fast-recovery-deflates",
    "rfc5681/fast-recovery-inflates",
    "rfc6582/a-partial-ack-deflates",
    "rfc6675/the-pipe-limits-what-is-sent",
}
DIFFERENT = {
    "reno": EVERYWHERE | GROWTH | REPAIR,
    "cubic": EVERYWHERE | GROWTH,
    "dctcp": EVERYWHERE | {"rfc3168/repeats-are-not-capable", "rfc6675/the-pipe-limits-what-is-sent"},
    "bbr": EVERYWHERE | {"bbr1/probe-rtt", "bbr1/startup-is-paced", "bbr1/window-of-two-products"},
    "prague": EVERYWHERE,
}


@pytest.mark.parametrize("control", [*CONTROLS, "prague"])
def test_each_line_holds_under_each_setting_or_says_why_not(control: str) -> None:
    found = try_ways(LINES.values(), control)
    assert [f"{v.line.name}, {way}: {v.found}" for row in found for way, v in row.items() if v.word == "fails"] == []
    assert all(v.found for row in found for v in row.values() if v.word != "holds")
    different = {way: {row[way].line.name for row in found if row[way].word == "differs"} for way in found[0]}
    assert different["linux"] == DIFFERENT[control]
    assert all(names <= DIFFERENT[control] for names in different.values()), different
    held = {way: sum(row[way].word == "holds" for row in found) for way in found[0]}
    assert held["default"] == len(found) and min(held.values()) >= len(found) // 3, held


def test_the_table_of_settings(cli: Any) -> None:
    done = cli("conform", "reno", "--settings", "--only", "rfc6298/no-sample")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split() == [
        "rfc6298/no-sample-of-a-repeat",
        "holds",
        "-",
        "holds",
        "-",
        "-",
        "-",
    ]
    wrong = cli("conform", "--kernel", "cubic", "--settings")
    assert (wrong.returncode, "--settings is for a congestion control of the simulator" in wrong.stderr) == (2, True)


def test_steps_of_bytes_windows_and_echoes_are_read() -> None:
    write, answer, sends = parse("0ms write 2500B\n1ms < ack 500B win 3 of 2 again\n1ms > 3 ect0 500B")
    assert write.count == 2500
    assert (answer.count, answer.window, answer.of, answer.name) == (500, 3000, 2, "again")
    assert (sends.segments, sends.words, sends.count) == ((3,), ("ect0",), 500)
    for wrong, said in (
        ("< ack 1 win x", "'x': write a whole number from 0"),
        ("< ack 1 of all", "'all': write a whole number from 0"),
        ("> 1 5MB", "'MB': a segment has cwr, no-cwr"),
    ):
        with pytest.raises(DialogueError, match=re.escape(said)):
            parse(wrong)


def test_sums_of_products() -> None:
    value = parse("keep X = 2 * W + 3 - 0.5 * 100ms")[0].value
    assert evaluate(value, {"W": 4.0}.__getitem__) == pytest.approx(10.95)


def test_the_far_end_reports_the_newest_first() -> None:
    far = FarEnd(dsack=True)
    answers = [far.arrive(SentSegment(0, n), False) for n in (1, 3, 6, 7, 3, 2)]
    assert [a.acked for a in answers] == [1, 1, 1, 1, 1, 3]
    assert answers[3].reports == ((6, 7), (3, 3))
    assert answers[4].reports == ((3, 3), (6, 7), (3, 3)), "what came twice is first"


def test_a_line_has_a_queue_or_a_bucket_and_may_lose_each_tenth() -> None:
    def due(way: tuple[int, int | None, int | None, int, int], times: list[int]) -> list[int]:
        path = PlayedPath(FarEnd())
        path.change(100, way, 0)
        for n, at in enumerate(times, 1):
            path.carry(SentSegment(at, n))
        found = []
        while path.next_ns is not None:
            found.append(path.next_ns)
            path.answer()
        return found

    assert due((10, None, None, 0, 0), [0, 0, 0, 50]) == [110, 120, 130, 160]
    assert due((10, 1, None, 0, 0), [0, 0, 0, 0]) == [110, 120], "one is sent, one waits"
    assert due((10, None, 2, 0, 0), [0, 0, 0, 10, 10]) == [100, 100, 110], "two at once, then one each 10 ns"
    assert due((10, None, None, 40, 0), [0, 0, 0, 50]) == [120, 120, 160, 160]
    assert due((0, None, None, 0, 3), [0, 1, 2, 3, 4, 5, 6]) == [100, 101, 103, 104, 106]


def test_a_path_loses_marks_and_delays() -> None:
    path = PlayedPath(FarEnd(), round_trip_ns=100, losses=[2], marks={3}, delays={1: 50})
    for n in (1, 2, 3):
        path.carry(SentSegment(0, n, ecn="ect0"))
    assert path.next_ns == 100
    first = path.answer()
    assert (first.acked, first.reports, first.flags) == (0, ((3, 3),), {"ece"})
    assert path.next_ns == 150 and path.answer().acked == 1 and path.next_ns is None


def test_the_command(cli: Any) -> None:
    done = cli("conform", "cubic", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["counts"] == {"holds": len(document["lines"]), "fails": 0, "differs": 0, "skipped": 0}


def test_the_command_fails_with_a_line_that_does_not_hold(tmp_path: Path, cli: Any) -> None:
    file = tmp_path / "mine.toml"
    line = {"id": "x", "section": "1", "says": "It sends nothing.", "to": ["any"]}
    keys = "\n".join(f"{k} = {json.dumps(v)}" for k, v in line.items())
    file.write_text(f'source = "Mine"\ntitle = "Mine"\n[[line]]\n{keys}\ndialogue = "0ms write 1\\n0ms > nothing"\n')
    done = cli("conform", "reno", "--lines", str(file), "--only", "mine/")
    assert done.returncode == 1
    assert "mine/x  1        fails   step 2, 0 ms, `> nothing`: it sent 1 at 0 ms" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give one of these: a congestion control, such as cubic; --kernel NAME; --queue NAME; scripts (FILE.pkt)"),
        (("reno", "--queue", "codel"), "give one of these: a congestion control"),
        (("--queue", "codel", "--like", "reno"), "are for a sender; leave them out with --queue"),
        (("--queue", "codle"), "there is no discipline 'codle'"),
        (("cubik",), "there is no congestion control 'cubik'"),
        (("reno", "--only", "rfc99"), "no line has 'rfc99' in its name"),
        (("reno", "--lines", "absent.toml"), "absent.toml"),
    ],
)
def test_wrong_input_is_said(words: tuple[str, ...], says: str, cli: Any) -> None:
    done = cli("conform", *words)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_the_guidelines_of_rfc_7928(cli: Any) -> None:
    done = cli("conform", "--queue", "fq_codel", "--json")
    document = json.loads(done.stdout)
    rows = {(r["scenario"], r["queue"]): r for r in document["scenarios"]}
    assert len(rows) == 2 * len(list(FOLDER.glob("*.toml"))) == 28
    for (scenario, queue), r in rows.items():
        assert 0.5 < r["utilisation"] < 1.0001, (scenario, queue)
        # What an AQM is for: it waits less than drop-tail wherever the load does not overwhelm it.
        if queue == "fq-codel":
            assert r["wait_mean_s"] < rows[scenario, "droptail"]["wait_mean_s"], scenario
            assert (r["marks"] > 0) == (scenario == "ecn"), scenario
    assert rows["rtt-fairness", "fq-codel"]["jain"] > rows["rtt-fairness", "droptail"]["jain"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a kernel of Linux is tried")
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_the_kernel(control: str) -> None:
    """What does not need exact times; the table is in docs/conformance.md."""
    from tailback.apps.conformance.kernel import NoKernel, on_kernel

    names = [n for n, line in LINES.items() if line.is_for(control) and n.startswith(("rfc3042", "rfc6675"))]
    try:
        rows = on_kernel(control, names, [])
    except NoKernel as e:
        pytest.skip(str(e))
    assert [r["line"] for r in rows] == names
    assert {r["result"] for r in rows} <= {"holds", "differs", "skipped"}, [r for r in rows if r["result"] == "fails"]


def test_the_page_lists_what_there_is() -> None:
    tool = Path(__file__).resolve().parents[2] / "tools" / "conformance_page.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_marks_what_is_no_quotation() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
    for file in installed():
        for row in [line.table for line in file.lines] + file.sentences:
            cell = row.says.replace("|", "\\|").replace("*", "\\*")
            assert f"| {row.section} | {cell}{' (in our words)' if row.in_our_words else ''} |" in page, row


@pytest.mark.skipif(not MY_RENO.exists(), reason="no control in Python is installed")
def test_a_class_of_ones_own_keeps_the_lines_of_reno(cli: Any) -> None:
    done = cli("conform", f"{MY_RENO}:Reno", "--like", "reno", "--json")
    document = json.loads(done.stdout)
    assert document["counts"]["fails"] == 0 and document["counts"]["holds"] > 60, done.stdout
