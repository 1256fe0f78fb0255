"""The site builds without a warning, no link in it is dead, and it asks for nothing from outside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tailback import _core
from tailback.study import load as studies

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import build_docs  # noqa: E402
import study_pages  # noqa: E402


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page of the site in Markdown, also those that the program makes."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    build_docs.stage(folder)
    return folder


def test_links_of_all_pages_lead_to_pages_and_headings(staged: Path) -> None:
    prose = {
        page: re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for page in staged.rglob("*.md")
    }
    headings = {
        p: {build_docs.slug(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)} for p, text in prose.items()
    }
    assert len(prose) > 100
    outside = 0
    for page, text in prose.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if "://" in target:
                own = target.removeprefix(f"{build_docs.REPOSITORY}/").partition("#")[0]
                assert own == target or (ROOT / own).exists(), f"{page.relative_to(staged)} leads to {target}"
                outside += own != target
                continue
            there = (page.parent / path).resolve() if path else page
            assert there.is_file(), f"{page.relative_to(staged)} leads to {target}"
            assert not anchor or anchor in headings[there], f"{page.relative_to(staged)} leads to {target}"
    assert outside > 10


def test_the_front_page_says_what_the_readme_says() -> None:
    front, readme = (" ".join(p.read_text(encoding="utf-8").split()) for p in (build_docs.FRONT, ROOT / "README.md"))
    paragraph = readme[readme.index("A *tailback*") : readme.index(" ![")]
    caption = readme[readme.index("*One hundred") + 1 : readme.index("* **Move it yourself")]
    assert paragraph in front and caption in front


def test_commands_and_files_that_pages_name_become_links(staged: Path) -> None:
    assert "[`tailback describe codel`](../made/reference/" in (staged / "disciplines/codel.md").read_text()
    assert "[jiang-2006-verdicts](jiang-2006-verdicts.md)" in (staged / "studies/jiang-2006.md").read_text()
    models = {m["name"] for f in json.loads(_core.describe_json()) for m in f["models"]}
    families = {f["family"] for f in json.loads(_core.describe_json())}
    for page in (ROOT / "docs").rglob("*.md"):
        for name in build_docs.COMMAND.findall(page.read_text(encoding="utf-8")):
            assert name in {*models, *families, "", "NAME"}, f"{page.relative_to(ROOT)}: tailback describe {name}"


def test_every_model_has_a_heading_in_the_reference(staged: Path) -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted((staged / "made/reference").glob("*.md")))
    headings = re.findall(r"^## `(.+?)`", text, re.MULTILINE)
    models = [m["name"] for f in json.loads(_core.describe_json()) for m in f["models"]]
    assert len(models) > 100 and set(models) <= set(headings)


@pytest.mark.parametrize("name", studies.known())
def test_what_was_measured_fits_the_study(name: str, staged: Path) -> None:
    """A statement that comes or goes asks for a new run; until then its page would be wrong."""
    found = json.loads((study_pages.KEPT / f"{name}.json").read_text(encoding="utf-8"))
    rows = study_pages.unmeasured(studies.load(name))
    assert sorted(v["id"] for v in found["verdicts"]) == sorted(rows)
    page = (staged / f"studies/{name}-verdicts.md").read_text(encoding="utf-8")
    assert all(v.sentence.partition("|")[0].strip() in page for v in rows.values() if not v.grade)


def test_a_run_of_a_part_of_a_study_is_not_kept() -> None:
    with pytest.raises(SystemExit, match=r"unresponsive: no verdict on .*; run the whole study"):
        study_pages.take({"study": {"id": "unresponsive"}, "verdicts": []})


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
                assert target.startswith("data:") or target not in found.fetched, f"{page} fetches {target}"
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
