"""Calls whose video adapts, on home lines, on links and in the lab."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import tailback as tb
from tailback.apps.ask import calls
from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import traffic as home_traffic
from tailback.apps.ask.home.line import question
from tailback.apps.ask.home.phases import timeline
from tailback.apps.ask.link import link
from tailback.apps.ask.link import traffic as link_traffic
from tailback.cli.scenarios import lab

LINE: dict[str, Any] = {"down": "20Mbps", "up": "5Mbps", "rtt": "30ms", "people": "1 call, 1 backup"}


def test_a_call_of_a_home_line_is_audio_unless_it_adapts() -> None:
    alone, adapts = question(**LINE), question(**LINE, adapt="gcc")
    times = timeline(alone, None)
    before, after = (home_traffic.groups(line, times) for line in (alone, adapts))
    added = {name: after[name] for name in after if name not in before}
    assert {name: after[name] for name in before} == before
    assert {g.kind for g in added.values()} == {home_traffic.VIDEO}
    # Both directions in each phase.
    assert len(added) == 2 * len(times.phases)
    for group in added.values():
        assert group.table["rtp"] == {"control": "gcc", "max_rate": "2500000bps"}
        assert (group.table["dscp"], group.table["playout"]["kind"]) == ("AF41", "fixed")
    assert "audio alone" in " ".join(home_traffic.said(alone))
    assert "video that adapts (gcc), from 300 kbit/s to at most 2.5 Mbit/s" in " ".join(home_traffic.said(adapts))


def test_the_answer_of_a_home_line_has_the_video() -> None:
    asked: dict[str, Any] = {**LINE, "queues": ["cake"], "share": "90%", "replications": 1, "duration": "41s"}
    found = tb.home_line(**asked, adapt="gcc")
    shown, frozen, p95 = (found.ranking.values[name] for name in ("video_shown_bps", "video_frozen", "video_p95_s"))
    # The modem's buffer of 250 ms is full beside the backup.
    assert p95["modem"][0] > 0.2 > p95["cake"][0] >= calls.PLAYOUT_S - 1e-3
    assert 150e3 < shown["modem"][0] < calls.MOST_BPS and 150e3 < shown["cake"][0] < calls.MOST_BPS
    assert 0 <= frozen["cake"][0] <= 1 and not math.isnan(frozen["modem"][0])
    assert "the video" in found.text() and "marked EF and AF41" in found.text(width=500)
    without = tb.home_line(**asked)
    assert not any(name.startswith("video") for name in without.ranking.values)


def test_a_stream_without_a_call_adapts_or_keeps_its_rate() -> None:
    asked: dict[str, Any] = {"down": "6Mbps", "up": "500kbps", "rtt": "30ms", "people": "2 streams, 1 download"}
    keeps, adapts = question(**asked), question(**asked, adapt="nada")
    times = timeline(keeps, None)
    flows = home_traffic.groups(keeps, times)
    streams = {name: group for name, group in flows.items() if group.kind == home_traffic.STREAM}
    assert len(streams) == 2 * len(times.phases)
    for name, group in streams.items():
        assert (group.direction, group.table["from"]) == ("down", home_traffic.WORLD) and "rtp" not in group.table
        assert group.table["traffic"]["rate"] == "2500000bps"
        assert home_traffic.groups(adapts, times)[name].table["rtp"]["control"] == "nada"
    assert "2 streams down, video that keeps 2.5 Mbit/s, unmarked" in " ".join(home_traffic.said(keeps))
    assert "calls, streams and games alone need 5000 kb/s down" in " ".join(home_traffic.said(keeps))
    assert "2 streams down, video that adapts (nada)" in " ".join(home_traffic.said(adapts))
    assert "alone need" not in " ".join(home_traffic.said(adapts))
    run: dict[str, Any] = {**asked, "queues": ["fq-codel"], "share": "90%", "replications": 1, "duration": "41s"}
    kept, adapted = (tb.home_line(**run, **more).ranking.values for more in ({}, {"adapt": "gcc"}))
    # Each of three flows has 1.8 Mbit/s: what is more than that is lost, and frames with it.
    assert kept["video_frozen"]["fq-codel"][0] > 0.5 > 0.2 > adapted["video_frozen"]["fq-codel"][0]
    assert kept["video_shown_bps"]["fq-codel"][0] < 0.5 * adapted["video_shown_bps"]["fq-codel"][0]


def on_a_link(rate: str, flows: int, traffic: list[str], adapt: str | None) -> Any:
    """The values of each measure and queue."""
    found = tb.compare_queues(
        rate=rate,
        rtt="40ms",
        flows=flows,
        traffic=traffic,
        senders=["cubic"],
        queues=["droptail", "fq-codel"],
        adapt=adapt,
        replications=1,
        duration="20s",
    )
    return found.ranking.values


@pytest.mark.parametrize("adapt", [None, "gcc"])
def test_a_stream_crosses_a_link(adapt: str | None) -> None:
    values = on_a_link("4Mbps", 1, ["bulk", "video"], adapt)
    assert "call_loss" not in values
    if adapt:
        assert values["video_shown_bps"]["fq-codel"][0] > 1e6
    else:
        assert values["video_frozen"]["fq-codel"][0] > 0.05


def test_the_call_of_a_link_has_video() -> None:
    asked = link("10Mbps", "40ms", 2, traffic=["bulk", "voice"], senders=["cubic"], adapt="scream")
    times = link_traffic.Times(1.0, 5.0, "")
    made = link_traffic.scenario(asked, {"kind": "codel"}, times, False, {})
    assert made["flows"][link_traffic.VIDEO]["rtp"]["control"] == "scream"
    assert "video that adapts (scream)" in " ".join(link_traffic.said(asked))
    values = on_a_link("10Mbps", 2, ["bulk", "voice"], "nada")
    shown = values["video_shown_bps"]
    assert 0 < shown["droptail"][0] < calls.MOST_BPS and 0 < shown["fq-codel"][0] < calls.MOST_BPS
    # What it sends is not a long transfer.
    assert values["utilisation"]["fq-codel"][0] > 0.9


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"adapt": "gccc"}, "adapt = gccc: there is no rate control 'gccc'; did you mean 'gcc'"),
        ({"adapt": "mine.py"}, "adapt = mine.py: .*add the class: mine.py:CLASS"),
        ({"adapt": "gone.py:Mine"}, "adapt = gone.py:Mine: .*there is no file gone.py"),
        ({"adapt": "gcc", "people": "1 backup"}, "adapt = gcc: .*there is no call and no video; add call or video"),
        ({"adapt": "gcc", "up": "500kbps"}, "adapt = gcc: video begins at 300 kbit/s.*at least 600kbps"),
    ],
)
def test_what_cannot_adapt_is_refused(more: dict[str, str], said: str) -> None:
    with pytest.raises(LinkError, match=said):
        question(**{**LINE, **more})


def test_a_link_without_a_call_is_refused() -> None:
    with pytest.raises(LinkError, match="add voice or video to traffic"):
        link("10Mbps", "40ms", traffic=["bulk"], adapt="gcc")
    with pytest.raises(LinkError, match="leave adapt out"):
        link("10Gbps", fabric="leaf-spine", adapt="gcc")
    with pytest.raises(LinkError, match="video is too much for this rate; give at least 600kbps"):
        link("500kbps", "40ms", traffic=["bulk", "video"])


def test_the_lab_gives_video_a_rate_control() -> None:
    overrides = tuple(lab._adapting("calls", (), "gcc"))
    assert overrides == ("flows.video.rtp.control=gcc",)
    state = json.dumps(lab.state_of("calls", overrides, None).as_dict())
    assert '"rtp"' in state and '"gcc"' in state
    with pytest.raises(Exception, match="no video that could adapt"):
        lab._adapting("first-run", (), "gcc")
