"""The site builds without a warning, no link in it is dead, and it asks for nothing from outside."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        #: What the browser fetches by itself.
        self.fetched: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        if "id" in given:
            self.names.add(given["id"])
        if tag == "a" and "href" in given:
            self.targets.append(given["href"])
        if tag in ("img", "script") and "src" in given:
            self.fetched.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.fetched.append(given["href"])


@pytest.mark.slow
def test_the_site_builds_and_every_link_in_it_leads_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the site is built where requirements-docs.txt is installed")
    out = tmp_path / "site"
    done = subprocess.run([sys.executable, str(ROOT / "tools/build_docs.py"), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {p: _Links() for p in out.rglob("*.html")}
    assert len(pages) > 100
    for page, found in pages.items():
        found.feed(page.read_text(encoding="utf-8"))
    for page, found in pages.items():
        for target in (*found.targets, *found.fetched):
            path, _, anchor = target.partition("#")
            if "://" in target or target.startswith(("mailto:", "data:", "javascript:")):
                assert target not in found.fetched, f"{page} fetches {target}"
                continue
            there = (page.parent / path.partition("?")[0]).resolve() if path else page
            assert there.exists(), f"{page.relative_to(out)} leads to {target}"
            if anchor and there in pages:
                assert anchor in pages[there].names, f"{page.relative_to(out)} leads to {target}"


@pytest.mark.parametrize("page", ["howto/add-a-discipline", "getting-started"])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    for text in re.findall(r"```python\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL):
        short = text.replace('"20s"', '"7s"')
        done = subprocess.run([sys.executable, "-c", short], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_scenario_of_getting_started_runs() -> None:
    import tailback

    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/getting-started.md").read_text(), re.DOTALL)
    assert tailback.run(text, overrides=["duration=6s"]).links["utilisation"][0] > 0.8
