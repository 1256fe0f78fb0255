"""Each room of a crate imports only rooms on lower floors; docs/architecture.md lists them from the lowest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The section of docs/architecture.md, and the sources that it describes.
CRATES = {"The queue crate": "crates/tailback-queue/src", "The engine": "crates/tailback-engine/src"}


def floors(section: str) -> list[str]:
    """The rooms of the first table of a section, in its order."""
    page = (ROOT / "docs/architecture.md").read_text()
    text = page.split(f"## {section}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\| `(\w+)(?:/|\.rs)`", text, re.MULTILINE)


def imports(source: Path) -> set[str]:
    """The rooms of its own crate that a file names outside of tests and comments."""
    text = source.read_text().split("#[cfg(test)]\nmod ", 1)[0]
    return set(re.findall(r"\bcrate::(\w+)", re.sub(r"//[^\n]*", "", text)))


def is_test(source: Path) -> bool:
    return "tests" in source.relative_to(ROOT).parts or source.stem.endswith("tests")


@pytest.mark.parametrize("section", CRATES)
def test_a_room_knows_only_lower_floors(section: str) -> None:
    listed = floors(section)
    src = ROOT / CRATES[section]
    rooms = {p.name.removesuffix(".rs") for p in src.iterdir()} - {"lib"}
    assert rooms == set(listed), "docs/architecture.md lists other rooms than there are"
    wrong = [
        f"{source.relative_to(ROOT)} imports {name}, which stands above {room}"
        for source in sorted(src.rglob("*.rs"))
        if not is_test(source) and source.name != "lib.rs"
        for room in [source.relative_to(src).parts[0].removesuffix(".rs")]
        for name in sorted(imports(source) & rooms - {room})
        if listed.index(name) > listed.index(room)
    ]
    assert not wrong, "\n".join(wrong)
