"""What people can ask `tailback home`: their words, what is refused, lines that vary, shares, and the fitted modem."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import doing, follow, mine, people, spoken, variation, words, worth
from tailback.apps.ask.home.answer import _Tried
from tailback.apps.ask.home.candidates import FOLLOWER, MINE, MODEM, chosen, today
from tailback.apps.ask.home.fit import added, fitted
from tailback.apps.ask.home.line import HomeLine, Share, question
from tailback.apps.ask.home.measured import Measured, measured
from tailback.apps.ask.home.phases import UP, timeline
from tailback.apps.ask.home.routers import router
from tailback.apps.ask.home.traffic import config, groups, scenario
from tailback.apps.ask.trial import Trial
from tailback.core import stats
from tailback.linux.framing import LINKS
from tailback.runs.campaign.progress import HowFar

LINE = {"down": "100Mbps", "up": "20Mbps", "rtt": "30ms"}
TEST = "250/40, idle 18, down 240, up 190"


def asked(**given: Any) -> HomeLine:
    return question(**{**LINE, **given})


# Words


@pytest.mark.parametrize(
    ("text", "bps"),
    [("250Mbit", 250e6), ("840kbit", 840e3), ("1gbit", 1e9), ("2.5 Mbit/s", 2.5e6), ("64kbps", 64e3), ("10Mb/s", 10e6)],
)
def test_rates_in_anybodys_words(text: str, bps: float) -> None:
    assert spoken.rate("down", text) == bps


@pytest.mark.parametrize(
    ("text", "link"),
    [("cable", "docsis"), ("DOCSIS", "docsis"), ("DOCSIS 3.1", "docsis"), ("Starlink", "ethernet"), ("4G", "ethernet")],
)
def test_lines_in_anybodys_words(text: str, link: str) -> None:
    assert asked(link=text).framing.link == link


def test_every_kind_has_a_framing() -> None:
    assert {row.link for row in spoken.KINDS.values()} <= set(LINKS)


@pytest.mark.parametrize(
    ("text", "added_s"), [(TEST, 0.222), ("250/40, idle 18ms, down +222", 0.222), ("250Mbit/40Mbit\nidle 18", None)]
)
def test_a_measurement_in_words(text: str, added_s: float | None) -> None:
    seen = measured(text)
    assert (seen.down_bps, seen.up_bps, seen.idle_s) == (250e6, 40e6, 0.018)
    assert seen.added_down_s == (None if added_s is None else pytest.approx(added_s))


def test_a_measurement_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(f"# on a Sunday\n{TEST}\n")
    assert measured(str(tmp_path / "test.txt")) == measured(TEST)


def test_the_page_of_a_speed_test_is_read_too() -> None:
    page = "Unloaded 18 ms\nDownload active +222 ms\nUpload active +172 ms\nDownload 250 Mbps\nUpload 40 Mbps\n"
    seen = measured(page)
    assert (seen.down_bps, seen.up_bps, seen.idle_s) == (250e6, 40e6, 0.018)
    assert seen.added_down_s == pytest.approx(0.222) and seen.added_up_s == pytest.approx(0.172)


def test_goodput_takes_a_faster_line() -> None:
    """By hand: 1448 B of 1518 on cable; and 1448 of 1500 where the line's headers are not known."""
    line = question(measured=TEST, link="cable")
    assert line.down_bps == pytest.approx(250e6 * 1518 / 1448) and line.rtt_s == pytest.approx(0.018)
    assert question(measured=TEST).up_bps == pytest.approx(40e6 * 1500 / 1448)


def test_everybody_is_active() -> None:
    line = asked(people="2 calls, 2 games, 3 readers, 1 backup")
    assert {kind: len(hosts) for kind, hosts in line.hosts_of.items()} == {
        "bulk": 1, "upload": 1, "web": 3, "call": 2, "game": 2,
    }  # fmt: skip
    office = asked(hosts=50)
    assert sorted(h for hosts in office.hosts_of.values() for h in hosts) == list(range(1, 51))
    ends = {g.table[end] for g in groups(office, timeline(office)).values() for end in ("from", "to")}
    readers = {s["to"] for s in scenario(office, (None, None), timeline(office))["sessions"].values()}
    assert {f"pc{n}" for n in range(1, 51)} <= ends | readers


def test_few_hosts_have_several_things_to_do() -> None:
    assert people.hosts_of_kinds(("a", "b", "c"), 2) == {"a": (1,), "b": (2,), "c": (1,)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"down": "20Mbps", "up": "100Mbps"},
            "were they exchanged? Give --down 100Mbps --up 20Mbps, or add --as-given",
        ),
        ({"down": None}, "down is missing: give --down, --up and --rtt"),
        ({"rtt": None}, "some 10 ms on fibre, 20 on cable"),
        ({"down": "10kbit"}, "from 64kbps"),
        ({"modem": "5"}, "write 5ms for a time at the line's rate, or 5KB for a size"),
        ({"link": "dsl"}, "write vdsl"),
        ({"link": "cabel"}, "did you mean 'cable'?"),
        ({"people": "2 cats"}, "there is no 'cats'; people are calls, streams, games, readers, backups or downloads"),
        ({"people": "two calls"}, "'two calls' is not a whole number and a word"),
        ({"people": "2 callz"}, "did you mean 'call"),
        ({"people": "0 calls"}, "from 1 to 50 people"),
        ({"people": "60 calls"}, "from 1 to 50 people"),
        ({"people": "1 call", "hosts": 3}, "it also contains --hosts"),
        ({"router": "R7801"}, "did you mean R7800?"),
        ({"router": "R7800", "share": "95%", "down": "1Gbps"}, "the router shapes 150 Mb/s at most"),
        ({"measured": TEST}, "it also contains --down"),
        ({"varies": "200..50Mbps"}, "the least rate comes first: 50..200Mbps"),
        ({"policer": "250KB", "modem": "10ms"}, "leave --modem out"),
        ({"policer": "10B"}, "from 3KB to 1GB"),
        ({"policer": "250"}, "write 250KB"),
        ({"down": None, "up": None, "rtt": None, "measured": "40/250, idle 18"}, "Write 250/40, or add --as-given"),
        ({"vpn": "me"}, "router, or host"),
    ],
)
def test_what_is_refused_or_asked_back(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LinkError, match=re.escape(said)):
        asked(**given)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("250", "are not rates down/up"),
        ("250/40", "the round trip of the idle line is missing"),
        ("250/40, idle 18, down 9", "write down +9"),
        ("250/40, idle 18, sideways 9", "'sideways 9' is not understood"),
        ("250/40, idle 18, idle 19", "is given twice"),
        ("fast/slow, idle 3", "are not rates down/up"),
        ("/nowhere/test.txt", "there is no such file"),
    ],
)
def test_measurements_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(LinkError, match=re.escape(said)):
        measured(text)


def test_an_uneven_line_is_taken_as_given() -> None:
    assert asked(down="20Mbps", up="100Mbps", as_given=True).up_bps == 100e6


def test_a_router_limits_the_shaper() -> None:
    line = question("1Gbps", "500Mbps", "8ms", router="200")
    assert line.shaped == (200e6, 200e6) and all(s.down <= 0.2 for s in line.shares)
    assert router("wndr3800").most_bps == 135e6


def test_a_fast_shaper_without_a_router_is_told_of_the_processor() -> None:
    found = tb.home_line(down="200Mbps", up="10Mbps", rtt="20ms", traffic=["upload"], queues=["cake"], share="95%",
                         replications=1, duration="20s")  # fmt: skip
    assert "routers were seen to stop at 135 to 450 Mb/s" in found.text(400)


def test_the_command_asks_back_without_a_traceback() -> None:
    words = ["home", "--down", "20Mbps", "--up", "100Mbps", "--rtt", "30ms"]
    done = subprocess.run([sys.executable, "-m", "tailback", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--down = 20Mbps is less than up = 100Mbps" in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


# What people have now

SCRIPT = """
tc qdisc add dev eth0 root cake bandwidth 20mbit
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root cake bandwidth 70mbit
"""


def test_a_paste_is_a_row_and_its_numbers_are_explained() -> None:
    made = mine.candidate(SCRIPT, asked())
    assert "at 20 Mb/s, 100% of the line's rate: too near" in made.why["up"]
    assert "at 70 Mb/s, 70% of the line's rate" in made.why["down"]
    found = tb.home_line(**LINE, mine=SCRIPT, queues=["cake"], share="95%", replications=2, duration="45s")
    assert MINE in found.candidates and "what you have" in found.text(120) and "too near" in found.text(120)
    # The download is held at home, the upload waits in the modem half of the time.
    assert found.estimate("goodput_down", MINE).mean < 0.7 < found.estimate("goodput_down", "cake").mean
    assert found.lines(MINE) is None and found.best == "cake"


def test_a_paste_without_a_queue_is_refused() -> None:
    with pytest.raises(LinkError, match=r"mine = hello \.\.\.: this is no script of tc.*what `tc qdisc show` prints"):
        mine.candidate("hello\nthere", asked())


# Lines that vary


def test_each_seed_draws_another_course_within_its_range() -> None:
    line = asked(down="200Mbps", varies="50..200Mbps", link="starlink")
    assert line.varies is not None and line.varies.step_s == 15.0
    courses = [line.varies.course(line, seed, 200.0) for seed in range(40)]
    assert courses[0] == line.varies.course(line, 0, 200.0) and len({c[0].down_bps for c in courses}) == 40
    rates = np.array([s.down_bps for c in courses for s in c])
    assert rates.min() >= 50e6 and rates.max() <= 200e6
    # Drawn evenly: the mean of some 560 is within four standard errors of the middle.
    assert abs(rates.mean() - 125e6) < 4 * (150e6 / 12**0.5) / len(rates) ** 0.5


def test_a_recording_begins_elsewhere_with_each_seed(tmp_path: Path) -> None:
    (tmp_path / "down.csv").write_text("time_s,rate_mbps\n0,10\n5,20\n10,30\n15,0\n")
    (tmp_path / "up.csv").write_text("time_ms,rate_kbps\n0,1000\n7000,2000\n14000,0\n")
    line = asked(varies=f"{tmp_path}/down.csv,{tmp_path}/up.csv")
    assert line.varies is not None
    courses = [line.varies.course(line, seed, 30.0) for seed in range(20)]
    assert len({c[1].at_s for c in courses}) == 20
    for course in courses:
        assert {s.down_bps for s in course} <= {10e6, 20e6, 30e6} and {s.up_bps for s in course} <= {1e6, 2e6}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "line 1: name the columns"),
        ("time_s,rate_mbps\n0,1\n0,2\n", "line 3: times grow"),
        ("time_s,rate_mbps\n0,x\n", "line 2: '0,x'"),
        ("time_s,rate_mbps\n0,1\n", "fewer than two lines"),
    ],
)
def test_recordings_that_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "down.csv").write_text(text)
    with pytest.raises(LinkError, match=re.escape(said)):
        asked(varies=str(tmp_path / "down.csv"))


def _ways(line: list[tuple[float, float]], loaded: list[tuple[float, float]]) -> tuple[follow.Shaped, follow.Shaped]:
    """A download that fills such a line, and an upload without load."""
    idle = follow.Shaped(follow.Bounds(1e6, 5e6, 10e6), [(0.0, 10e6)], [], 8e5)
    return follow.Shaped(follow.Bounds(10e6, 50e6, 100e6), line, loaded, 8e6), idle


def test_the_follower_falls_and_rises_by_its_rule_at_its_pace() -> None:
    """A step of the line from 100 to 40 Mb/s and back, under load."""
    line = [(0.0, 100e6), (20.0, 40e6), (40.0, 100e6)]
    found, other = follow.courses(_ways(line, [(5.0, 60.0)]), 0.02, 12_000, 60.0)

    def at(seconds: float) -> float:
        return [rate for t, rate in found if t <= seconds][-1]

    assert at(4.9) == 50e6 and at(19.0) == 100e6
    # 4 % with each count of the bytes, five a second: from 50 to 100 Mb/s takes 18 counts, 3.6 s.
    reached = next(t for t, rate in found if rate == 100e6)
    assert 8.4 <= reached <= 8.8
    # 60 Mb/s too much fill 60 ms of 40 Mb/s in 40 ms; three pings later it falls, at most by a quarter each 0.3 s.
    falls = next(t for t, rate in found if t > 20 and rate < 100e6)
    below = next(t for t, rate in found if t > 20 and rate < 40e6)
    assert 20.2 < falls < 20.6 and 21.0 < below < 22.0
    steps = [b / a for (_, a), (_, b) in itertools.pairwise(found)]
    assert min(steps) >= 0.75 - 1e-9 and max(steps) <= 1.04 + 1e-9
    # The pings know no direction: the upload falls with it, although nothing waits there.
    assert min(rate for _, rate in other) < 0.6 * 5e6 and at(59.0) == 100e6


def test_half_of_a_ping_is_the_delay_of_a_direction() -> None:
    """A line 10 % too slow whose buffer holds 50 ms: 25 ms each way are not late, and 40 of 80 ms are."""
    for held_s, lowers in ((0.050, False), (0.080, True)):
        down, idle = _ways([(0.0, 45e6)], [(0.0, 30.0)])
        found, _ = follow.courses((dataclasses.replace(down, buffer_bits=held_s * 45e6), idle), 0.02, 12_000, 30.0)
        assert (min(rate for _, rate in found) < 45e6) == lowers


def test_a_rate_returns_to_its_base_by_one_per_cent_a_second() -> None:
    shaper = follow.Shaper(follow.Bounds(1e6, 10e6, 20e6), 12_000)
    shaper.rate = 5e6
    for tick in range(200):
        shaper.ping(0.05 * tick, 0.0)
    # The first at once, then one each 1.05 s: the first ping behind a second.
    assert shaper.rate == pytest.approx(5e6 * 1.01**10, rel=1e-9)


def test_a_line_that_varies_has_the_follower_and_is_told_of_it() -> None:
    found = tb.home_line(**LINE, varies="20..100Mbps", queues=None, traffic=["bulk"], replications=2, duration="40s")
    assert FOLLOWER in found.candidates
    text = found.text(200)
    assert "cake-autorate" in text and "fixed shaper" in text and "20 to 100 Mb/s down" in text
    assert found.added(FOLLOWER) < 0.5 * found.added(MODEM)
    assert "Each candidate but cake-autorate is behind a shaper" in found.text(300)
    if found.best == FOLLOWER:
        assert all(line in text for line in (*doing.AUTORATE_INSTALL, *doing.AUTORATE_START, *doing.AUTORATE_STOP))


def test_an_evening_is_that_of_the_line() -> None:
    assert "cable" in variation.said(asked(varies="evening", link="cable"))
    assert "mobile cell in the evening, 15 to 60 %" in variation.said(asked(varies="evening", link="lte"))
    assert "satellites" in variation.said(asked(varies="evening", link="starlink"))


def test_the_steps_of_a_shaper_that_follows_are_in_order() -> None:
    steps = [typed for _, typed in doing.autorate(config(asked(varies="20..100Mbps")))]
    assert steps == [doing.AUTORATE_INSTALL, (*doing.AUTORATE_DEVICES, *config(asked(varies="20..100Mbps"))),
                     doing.AUTORATE_START, doing.AUTORATE_STOP]  # fmt: skip


# What a share is worth


def test_less_than_80_percent_is_found_where_it_serves() -> None:
    found = tb.home_line(
        **LINE, varies="evening", link="fibre", traffic=["bulk"], queues=["cake"], replications=1, duration="60s"
    )
    assert min(found.line.share) < 0.8 and min(found.shares).down < 0.8
    assert found.line.share == worth.chosen(found.line, found.shares)


def test_the_proposal_is_within_the_interval_of_the_best_of_a_grid() -> None:
    """Four shares and two disciplines, with other seeds."""
    given = {"down": "20Mbps", "up": "5Mbps", "rtt": "30ms", "traffic": ["bulk"], "link": "docsis"}
    found = tb.home_line(**given, replications=2, duration="40s")
    line = found.line
    tried = _Tried(line, found.times, Trial(seed=501), chosen(["cake", "fq-codel"], line), None)
    tried.share_seeds = 3
    shares = [Share(s, s) for s in (0.6, 0.75, 0.85, 0.95)]
    costs = {
        (kind, share): [worth.of_run(run) for run in runs]
        for kind in ("cake", "fq-codel")
        for share, runs in tried._shares(kind, shares, "").items()
    }
    (mine_runs,) = tried._shares(found.best, [line.share], "").values()
    best = min(costs.values(), key=stats.mean)
    apart = stats.paired([worth.of_run(run) for run in mine_runs], best)
    assert apart.mean <= max(apart.half_width, 0.001)
    # The measure tells shares apart: 60 % costs some 33 ms of rate more.
    assert stats.mean(costs["cake", shares[0]]) > stats.mean(best) + 0.020


def test_a_fitted_modem_is_the_one_that_was_measured() -> None:
    drawn = random.Random(7)
    for _ in range(2):
        down, up = 10 ** drawn.uniform(7, 8), 10 ** drawn.uniform(6.3, 7)
        line = question(f"{down:.0f}bps", f"{up:.0f}bps", "20ms", traffic=["bulk"])
        there = tuple(round(rate * drawn.uniform(0.1, 0.4) / 8) for rate in (down, up))
        seen = added(_with(line, down_buffer=there[0], up_buffer=there[1]), Trial(seed=301))
        test = Measured(0.9 * down, 0.9 * up, 0.020, *seen)
        back = fitted(_with(line, measured=test, modem="fitted"), Trial())
        assert abs(back.down_buffer / there[0] - 1) < 0.1 and abs(back.up_buffer / there[1] - 1) < 0.1
        assert back.fit_adds == pytest.approx(seen, rel=0.05)


def test_the_answer_says_what_the_fitted_modem_adds() -> None:
    found = tb.home_line(measured=TEST, queues=["cake"], traffic=["bulk"], share="90%", replications=1, duration="40s")
    adds = found.line.fit_adds
    assert adds is not None and adds == pytest.approx((0.222, 0.172), rel=0.05)
    said = words.where(found)
    assert f"{1e3 * adds[0]:.3g} ms to a ping under a download (222 ms measured)" in said
    assert f"{1e3 * adds[1]:.3g} ms to a ping under an upload (172 ms measured)" in said and "nearer" not in said
    # Where no buffer adds as much, that is said.
    far = dataclasses.replace(found.line, fit_adds=(0.150, adds[1]))
    assert "No buffer comes nearer for the download." in words.where(dataclasses.replace(found, line=far))


def _with(line: HomeLine, **changed: Any) -> HomeLine:
    return dataclasses.replace(line, **changed)


# What is shown


def test_what_a_medium_adds_stands_in_every_latency() -> None:
    """On cable the model's 0.1 ms are told as 3 ± 3 ms, and the ranking is as without."""
    found = tb.home_line(**LINE, link="cable", queues=["cake"], traffic=["upload"], share="95%", replications=2,
                         duration="25s")  # fmt: skip
    e = found.estimate("added_up_s", "cake")
    raw = stats.mean(run.added(UP) for run in found.runs["cake"])
    assert raw < 0.002 and e.mean == pytest.approx(raw + 0.003) and e.half_width >= 0.003
    assert "0.1 ± 0.0" not in found.text() and "waits for the grant, 2 to 8 ms" in found.text(300)


def test_the_first_screen_answers_what_was_asked() -> None:
    found = tb.home_line(**LINE, people="1 call, 1 game, 2 readers, 1 backup", queues=["cake"], share="95%",
                         replications=1, duration="60s")  # fmt: skip
    screen = "\n".join(found.text(80).splitlines()[:24])
    for what in ("the call", "late packets of the game", "a page, half of them within", "grade", "today: the modem"):
        assert what in screen, what


def test_a_router_that_is_too_slow_says_what_it_can_do() -> None:
    """R7800 shapes 150 Mb/s: the upload alone, or neither direction."""
    for up, said in (("100Mbps", "this one can shape the upload alone"), ("500Mbps", "neither direction")):
        found = tb.home_line(down="1Gbps", up=up, rtt="8ms", link="fibre", router="R7800", queues=["cake"],
                             traffic=["upload"], replications=1, duration="25s")  # fmt: skip
        assert said in found.text(1000), up


def test_advice_to_change_nothing_stands_before_the_lines() -> None:
    """Behind a policer that passes large bursts the modem alone is as good, and a shaper only costs rate."""
    found = tb.home_line(down="100Mbps", up="20Mbps", rtt="25ms", link="fibre", policer="250KB", queues=["cake"],
                         share="80%", replications=2, duration="60s")  # fmt: skip
    text = found.text(1000)
    assert words.leave(found) and "Leave it as it is." in text
    assert text.index(doing.NOT_NEEDED) < text.index("tc qdisc replace")


def test_a_line_on_which_calls_stay_bad_says_so() -> None:
    found = tb.home_line(down="6Mbps", up="300kbps", rtt="30ms", link="adsl", queues=["cake"], share="95%",
                         replications=2, duration="60s")  # fmt: skip
    text = found.text(1000)
    assert "the call" in text and "calls stay bad with it" in text
    # Its upload delivers more than with the modem alone: no negative cost.
    assert "-" not in words.verdict(found).split("It costs")[1].split("as shares")[0]


def test_progress_never_runs_backwards() -> None:
    told: list[float] = []
    far = HowFar(lambda state: told.append(state["share"]), 4, 0, 4.0)
    for _ in range(3):
        far.ended(1.0)
    far.add(8, 0, 8.0)
    for _ in range(9):
        far.ended(1.0)
    assert told == sorted(told) and told[-1] == 1.0 and told[2] == 0.75


def test_the_modem_alone_waits_for_what_is_assumed() -> None:
    assert asked().modem == "assumed" and asked(modem="250ms").modem == "250ms"
    assert today().queues(asked(), Share(0.95, 0.95)) == (None, None)
