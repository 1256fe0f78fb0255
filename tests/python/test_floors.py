"""Each room of a crate imports only rooms on lower floors, and each crate depends on what docs/architecture.md says.

The page lists the rooms of a crate from the lowest.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
# The section of docs/architecture.md, and the sources that it describes.
CRATES = {
    "The queue crate": "crates/tailback-queue/src",
    "The simulator": "crates/tailback-sim/src",
    "Scenarios": "crates/tailback-scenario/src",
    "Plans": "crates/tailback-plan/src",
}
#: What the simulator does without: files, threads, clocks, the environment.
OUTSIDE = re.compile(r"\bstd::(?:fs|thread|env|process|net|time)\b|\bInstant\b|\bSystemTime\b")


def floors(section: str) -> list[str]:
    """The rooms of the first table of a section, in its order."""
    text = PAGE.split(f"## {section}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\| `(\w+)(?:/|\.rs)`", text, re.MULTILINE)


def code(source: Path) -> str:
    """A file without its tests and comments."""
    text = source.read_text().split("#[cfg(test)]\nmod ", 1)[0]
    return re.sub(r"//[^\n]*", "", text)


def imports(source: Path, src: Path) -> set[str]:
    """The rooms of its own crate that a file names."""
    text = code(source)
    found = set(re.findall(r"\bcrate::(\w+)", text))
    for group in re.findall(r"\bcrate::\{([^;]*)\}", text):
        found |= set(re.findall(r"(?:^|[,{])\s*(\w+)", group))
    if source.parent == src:
        found |= set(re.findall(r"\bsuper::(\w+)", text))
    return found


def is_test(source: Path) -> bool:
    return "tests" in source.relative_to(ROOT).parts or source.stem.endswith("tests")


@pytest.mark.parametrize("section", CRATES)
def test_a_room_knows_only_lower_floors(section: str) -> None:
    listed = floors(section)
    src = ROOT / CRATES[section]
    rooms = {p.name.removesuffix(".rs") for p in src.iterdir()} - {"lib", "tests"}
    assert rooms == set(listed), "docs/architecture.md lists other rooms than there are"
    wrong = [
        f"{source.relative_to(ROOT)} imports {name}, which stands above {room}"
        for source in sorted(src.rglob("*.rs"))
        if not is_test(source) and source.name != "lib.rs"
        for room in [source.relative_to(src).parts[0].removesuffix(".rs")]
        for name in sorted(imports(source, src) & rooms - {room})
        if listed.index(name) > listed.index(room)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_crate_depends_on_what_the_page_says() -> None:
    rows = re.findall(r"^\| `crates/tailback-(\w+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert {name for name, _ in rows} == {p.name.removeprefix("tailback-") for p in (ROOT / "crates").iterdir()}
    above: list[str] = []
    for name, said in rows:
        declared = tomllib.loads((ROOT / f"crates/tailback-{name}/Cargo.toml").read_text())
        tables = (declared.get(kind, {}) for kind in ("dependencies", "build-dependencies"))
        depends = {d.removeprefix("tailback-") for table in tables for d in table if d.startswith("tailback-")}
        if said.startswith("all of the above except "):
            left_out = set(re.findall(r"\w+", said.removeprefix("all of the above except "))) - {"and"}
            assert depends == set(above) - left_out, name
        else:
            assert depends == set(re.findall(r"\w+", said)) - {"nothing"}, name
        # From the lowest crate to the highest.
        assert depends <= set(above), name
        above.append(name)


def test_the_simulator_knows_no_files_threads_or_clocks() -> None:
    found = [
        f"{source.relative_to(ROOT)}: {name}"
        for source in sorted((ROOT / CRATES["The simulator"]).rglob("*.rs"))
        if not is_test(source)
        for name in OUTSIDE.findall(code(source))
    ]
    assert not found, "\n".join(found)


def test_only_plans_know_parquet() -> None:
    knows = {
        path.parent.name
        for path in (ROOT / "crates").glob("*/Cargo.toml")
        if "parquet" in tomllib.loads(path.read_text()).get("dependencies", {})
    }
    assert knows == {"tailback-plan"}
