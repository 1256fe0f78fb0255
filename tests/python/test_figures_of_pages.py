"""Each page of a discipline has its picture, and each picture a row that makes it. The rows are not run here."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools/figures"))

import disciplines  # noqa: E402
import transports  # noqa: E402

#: What the page of a new discipline asks until it is written.
TEMPLATE = (ROOT / "tools/templates/discipline/page.md").read_text(encoding="utf-8").split("\n")[2]


def test_each_page_has_its_picture_and_each_picture_its_row() -> None:
    pages = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "docs/disciplines").glob("*.md")}
    del pages["README"]
    pages = {name: text for name, text in pages.items() if TEMPLATE not in text}
    assert set(disciplines.FIGURES) == set(pages)
    for name, text in pages.items():
        assert f"](../figures/disciplines/{name}.png)" in text, name
        assert "```math\n" in text and "**Try this.**" in text, name


def test_pictures_are_there_and_light() -> None:
    for room, rows in (disciplines, disciplines.FIGURES), (transports, transports.FIGURES | transports.MORE):
        pictures = {p.stem: p for p in (ROOT / "docs/figures" / room.__name__).iterdir()}
        assert set(pictures) == set(rows)
        heavy = {name: p.stat().st_size for name, p in pictures.items() if p.stat().st_size > 25_000}
        assert not heavy, heavy
