"""What `make new` writes: every list has a place for the row, and no placeholder is left."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import new  # noqa: E402


@pytest.mark.parametrize("kind", new.KINDS)
def test_every_list_has_a_place_for_the_row(kind: str) -> None:
    files, changed = new.made(kind, "my-own-thing")
    assert len(changed) == len({row.file for row in new.KINDS[kind].rows})
    for path, text in {**files, **changed}.items():
        if path in changed:
            added = len(text) - len(path.read_text(encoding="utf-8"))
            assert added > 0 and re.search("my-own-thing|my_own_thing", text), path
        else:
            assert not re.search(r"__[A-Za-z]+__", text), path
        if path.suffix == ".toml":
            tomllib.loads(text)
        if path.suffix == ".rs":
            done = subprocess.run(
                ["rustfmt", "--edition", "2024", "--emit", "stdout"], input=text, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{path}: {done.stderr}"


def test_the_row_of_a_discipline_stands_in_its_group() -> None:
    _, changed = new.made("discipline", "my-own-thing")
    registry = next(text for path, text in changed.items() if path.name == "registry.rs")
    group = registry.partition('"AQM by load, losses or queue"')[2].partition("Group {")[0]
    assert "my_own_thing::entry()" in group
    page = changed[ROOT / "docs/disciplines/README.md"]
    group = page.partition("### AQM by load, losses or queue")[2].partition("###")[0]
    assert "[`my-own-thing`](my-own-thing.md)" in group


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("control", "Vegas", '"Vegas" is no name'),
        ("control", "vegas", "crates/tailback-transport/src/tcp/congestion/vegas.rs is there already"),
        ("transport", "mine", "make new KIND="),
    ],
)
def test_what_cannot_be_made_is_said(kind: str, name: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/new.py"), kind, name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and says in done.stderr


@pytest.mark.slow
def test_what_is_written_compiles_without_a_warning_and_passes_its_tests(tmp_path: Path) -> None:
    copy = tmp_path / "tailback"
    ignored = shutil.ignore_patterns("target", ".venv", "out", "dist", ".git", "*.so")
    shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
    kinds = [kind for kind in new.KINDS if kind not in ("study", "crate")]
    for kind in kinds:
        subprocess.run([sys.executable, str(copy / "tools/new.py"), kind, f"a-new-{kind}"], check=True)
    crates = ["-p", "tailback-queue", "-p", "tailback-conditioner", "-p", "tailback-transport"]
    # Dependencies are taken from the builds of the repository itself; the tests of the engine take too long to build.
    for target, command in (
        ("target", ["clippy", "--release", "-p", "tailback-sim", "--", "-D", "warnings"]),
        ("target", ["clippy", "--release", *crates, "--lib", "--tests", "--", "-D", "warnings"]),
        ("target/templates", ["test", *crates, "--lib", "a_new_"]),
    ):
        environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / target)}
        done = subprocess.run(
            ["cargo", "--locked", *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert set(re.findall(r"\ba_new_(\w+?)::", done.stdout)) == {*kinds} - {"source"}


@pytest.mark.slow
def test_a_crate_of_ones_own_compiles_and_passes_its_tests(tmp_path: Path) -> None:
    files, _ = new.made("crate", "a-new-crate")
    for path, text in files.items():
        to = tmp_path / path.relative_to(ROOT / "out")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)
    # Not optimised: its tests take no time, and the engine compiles in a third of the time.
    command = ["cargo", "test", "--offline", "--manifest-path", str(tmp_path / "a-new-crate/Cargo.toml")]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target/templates")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it_signals_above_the_threshold_only ... ok" in done.stdout
