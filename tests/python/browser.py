"""A page in Chromium, for tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "Chromium and its driver are not here (apt install chromium-driver)"
READY = "window.tailbackLab?.picture?.mode === 'full' && !window.tailbackLab.flying"
#: What the lab shows.
SCENARIO = """\
duration = "6s"
warmup = "1s"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "10ms", queue = { kind = "red", buffer = "60 packets" } }
flows.bulk = { count = 4, rtt = "40ms" }
"""

DRAG = """
const done = arguments[0], lab = window.tailbackLab, drawn = [];
const draw = lab.draw.bind(lab);
lab.draw = () => { drawn.push([lab.picture.input, lab.input, lab.picture.mode]); draw(); };
const slider = document.getElementById("c-link-bottleneck-rate");
let n = 0;
const step = () => {
  slider.value = 300 + 5 * n;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  if (n++ < 60) return setTimeout(step, 7);
  slider.dispatchEvent(new Event("change", { bubbles: true }));
  const end = () => (lab.flying ? setTimeout(end, 20) : done(drawn));
  end();
};
step();
"""


class Page:
    """A page in Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str, width: int = 1280, scheme: str = "light", until: str = READY) -> None:
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait(until)

    def run(self, code: str, *words: Any) -> Any:
        return self.driver.execute_script(code, *words)

    def wait(self, said: str, seconds: float = 20) -> None:
        until = time.monotonic() + seconds
        while not self.run(f"return Boolean({said})"):
            assert time.monotonic() < until, f"{said}: {self.run('return document.body.innerText')[:800]}"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def dragged(self) -> list[list[Any]]:
        """Drag the rate over sixty places and let go; of each picture that was drawn: its input, the newest input, and
        the mode."""
        drawn: list[list[Any]] = self.driver.execute_async_script(DRAG)
        return drawn

    def inaccessible(self) -> list[list[str]]:
        """What axe-core finds, except minor things: impact, rule, element."""
        path = ROOT / "out/npm/axe-core/axe.min.js"
        if not path.is_file():
            command = [sys.executable, str(ROOT / "tools/vendor_npm.py"), "--axe"]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("axe-core is not here, and npm cannot fetch it")
        # The page's policy lets nothing in but its own script: the driver evaluates this one.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": path.read_text(encoding="utf-8")})
        found = self.driver.execute_async_script(
            "const done = arguments[0], row = (v) => [v.impact, v.id, v.nodes[0].html];"
            "axe.run().then((r) => done(r.violations.map(row)))"
        )
        return [f for f in found if f[0] in ("serious", "critical", "moderate")]

    def errors(self) -> list[str]:
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]


@contextmanager
def chromium() -> Iterator[Page]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for word in ("--headless=new", "--no-sandbox"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(600)
    yield Page(driver)
    driver.quit()
