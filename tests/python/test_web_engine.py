"""The engine of web pages beside the program: the same digests of all tables, in node, in Chromium and in Firefox.

TAILBACK_DRAWN: how many scenarios are drawn, by default 60.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, DRIVER, MISSING, chromium

import tailback as tb
from tailback import _core
from tailback.apps.lab import page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "python/tailback/apps/lab/static" / page.ENGINE
if not ENGINE.is_file():
    pytest.skip("the engine for web pages is not here: `make engine` says why", allow_module_level=True)
DRAWN = int(os.environ.get("TAILBACK_DRAWN", "60"))
PUPPETEER = "puppeteer-core@24.43.1"


def examples() -> dict[str, dict[str, Any]]:
    """What comes with the program and needs no file beside it, and the scenario with which the lab begins."""
    shipped = ROOT / "python" / "tailback"
    files = [*sorted((shipped / "examples").glob("**/*.toml")), shipped / "apps" / "lab" / "start.toml"]
    return {f.name: tomllib.loads(f.read_text(encoding="utf-8")) for f in files}


def names(family: str) -> list[str]:
    return [m["name"] for f in tb.describe() if f["family"] == family for m in f["models"]]


def drawn(number: int) -> list[dict[str, Any]]:
    """Scenarios with each discipline and each control in turn, and with extreme values."""
    disciplines, controls = names("queue"), names("congestion")
    made = []
    for i in range(number):
        r = random.Random(f"page {i}")
        rate = r.choice([64e3, 1e6, 10e6, 1e9])
        queue: dict[str, Any] = {"kind": disciplines[i % len(disciplines)]}
        takes = {p["name"] for m in tb.describe(queue["kind"]) if m["family"] == "queue" for p in m["parameters"]}
        if "buffer" in takes:
            queue["buffer"] = r.choice(["1 packets", "20 packets", "60kB", "4294967296 packets", "6GB"])
        if "queue" in takes:
            queue["queue"] = "codel"
        if "rate" in takes:
            queue["rate"] = f"{0.9 * rate / 1e6:.4f}Mbps"
        # Some thousand packets.
        duration = min(30.0, 4000 * 12000 / rate)
        tcp = {"congestion": controls[i % len(controls)], "ecn": r.choice(["on", "off"])}
        flows = {
            "tcp": {"count": r.randint(1, 9), "tcp": tcp, "rtt": r.choice(["1ms", "80ms", "600ms"])},
            "udp": {"traffic": {"kind": "poisson", "rate": f"{rate / 5e6:.4f}Mbps"}, "packet_size": "700B"},
        }
        link = {"from": "a", "to": "b", "rate": f"{rate / 1e6}Mbps", "delay": r.choice(["0s", "100us"]), "queue": queue}
        made.append(
            {
                "duration": f"{duration:.3f}s",
                "seed": r.choice([1, 2**63 - 1, r.randint(2, 10**6)]),
                "interval": f"{duration / 4:.3f}s",
                "log_drops": True,
                "link": {"l": link},
                "flows": flows,
            }
        )
    return made


def native(document: dict[str, Any]) -> dict[str, Any]:
    """What the program computes, as the page answers it."""
    try:
        run = _core.run_once(_core.load(json.dumps(document), "json", "the page", []), _core.Stop())
    except (tb.ScenarioError, RuntimeError) as e:
        return {"text": str(e)}
    assert run is not None
    return {"digests": json.loads(_core.lab_digests(run))}


def alike(found: list[dict[str, Any]], documents: list[dict[str, Any]]) -> int:
    """Every answer equals the program's, except where a page has less room; how many were runs."""
    runs = 0
    for i, (answer, document) in enumerate(zip(found, documents, strict=True)):
        if " and a page has " in answer.get("text", ""):
            continue
        expected = native(document)
        assert {k: answer.get(k) for k in expected} == expected, (i, document)
        runs += "digests" in expected
    return runs


def messages(documents: list[dict[str, Any]]) -> str:
    return json.dumps([json.dumps({"do": "digests", "document": d}) for d in documents])


def test_node_computes_what_the_program_computes() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here")
    documents = [*examples().values(), *drawn(DRAWN)]
    command = ["node", ROOT / "tests/web/node.mjs", ENGINE]
    done = subprocess.run(command, input=messages(documents), capture_output=True, text=True, check=True)
    assert alike(json.loads(done.stdout), documents) > 0.8 * len(documents)


def test_chromium_computes_what_the_program_computes() -> None:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(MISSING)
    documents = [*examples().values(), *drawn(DRAWN)]
    code = (ROOT / "tests/web/answers.js").read_text(encoding="utf-8")
    packed = page.engine()
    with chromium() as browser:
        found = browser.driver.execute_async_script(
            f"""{code}
            const [packed, messages, done] = arguments;
            const raw = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
            const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
            const bytes = new Response(stream).arrayBuffer();
            bytes.then((b) => tailbackAnswers(b, JSON.parse(messages))).then((all) => done(JSON.stringify(all)));""",
            packed,
            messages(documents),
        )
    assert alike(json.loads(found), documents) > 0.8 * len(documents)


@pytest.fixture(scope="module")
def puppeteer() -> Path:
    """The folder that has what drives Firefox."""
    folder = ROOT / "out/npm/puppeteer"
    if not (folder / "node_modules/puppeteer-core").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-save", "--prefix", folder, PUPPETEER]
        if shutil.which("npm") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("puppeteer-core is not here, and npm cannot fetch it")
    return folder


def test_firefox_computes_what_the_program_computes(puppeteer: Path) -> None:
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None or shutil.which("node") is None:
        pytest.skip("Firefox or node is not here (apt install firefox-esr nodejs)")
    documents = list(examples().values())
    command = ["node", ROOT / "tests/web/firefox.mjs", ENGINE, firefox, puppeteer]
    done = subprocess.run(command, input=messages(documents), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert alike(json.loads(done.stdout), documents) > 15
