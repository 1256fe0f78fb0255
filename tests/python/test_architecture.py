"""The map of `docs/architecture.md` leads somewhere: each file of its table exists and holds what it is named for."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()


def rows() -> list[tuple[str, str, str]]:
    """The table "To change X, open Y": what, file, word."""
    section = PAGE.split("## To change X, open Y", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| (.+?) \| `([^`]+)` \| `(.+?)` \|$", section, re.MULTILINE)


def test_every_row_leads_to_its_word() -> None:
    assert len(rows()) >= 20
    lost = [(what, file, word) for what, file, word in rows() if word not in read(ROOT / file)]
    assert not lost, lost


def read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def test_every_room_exists() -> None:
    named = set(re.findall(r"`((?:crates|python|docs|tests|benches)/[\w./<>-]+)`", PAGE))
    assert len(named) > 20
    lost = [n for n in sorted(named) if "<" not in n and not (ROOT / n).exists()]
    assert not lost, lost
