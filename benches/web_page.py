"""The engine in a web page beside the program: how long a run takes, how soon a changed value is seen, memory.

    .venv/bin/python benches/web_page.py            # runs: CPU time in node divided by that of the program
    .venv/bin/python benches/web_page.py --seen     # inputs: an exported file beside the program's server, in Chromium
    .venv/bin/python benches/web_page.py --memory 10000   # memory of the page over so many changes

A ratio of runs is the median of alternating pairs, after three runs that warm up node's compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lab
import numpy as np

import tailback as tb
from tailback import _core
from tailback.apps.lab import page

HERE = Path(__file__).parent
STATIC = Path(page.__file__).parent / "static"
START = (Path(page.__file__).parent / "start.toml").read_text(encoding="utf-8")
CAKE, FQ_CODEL = (f'link.bottleneck.queue={{ kind = "{kind}" }}' for kind in ("cake", "fq-codel"))
#: Name, scenario, changes.
ROWS: list[tuple[str, str, list[str]]] = [
    ("10 flows, drop-tail", START, []),
    ("10 flows, CAKE", START, [CAKE]),
    ("10 flows, FQ-CoDel", START, [FQ_CODEL]),
    ("100 flows, drop-tail", START, ["flows.bulk.count=100"]),
    (
        "100 flows, 500 Mb/s, CAKE, 10 s",
        START,
        ["flows.bulk.count=100", "link.bottleneck.rate=500Mbps", CAKE, "duration=10s"],
    ),
    ("a home line, 80 s", (HERE / "home.toml").read_text(encoding="utf-8"), []),
]
WARM, PAIRS = 3, 9


def runs() -> None:
    engine = STATIC / page.ENGINE
    ratios = []
    for name, text, changes in ROWS:
        node = subprocess.Popen(
            ["node", HERE / "web_page.mjs", engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert node.stdin is not None and node.stdout is not None
        message = json.dumps({"do": "digests", "text": text, "set": changes}) + "\n"
        scenario = tb.load_scenario(text, changes)
        pairs = []
        for number in range(WARM + PAIRS):
            node.stdin.write(message)
            node.stdin.flush()
            there = float(node.stdout.readline())
            began = time.process_time()
            found = _core.run_once(scenario, _core.Stop())
            assert found is not None
            _core.lab_digests(found)
            here = 1e3 * (time.process_time() - began)
            if number >= WARM:
                pairs.append((there, here))
        node.stdin.close()
        node.wait()
        ratio = float(np.median([a / b for a, b in pairs]))
        ratios.append(ratio)
        least = [min(x) for x in zip(*pairs, strict=True)]
        print(f"{name:34} page {least[0]:6.0f} ms  program {least[1]:6.0f} ms  ratio {ratio:.2f}")
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}")


def seen(folder: Path) -> None:
    """Inputs in a file and in the page of the program's server, in turn."""
    for name, flows, rate, kinds, *_ in lab.CASES:
        path, file = folder / "scenario.toml", folder / "lab.html"
        path.write_text(lab.SCENARIO.format(rate=rate, kind=kinds[0], flows=flows))
        beside = ["--beside", kinds[1]] if kinds[1] else []
        subprocess.run(
            [sys.executable, "-m", "tailback", "lab", str(path), *beside, "--export", str(file)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        served = lab.Served(str(path), *beside)
        drivers = {"file": lab.browser(), "server": lab.browser()}
        try:
            for where, driver in drivers.items():
                driver.set_script_timeout(60)
                began = time.monotonic()
                driver.get(file.as_uri() if where == "file" else served.address)
                lab.wait(
                    driver, "window.tailbackLab?.times.length && document.getElementById('c-link-bottleneck-rate')"
                )
                if where == "file":
                    print(f"{name}: first full picture after {time.monotonic() - began:.1f} s")
            for mode in ("coarse", "full"):
                found: dict[str, list[float]] = {"file": [], "server": []}
                for part in range(11):
                    for where, driver in drivers.items():
                        ms = [s["ms"] for s in lab.measure(driver, mode, lab.INPUTS // 10)]
                        # The first part warms up.
                        found[where] += ms if part else []
                told = []
                for where, values in found.items():
                    p50, p95 = np.percentile(values, [50, 95])
                    told.append(f"{where} least {min(values):4.0f}, median {p50:4.0f}, p95 {p95:4.0f}")
                ratio = min(found["file"]) / min(found["server"])
                print(f"  {mode:6} {'; '.join(told)} ms; ratio of the least {ratio:.2f}")
        finally:
            for driver in drivers.values():
                driver.quit()
            served.end()


def memory(changes: int, folder: Path) -> None:
    path, file = folder / "scenario.toml", folder / "lab.html"
    path.write_text(lab.SCENARIO.format(rate="10Mbps", kind="droptail", flows=5).replace("30s", "3s"))
    command = [sys.executable, "-m", "tailback", "lab", str(path), "--beside", "codel", "--export", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    driver = lab.browser()
    driver.set_script_timeout(3600)
    with contextlib.closing(Quits(driver)):
        driver.get(file.as_uri())
        lab.wait(driver, "window.tailbackLab?.times.length")
        own = lab._page_process(driver)
        done = 0
        for target in (changes // 10, changes):
            while done < target:
                step = min(500, target - done)
                driver.execute_async_script(lab.MANY, lab.SLIDER, step)
                done += step
            driver.execute_script("window.gc?.()")
            time.sleep(2)
            print(f"after {done:6} changes: page {lab.resident(own):.0f} MB")


class Quits:
    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def close(self) -> None:
        self.driver.quit()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seen", action="store_true")
    parser.add_argument("--memory", type=int, metavar="CHANGES")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if given.memory:
            memory(given.memory, Path(place))
        elif given.seen:
            seen(Path(place))
        else:
            runs()
