"""A few cases beside ns-2.35, and what the command that compares them does with what it does not have."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VALIDATION = Path(__file__).resolve().parents[2] / "validation"


def compare(*words: str, command: str = "references.py") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(VALIDATION / command), *words], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    ["pois_fixed50_50_dt", "mice_red_ecn", "onoff_pareto_red", "ft_both_ack", "ft_both_newreno_ack", "pl_red"],
)
def test_the_means_over_five_seeds_are_inside_their_tolerances(case: str) -> None:
    done = compare(case)
    assert done.returncode == 0, done.stdout + done.stderr
    inside = re.fullmatch(r"(\d+) of (\d+) inside; outside and not explained: none", done.stdout.splitlines()[-1])
    assert inside is not None and inside[1] == inside[2] and int(inside[1]) >= 8


def test_one_seed_of_one_case() -> None:
    done = compare("pois_fixed50_50_dt", "--seeds", "1")
    assert "8 of 8 inside" in done.stdout, done.stdout + done.stderr


def test_what_cannot_be_run_is_said_with_its_reason() -> None:
    done = compare("ft_small_nagle", "pareto20")
    assert done.returncode == 0, done.stderr
    assert "pareto20_50_s1.txt.gz: give their folder with --arrivals" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("0 of 0 inside")


@pytest.mark.slow
def test_queue_disciplines_are_inside_their_tolerances() -> None:
    cases = ["red_gentle_sack", "pi_sack", "pi4_sack_ecn", "rem_sack", "avq_sack_ecn", "sfq_sack", "srr_sack"]
    cases += ["rio_tb_sack", "n3_fqcodel", "n3_cobalt_ecn"]
    done = compare(*cases, command="queue_references.py")
    assert done.returncode == 0, done.stdout + done.stderr
    inside = re.fullmatch(r"(\d+) of (\d+) inside; outside and not explained: none", done.stdout.splitlines()[-1])
    assert inside is not None and inside[1] == inside[2] and int(inside[1]) >= 17 * len(cases)


@pytest.mark.slow
def test_red_pd_is_inside_its_tolerances() -> None:
    done = compare("redpd_cbr10_r40", command="queue_references.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_ns2_the_drawn_references_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    done = compare("--draw", "1", command="queue_references.py")
    assert (done.returncode, done.stdout) == (0, "skipped: there is no ns on the path (Debian: ns2)\n")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ns") is None, reason="no ns-2")
def test_drr_serves_and_drops_the_packets_that_ns2_does() -> None:
    done = compare("drr", "--draw", "12", "--seed", "7", command="queue_references.py")
    assert "20 of 20 cases equal, packet by packet" in done.stdout, done.stdout + done.stderr


def test_drop_tail_of_three_colours_is_the_same_packet_by_packet() -> None:
    done = compare("law_drop", "--seeds", "1", command="coloured_references.py")
    assert "3 of 3 inside" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_queues_of_three_colours_are_the_same_packet_by_packet_and_in_the_mean() -> None:
    done = compare("law", "tcp_srtcm_agg_mix_riod", command="coloured_references.py")
    assert done.returncode == 0, done.stdout + done.stderr
    inside = re.fullmatch(r"(\d+) of (\d+) inside; outside and not explained: none", done.stdout.splitlines()[-1])
    assert inside is not None and inside[1] == inside[2] and int(inside[1]) >= 60


def test_meters_are_inside_their_tolerances() -> None:
    done = compare(command="meter_references.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "28 of 28 inside"
