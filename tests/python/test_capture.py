"""Captures and traces, as a user calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb
from tailback import _core


def test_a_capture_is_pcapng_and_changes_nothing(cli, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "link.pcapng"
    r = cli("capture", small, "--out", out)
    assert r.returncode == 0, r.stderr
    assert int(r.stdout.split()[0]) > 100 and str(out) in r.stdout
    # The section header block (draft-ietf-opsawg-pcapng section 4.1).
    assert out.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    again = tmp_path / "again.pcapng"
    cli("capture", small, "--out", again)
    assert again.read_bytes() == out.read_bytes()
    cli("capture", small, "--out", again, "--seed", 2)
    assert again.read_bytes() != out.read_bytes()


def test_a_trace_follows_one_flow(cli, small: Path) -> None:
    r = cli("trace", small, "--flow", "bulk.0")
    assert r.returncode == 0, r.stderr
    *lines, there, back = r.stdout.splitlines()
    assert (
        there.startswith("path >  ")
        and there.endswith(", bottleneck")
        and back.startswith("path <  bottleneck.reverse, ")
    )
    assert lines[0].split() == ["time", "s", "where", "what", "who", "segment"]
    assert len(lines) > 100 and "SYN" in lines[1] and "arrives" in lines[1]
    times = [float(line.split()[0]) for line in lines[1:]]
    assert times == sorted(times)
    assert max(map(len, lines)) < 160
    other = cli("trace", small, "--flow", "bulk.1").stdout
    assert other != r.stdout


def test_what_is_not_there_is_refused_with_what_is(cli, small: Path, tmp_path: Path) -> None:
    r = cli("capture", small, "--link", "bottelneck", "--out", tmp_path / "x")
    assert r.returncode == 2 and '"bottelneck"' in r.stderr and "bottleneck" in r.stderr
    assert not (tmp_path / "x").exists()
    r = cli("trace", small, "--flow", "bulk.9")
    assert r.returncode == 2 and "bulk.0 to bulk.3" in r.stderr
    r = cli("trace", small, "--flow", "blk.0")
    assert r.returncode == 2 and "bulk" in r.stderr
    r = cli("capture", small, "--out", tmp_path / "no" / "where")
    assert r.returncode == 1 and "cannot be written" in r.stderr and "Traceback" not in r.stderr


TWO_GROUPS = """
duration = "2s"
topology = { kind = "dumbbell", rate = "2Mbps", delay = "5ms", queue = { kind = "droptail", buffer = "20 packets" } }
[flows.zeta]
count = 2
rtt = "40 ms"
access_rate = "10 Mb/s"
[flows.alpha]
count = 2
rtt = "40 ms"
access_rate = "10 Mb/s"
"""


def test_a_flow_is_the_one_it_is_called(cli, tmp_path: Path) -> None:
    """Flows are numbered by the names of their groups, not in the order in which those stand in the scenario."""
    scenario = tmp_path / "two.toml"
    scenario.write_text(TWO_GROUPS)
    for flow in ("zeta.0", "zeta.1", "alpha.0", "alpha.1"):
        r = cli("trace", scenario, "--flow", flow)
        assert r.returncode == 0, r.stderr
        places = {line.split()[1] for line in r.stdout.splitlines()[1:] if not line.startswith("path ")}
        links = {p for p in places if not p.startswith("bottleneck")}
        assert links == {f"flows.{flow}.access", f"flows.{flow}.access.reverse"}, flow


def test_a_capture_names_the_hosts(cli, tmp_path: Path) -> None:
    scenario = tmp_path / "two.toml"
    scenario.write_text(TWO_GROUPS)
    out = tmp_path / "two.pcapng"
    assert cli("capture", scenario, "--out", out).returncode == 0
    written = out.read_bytes()
    for flow in ("zeta.0", "zeta.1", "alpha.0", "alpha.1"):
        for end in ("source", "destination"):
            assert written.count(f"{flow}.{end}\0".encode()) == 1


def test_a_long_run_says_how_far_it_is(cli, small: Path, tmp_path: Path) -> None:
    told: list[float] = []
    _core.trace(tb.load_scenario(small, ["duration=60s"]), "bulk.0", tmp_path / "t", told.append)
    assert len(told) > 2 and told == sorted(told) and told[0] >= 0 and told[-1] <= 1


def test_what_the_function_raises_comes_back(small: Path, tmp_path: Path) -> None:
    def fails(share: float) -> None:
        raise OSError("the terminal is closed")

    long = tb.load_scenario(small, ["duration=60s"])
    with pytest.raises(OSError, match="the terminal is closed"):
        _core.trace(long, "bulk.0", tmp_path / "t", fails)
    with pytest.raises(KeyboardInterrupt):
        _core.trace(long, "bulk.0", tmp_path / "t", lambda share: False)
