"""What a command imports before it answers. Imports are half of the time of a short command, so each is made as late as
possible; these tests read what is imported, and no clock."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

#: Libraries that take longer to import than most runs take.
HEAVY = {"numpy", "matplotlib", "pandas", "polars", "rich", "jinja2", "msgspec", "PIL", "dask", "distributed"}
SERVERS = {"asyncio", "http.server", "socketserver", "ssl", "starlette", "uvicorn", "websockets", "anywidget"}
#: Parts of Python's library that few runs need, some milliseconds each.
SELDOM = {"hashlib", "tomllib", "shutil", "tempfile", "subprocess", "concurrent.futures", "multiprocessing"}


def names(report: str) -> set[str]:
    """The modules in a report of `python -X importtime`, and the packages around them: what `import_module` imports is
    not in it by itself."""
    found = re.findall(r"^import time: +\d+ \| +\d+ \| +([\w.]+)$", report, re.MULTILINE)
    return {name[:end] for name in found for end in (*(i for i, c in enumerate(name) if c == "."), len(name))}


@functools.cache
def imported(*words: str) -> set[str]:
    """What `python WORDS` imports, beside what every start of this interpreter does."""
    r = subprocess.run([sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True)
    return names(r.stderr) - (set() if words == ("-c", "pass") else imported("-c", "pass"))


def command(*words: object) -> set[str]:
    return imported("-m", "tailback", *map(str, words))


def test_the_package_imports_nothing() -> None:
    assert imported("-c", "import tailback") <= {"tailback", "__future__", "importlib", "warnings"}


@pytest.mark.parametrize("words", [(), ("--help",), ("--version",)])
def test_what_is_only_printed_needs_no_library(words: tuple[str, ...]) -> None:
    found = command(*words)
    assert "tailback.cli.commands" in found
    assert found & (HEAVY | SERVERS | SELDOM | {"click", "pathlib", "typing"}) == set()
    assert ("tailback._core" in found) == (words == ("--version",))


def test_a_run_imports_only_what_it_needs(small: Path) -> None:
    found = command("run", small)
    assert {"click", "tailback._core", "tailback.runs.campaign.plan", "tailback.core.results.summary"} <= found
    assert found & (HEAVY | SERVERS | SELDOM) == set()
    assert not {m for m in found if m.startswith(("tailback.show.plots", "tailback.show.report", "tailback.study"))}


@pytest.mark.parametrize("words", [("check",), ("describe", "codel"), ("schema",), ("examples",)])
def test_other_short_commands_import_only_what_they_need(words: tuple[str, ...], small: Path) -> None:
    found = command(*words, *([small] if words == ("check",) else []))
    assert "click" in found
    assert found & (HEAVY | SERVERS | SELDOM) == set()
    assert not {m for m in found if m.startswith(("tailback.core.results", "tailback.apps.lab", "tailback.show.plots"))}


def test_the_help_of_a_command_imports_no_library_but_click() -> None:
    found = command("lab", "--help")
    assert "tailback.cli.options" in found
    assert found & (HEAVY | SERVERS) == set()
    assert not {m for m in found if m.startswith("tailback.apps.lab")}


def test_what_waits_is_imported_when_it_is_needed(small: Path, tmp_path: Path) -> None:
    """Otherwise the names in the lists above might be wrong."""
    (tmp_path / "own.py").write_text(
        "class Own:\n    cwnd = 9000\n    def __init__(self, rules): ...\n"
        "    def on_ack(self, ack): ...\n    def on_congestion(self, sign): ...\n"
    )
    own = command("run", small, "--set", f"flows.bulk.tcp.congestion={tmp_path}/own.py:Own")
    assert {"hashlib", "tailback.core.scenario.own_file"} <= own


def test_the_lab_tells_its_address_first_and_draws_without_numpy(tmp_path: Path) -> None:
    client = pytest.importorskip("websockets.sync.client")
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    began = [sys.executable, "-X", "importtime", "-m", "tailback", "lab", "--no-browser"]
    with (tmp_path / "report").open("w+") as report:
        lab = subprocess.Popen(began, stdout=subprocess.PIPE, stderr=report, text=True)
        assert lab.stdout is not None
        base, _, token = lab.stdout.readline().split()[-1].partition("#token=")
        asked = urllib.request.Request(f"{base}page", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            state = json.load(answer)["hello"]["state"]
        host = base.removeprefix("http://").rstrip("/")
        with client.connect(f"ws://{host}/talk", origin=f"http://{host}", proxy=None, max_size=None) as ws:
            ws.send(token)
            ws.send(json.dumps({"do": "state", "input": 1, "mode": "full", "columns": 100, "state": state}))
            assert b'"picture"' in ws.recv(timeout=20)
        lab.send_signal(signal.SIGTERM)
        lab.communicate(timeout=20)
        report.seek(0)
        before, told, after = report.read().partition("Ctrl-C ends it")
    assert told and "tailback.apps.lab.state" in names(before)
    assert names(before) & (HEAVY | SERVERS) == set()
    assert {"starlette", "uvicorn", "tailback.apps.lab.runs"} <= names(after)
    assert names(after) & (HEAVY - {"msgspec"}) == set()
