"""The newest part of the changelog has areas and short entries, and its fragments can be written into it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import changelog  # noqa: E402

BEFORE = """# Changes

## Not yet released

### Command line

* `run` is new.

### Rust

* `one` is
  new.

## 0.1.0

* The first.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("# Fragments\n")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    return tmp_path


def add(root: Path, name: str, text: str) -> Path:
    path = root / "changes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_this_checkout_s_changelog_and_fragments() -> None:
    assert changelog.wrong(ROOT) == []
    newest = changelog.parts((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[1]
    headings = re.findall(r"(?m)^### (.*)$", newest)
    assert headings == [a for a in changelog.AREAS.values() if a in headings] and len(headings) > 5
    entries, _ = changelog.read(newest)
    assert sum(map(len, entries.values())) == len(re.findall(r"(?m)^\* ", newest)) > 50


def test_a_check_names_the_areas() -> None:
    command = [sys.executable, str(ROOT / "tools/changelog.py"), "--check"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.endswith(f"fragments hold; areas are {', '.join(changelog.AREAS)}\n")


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "CHANGELOG.md", *changelog.fragments(ROOT)]
    links = {x for p in pages for x in re.findall(r"\]\(([^)#]+)", p.read_text(encoding="utf-8"))}
    assert len(links) > 20 and [x for x in links if not (ROOT / x).exists()] == []


def test_fragments_become_entries(root: Path) -> None:
    path = add(root, "rust/two.md", "`two` is\nnew.\n")
    add(root, "queues/red.md", "`red` is new.")
    assert changelog.wrong(root) == []
    assert changelog.write(root) == 2
    new = "### Queues and conditioners\n\n* `red` is new.\n\n### Rust\n\n* `two` is\n  new.\n* `one` is\n"
    assert (root / "CHANGELOG.md").read_text() == BEFORE.replace("### Rust\n\n* `one` is\n", new)
    assert not path.parent.exists() and (root / "changes/README.md").exists()
    assert changelog.write(root) == 0
    assert changelog.wrong(root) == []


def test_after_a_release_fragments_begin_a_part(root: Path) -> None:
    released = BEFORE.replace("Not yet released", "0.2.0")
    (root / "CHANGELOG.md").write_text(released)
    add(root, "rust/two.md", "`two` is new.\n")
    changelog.write(root)
    new = "## Not yet released\n\n### Rust\n\n* `two` is new.\n\n## 0.2.0"
    assert (root / "CHANGELOG.md").read_text() == released.replace("## 0.2.0", new)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ruts/a.md", "`a` is new.", "AREA one of command-line, scenarios"),
        ("a.md", "`a` is new.", "AREA one of command-line, scenarios"),
        ("rust/a.txt", "`a` is new.", "write changes/AREA/slug.md"),
        ("rust/a.md", "a\nb\nc\nd\n", "4 lines; write at most 3"),
        ("rust/a.md", "a" * 149, "more than 148 columns"),
        ("rust/a.md", "", "it is empty"),
        ("rust/a.md", "a\n\nb\n", "an empty line"),
        ("rust/a.md", "* a\n", "without its bullet"),
    ],
)
def test_what_is_wrong_with_a_fragment(root: Path, name: str, text: str, said: str) -> None:
    add(root, name, text)
    (found,) = changelog.wrong(root)
    assert found.startswith(f"changes/{name}: ") and said in found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("### Ruts\n", "there is no area 'Ruts'"),
        ("outside\n", "'outside' stands in no entry"),
        ("* a\n  b\n  c\n  d\n", "4 lines"),
        ("* " + "a" * 149 + "\n", "more than 148 columns"),
    ],
)
def test_what_is_wrong_with_the_newest_part(root: Path, line: str, said: str) -> None:
    (root / "CHANGELOG.md").write_text(BEFORE.replace("\n## 0.1.0", f"{line}\n## 0.1.0"))
    (found,) = changelog.wrong(root)
    assert found.startswith("CHANGELOG.md: ") and said in found
