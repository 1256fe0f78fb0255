"""Names, paths and streams as nobody means them: a word of help, no traceback, nothing that a terminal obeys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import tailback as tb
from tailback.core.store import manifest
from tailback.core.text.plain import plain
from tailback.show import plots, report


def test_a_path_need_not_be_utf8(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"\xff\xfe odd")
    os.mkdir(folder)
    file, out = os.path.join(folder, b"\xe9.toml"), os.path.join(folder, b"out")
    Path(os.fsdecode(file)).write_text(SMALL)
    command = [os.fsencode(sys.executable), b"-m", b"tailback"]
    for args in ([b"run", file, b"--out", out], [b"run", file, b"--out", out, b"--json"], [b"report", out]):
        r = subprocess.run([*command, *args], capture_output=True, timeout=120)
        assert (r.returncode, r.stderr) == (0, b""), args
    wrong = subprocess.run([*command, b"run", file, b"--set", b"name=\xff"], capture_output=True, timeout=120)
    assert wrong.returncode == 2 and b"\\xff is not UTF-8" in wrong.stderr


def test_closed_streams_cost_a_sentence_at_most(cli, small) -> None:
    def shell(command: str) -> subprocess.CompletedProcess[str]:
        line = f"{sys.executable} -m tailback run {small} {command}"
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, cwd=small.parent)

    r = shell(">&-")
    assert r.returncode == 1 and r.stderr == "error: the output cannot be written: standard output is closed\n"
    r = shell("2>&-")
    assert r.returncode == 0 and "bottleneck" in r.stdout
    r = shell("--out made >&- 2>&- <&-")
    assert r.returncode == 1
    r = shell("| head -c 10")
    assert r.stderr == ""


@pytest.mark.parametrize("text", ["[]", "nothing", "\xff", "[" * 100_000], ids=["list", "words", "byte", "deep"])
def test_a_broken_manifest_is_named(cli, small, tmp_path: Path, text: str) -> None:
    tb.run(small, out=tmp_path / "o")
    (tmp_path / "o" / "manifest.json").write_bytes(text.encode("latin-1"))
    r = cli("report", tmp_path / "o")
    assert r.returncode == 1 and "manifest.json is damaged" in r.stderr and "Traceback" not in r.stderr
    assert "Traceback" not in cli("status", tmp_path / "o", "--json").stderr


@pytest.mark.parametrize("text", ["{}", "[]", "nothing"])
def test_a_broken_study_is_named(cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    r = cli("report", tmp_path)
    assert r.returncode == 2 and "study.json is damaged" in r.stderr and "Traceback" not in r.stderr


def test_a_dollar_sign_in_a_label_is_one(tmp_path: Path) -> None:
    labels = ["$HOME", r"$\frac$", "a_b^{", "_hidden"]
    lines = [plots.Curve(x, x, [1, 2], [i, i + 1]) for i, x in enumerate(labels)]
    for i, fig in enumerate(
        [
            plots.curves([plots.Panel(lines, "$x")], "$\\over", "100 $"),
            plots.series([(x, np.arange(3.0), np.arange(3.0)) for x in labels], "$y"),
            plots.goodput_bars([(x, x, [1.0, 2.0]) for x in labels], 1.0, "$"),
        ]
    ):
        plots.save(fig, tmp_path / str(i), ["svg"])
        drawn = [t.get_text() for legend in fig.legends for t in legend.get_texts()]
        assert i == 2 or [t.lstrip("\u200b") for t in drawn] == labels
    plan = tb.Plan.product(SMALL, {"$rate": ("topology.rate", ["5Mbps", "6Mbps"])})
    plan.execute(tmp_path / "o")
    report.write(tmp_path / "o")


def test_an_empty_name_of_a_folder_is_refused(cli, small) -> None:
    for r in (cli("run", small, "--out", ""), cli("reproduce", "keshav-1991", "--out", "")):
        assert r.returncode == 2 and "name of a folder" in r.stderr and "Traceback" not in r.stderr


def test_names_cannot_steer_the_terminal(cli, tmp_path: Path) -> None:
    escape = "\\u001b]0;owned\\u0007\\u001b[31m"
    (tmp_path / "s.toml").write_text(SMALL.replace('"small"', f'"{escape}"'))
    (tmp_path / "bad.toml").write_text(SMALL.replace('"red"', f'"{escape}"'))
    outputs = [cli("run", "s.toml", "--out", "o"), cli("run", "bad.toml"), cli("\x1b[31mrun"), cli("status", "\x1b[2J")]
    assert [r.returncode for r in outputs] == [0, 2, 2, 2]
    for r in outputs:
        assert not {"\x1b", "\x07"} & set(r.stdout + r.stderr)
    assert "\\x1b[31m" in outputs[0].stdout
    assert plain("a\u202eb\x9b\udcff\n\t") == "a\\u202eb\\x9b\\xff\n\t"


def test_a_number_that_applies_to_nothing_is_null(tmp_path: Path) -> None:
    manifest.write(tmp_path, {"elapsed_s": float("nan"), "runs": [float("inf")]})
    assert json.loads((tmp_path / "manifest.json").read_text(), parse_constant=pytest.fail) == {
        "elapsed_s": None,
        "runs": [None],
    }


def test_the_summary_is_as_wide_as_the_terminal(cli, small) -> None:
    def widest(columns: str | None) -> int:
        env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": columns} if columns else {})
        return max(
            map(len, cli("run", small, "--replications", 3, env=env, stdin=subprocess.DEVNULL).stdout.splitlines())
        )

    assert widest(None) <= 80 and widest("50") <= 50 and widest("nonsense") <= 80
    assert 80 < widest("200") <= 200
    assert max(map(len, tb.run(small).summary(width=60).splitlines())) <= 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of a process")
def test_a_thread_that_cannot_start_is_said(small) -> None:
    code = f"""
import resource, sys
import tailback as tb, tailback.runs.result, tailback.core.results.summary, numpy
scenario = tb.load_scenario({str(small)!r})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
# A thread asks for two megabytes of stack: one fits, many do not.
resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
try:
    print(len(tb.run(scenario, replications=4, jobs=64).runs))
except OSError as e:
    print("refused:", e)
"""
    for room in ("1 << 20", "40 << 20"):
        r = subprocess.run([sys.executable, "-c", code.replace("ROOM", room)], capture_output=True, text=True)
        # With the one thread that did start, or refused where none did.
        assert r.returncode == 0 and r.stderr == "" and (r.stdout == "4\n" or r.stdout.startswith("refused: ")), room
