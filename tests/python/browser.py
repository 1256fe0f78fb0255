"""A page in Chromium, for tests."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "Chromium and its driver are not here (apt install chromium-driver)"
READY = "window.tailbackLab?.picture?.mode === 'full' && !window.tailbackLab.flying"


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
