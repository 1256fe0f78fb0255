"""Connections that were played to a kernel (Linux 6.18) with drawn losses, and to our sender: the same segments in the
same order, and answers in words. What the kernel did is recorded, so that nothing here needs a privilege."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

VALIDATION = Path(__file__).resolve().parents[2] / "validation"
RECORDED = Path(__file__).resolve().parents[1] / "reference" / "kernel-losses.json.gz"
sys.path.insert(0, str(VALIDATION))

import kernel_losses  # noqa: E402
from kernel_differences import compare  # noqa: E402

RECORDING = kernel_losses.read(RECORDED)


@pytest.mark.parametrize("at", range(len(RECORDING.cases)))
def test_the_sender_does_what_the_kernel_did(at: int) -> None:
    case, plays = RECORDING.cases[at], RECORDING.plays[at]
    verdict = compare(case, plays, 0)
    assert verdict.word == "equal", f"{case.kind}, {case.options}: {verdict.first}"
    assert verdict.late_ms < 150, f"{case.kind}, {case.options}: {verdict.ends}"


def test_the_cases_are_of_every_control_and_option() -> None:
    cases = RECORDING.cases
    assert {c.control for c in cases} == {"reno", "cubic", "bbr"}
    assert {c.sack for c in cases} == {c.stamps for c in cases} == {True, False}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--kernel", "dctcp"], "dctcp"),
        (["--cases", "0"], "--cases 0: write 1 to 10000"),
        (["--again", "nowhere.json"], "--again nowhere.json"),
        (["--again", str(RECORDED), "--show", "100000"], "--show 100000"),
    ],
)
def test_what_cannot_be_asked_is_said(asked: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, str(VALIDATION / "kernel_losses.py"), *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
