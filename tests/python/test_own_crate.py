"""A crate with rows of its own: the extension of the example `your-aqm` in place of tailback's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pages
import pytest

import tailback as tb

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "python/tailback/examples/your-aqm"
PAGE = "docs/howto/a-crate-of-your-own.md"

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the module of the example's wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).with_name("maturin")
    command = [maturin, "build", "--release", "--offline", "-m", CRATE / "Cargo.toml", "--out", folder]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "lib")
    return folder / "lib"


def called(folder: Path, core: str, path: Path | None = None) -> Call:
    """Calls the command line in a folder, with `TAILBACK_CORE`."""
    environment = {**os.environ, "TAILBACK_CORE": core, "PYTHONPATH": str(path or folder), "COLUMNS": "80"}

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tailback", *args]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.mark.slow
def test_the_commands_of_the_page_work_with_the_example(unpacked: Path, tmp_path: Path) -> None:
    call = called(tmp_path, "your_aqm", unpacked)
    lines = [c for c in pages.commands(PAGE) if c.text.startswith("TAILBACK_CORE=")]
    assert len(lines) > 3
    for c in lines:
        words = c.text.replace("my-aqm", "your-aqm").split()
        assert words[:2] == ["TAILBACK_CORE=my_aqm", "tailback"]
        done = call(*words[2:])
        assert done.returncode == 0, f"{c.place}: {done.stdout}{done.stderr}"
        if words[2] == "--version":
            assert "\nwith your-aqm 0.1.0: queue your-aqm, aqm your-aqm\n" in done.stdout
        if words[2] == "compare":
            # By the words that its row declares.
            assert "parent 1:1 your_aqm" in " ".join(done.stdout.split())


#: What the program knows of a discipline by its row alone.
KNOWN = """
from tailback.runs.campaign import memory
from tailback.show.plots import LOOKS
from tailback.core.scenario.read import load_scenario

def promised(kind):
    queue = f'{{ kind = "{kind}", buffer = "100000 packets" }}'
    line = f'topology = {{ kind = "dumbbell", rate = "1Mbps", delay = "5ms", queue = {queue} }}'
    return memory.total(load_scenario(f'duration = "300s"\\n{line}\\n[flows.f]\\ncount = 50').memory)

mine = LOOKS["your-aqm"]
assert [name for name, look in LOOKS.items() if look == mine] == ["your-aqm"]
# An AQM holds fewer packets than its buffer.
assert promised("your-aqm") < promised("droptail") / 2, (promised("your-aqm"), promised("droptail"))
"""


@pytest.mark.slow
def test_its_look_and_its_memory_follow_from_its_row(unpacked: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TAILBACK_CORE": "your_aqm", "PYTHONPATH": str(unpacked)}
    command = [sys.executable, "-c", KNOWN]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_runs_are_stored_under_the_source_of_both(unpacked: Path, tmp_path: Path) -> None:
    keys, numbers = [], []
    for core in ("your_aqm", ""):
        out = f"of-{core or 'tailback'}"
        short = ("--set", "duration=2s", "--set", "warmup=0s")
        done = called(tmp_path, core, unpacked)("run", "examples/first-run.toml", *short, "--out", out)
        assert done.returncode == 0, done.stderr
        (run,) = json.loads((tmp_path / out / "manifest.json").read_text())["runs"]
        keys.append(run["key"])
        numbers.append(tb.read_results(tmp_path / out).flows["goodput_bps"].tolist())
    assert keys[0] != keys[1]
    # The simulator in both is the same.
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("core", "says"),
    [("no_such_module", "cannot be imported"), ("json", "is not an extension made with tailback-python")],
)
def test_a_module_that_cannot_be_used_is_refused(tmp_path: Path, core: str, says: str) -> None:
    for args in (["--version"], ["describe", "codel"], ["run", "examples/first-run.toml"]):
        done = called(tmp_path, core)(*args)
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert done.stderr.startswith(f'error: TAILBACK_CORE="{core}" ') and says in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_model_of_ones_own_is_unknown_without_the_variable(tmp_path: Path) -> None:
    done = called(tmp_path, "")("describe", "your-aqm")
    assert done.returncode == 2 and "your-aqm" in done.stderr
