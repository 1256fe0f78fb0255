"""How soon the lab shows a changed value: 200 inputs in a browser, in the page's own clock.

    .venv/bin/python benches/lab.py                 # all cases of the table below
    .venv/bin/python benches/lab.py --memory 10000  # memory of server and page over so many changes

An input is a key on a slider: the page sees the same events as of a hand. Its time is from the time stamp of the event
to the second animation frame after the picture was drawn. Selenium drives Chromium by the system's
chromedriver.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

#: Name, flows, rate, disciplines, the bars in ms: coarse and full.
CASES = [
    ("CAKE beside FQ-CoDel, 10 flows, 50 Mb/s", 10, "50Mbps", ("cake", "fq-codel"), 100, 300),
    ("CAKE beside FQ-CoDel, 50 flows, 100 Mb/s", 50, "100Mbps", ("cake", "fq-codel"), 100, 1000),
    ("drop-tail, 10 flows, 50 Mb/s", 10, "50Mbps", ("droptail", None), 100, 100),
    ("drop-tail, 50 flows, 100 Mb/s", 50, "100Mbps", ("droptail", None), 100, 250),
]
SCENARIO = """\
duration = "30s"
link.bottleneck = {{ from = "left", to = "right", rate = "{rate}", delay = "20ms", queue = {{ kind = "{kind}" }} }}
flows.bulk = {{ count = {flows}, tcp = {{ profile = "linux" }} }}
"""
INPUTS = 200


def browser(width: int = 1280, height: int = 1000) -> Any:
    """Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--js-flags=--expose-gc", f"--window-size={width},{height}"):
        options.add_argument(word)
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


class Served:
    """`tailback lab` as a process, and the address it prints."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "tailback", "lab", "--no-browser", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(10)


#: Set a slider as a hand does, and answer when the picture of this input is seen.
MOVE = """
const [id, place, over, done] = arguments;
const lab = window.tailbackLab, e = document.getElementById(id), before = lab.input;
e.value = place;
e.dispatchEvent(new Event(over ? "change" : "input", { bubbles: true }));
const wanted = lab.input, until = performance.now() + 20000;
const look = () => {
  const seen = lab.times.find((t) => t.input >= Math.max(wanted, before + 1));
  if (seen) done(seen);
  else if (performance.now() > until) done(null);
  else setTimeout(look, 4);
};
look();
"""
SLIDER = "c-link-bottleneck-rate"


def wait(driver: Any, said: str, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not driver.execute_script(f"return Boolean({said})"):
        if time.monotonic() > until:
            raise SystemExit(f"the page did not come: {driver.execute_script('return document.body.innerText')[:400]}")
        time.sleep(0.05)


def measure(driver: Any, mode: str, n: int) -> list[dict[str, float]]:
    """`n` inputs, from a sixth below the rate to a thirtieth above it, each when the one before is seen."""
    places = np.random.default_rng(1).integers(470, 506, n)
    seen = [driver.execute_async_script(MOVE, SLIDER, int(p), mode == "full") for p in places]
    if None in seen:
        raise SystemExit(f"{sum(s is None for s in seen)} inputs of {n} were never seen")
    assert all(s["mode"] == mode for s in seen)
    return seen


def case(name: str, flows: int, rate: str, kinds: tuple[str, str | None], bars: tuple[int, int], folder: Path) -> bool:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(rate=rate, kind=kinds[0], flows=flows))
    served = Served(str(path), *(["--beside", kinds[1]] if kinds[1] else []))
    driver = browser()
    driver.set_script_timeout(60)
    good = True
    try:
        driver.get(served.address)
        wait(driver, "window.tailbackLab?.times.length && document.getElementById('c-link-bottleneck-rate')")
        for mode, bar in zip(("coarse", "full"), bars, strict=True):
            measure(driver, mode, 10)
            load = os.getloadavg()[0]
            seen = measure(driver, mode, INPUTS)
            ms = np.array([s["ms"] for s in seen])
            run = np.array([s["run_ms"] for s in seen])
            p50, p95, p99 = np.percentile(ms, [50, 95, 99])
            met = p95 < bar
            good &= bool(met)
            print(
                f"{name:42} {mode:6}  p50 {p50:5.0f}  p95 {p95:5.0f}  p99 {p99:5.0f}  most {ms.max():5.0f} ms"
                f"  runs p95 {np.percentile(run, 95):5.0f}  bar {bar:5} {'met' if met else 'MISSED'}  load {load:.1f}"
            )
    finally:
        driver.quit()
        served.end()
    return good


def resident(pid: int) -> float:
    """Resident memory of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


#: As many inputs as are asked for, one after the other, in the page itself.
MANY = """
const [id, n, done] = arguments;
const lab = window.tailbackLab, e = document.getElementById(id);
let left = n;
const next = () => {
  if (!left--) return done(lab.input);
  e.value = 400 + (left * 37) % 200;
  e.dispatchEvent(new Event(left % 10 ? "input" : "change", { bubbles: true }));
  const wanted = lab.input;
  const look = () => (lab.flying ? setTimeout(look, 1) : next());
  look();
};
next();
"""


def memory(changes: int, folder: Path) -> bool:
    """Memory after a tenth of the changes and after all of them."""
    path = folder / "scenario.toml"
    # Short, so that the changes are what is measured.
    path.write_text(SCENARIO.format(rate="10Mbps", kind="droptail", flows=5).replace("30s", "3s"))
    served = Served(str(path), "--beside", "codel")
    driver = browser()
    driver.set_script_timeout(3600)
    try:
        driver.get(served.address)
        wait(driver, "window.tailbackLab?.times.length")
        page = _page_process(driver)
        found = []
        done = 0
        for target in (changes // 10, changes):
            while done < target:
                step = min(500, target - done)
                driver.execute_async_script(MANY, SLIDER, step)
                done += step
            driver.execute_script("window.gc?.()")
            time.sleep(2)
            found.append((resident(served.process.pid), resident(page)))
            print(f"after {done:6} changes: server {found[-1][0]:.0f} MB, page {found[-1][1]:.0f} MB")
        grown = [b / a for a, b in zip(*found, strict=True)]
        good = max(grown) <= 1.1
        said = "met" if good else "MISSED"
        print(f"server {100 * (grown[0] - 1):+.1f} %, page {100 * (grown[1] - 1):+.1f} %  bar +10 % {said}")
        return good
    finally:
        driver.quit()
        served.end()


def _page_process(driver: Any) -> int:
    """The number of the process that draws the page: the largest renderer below the driver."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    root = driver.service.process.pid

    def below(pid: int) -> bool:
        return pid == root or (pid in parents and below(parents[pid]))

    def renders(pid: int) -> bool:
        with contextlib.suppress(OSError):
            return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return False

    return max((p for p in parents if below(p) and renders(p)), key=resident)


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=int, metavar="CHANGES")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.memory:
            good = memory(asked.memory, Path(folder))
        else:
            cores = os.cpu_count()
            print(json.dumps({"cores": cores, "load": os.getloadavg(), "inputs": INPUTS}))
            # Every case is measured, whatever the one before gave.
            met = [case(n, f, r, k, (c, u), Path(folder)) for n, f, r, k, c, u in CASES]
            good = all(met)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
