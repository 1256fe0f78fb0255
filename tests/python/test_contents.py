"""What the sources have, item by item: each is somewhere here, or has a reason."""

import json
import sys
from pathlib import Path

import pytest

from tailback import _core
from tailback.show.report.markdown import completeness
from tailback.study import load as studies
from tailback.study.errors import StudyError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from study_pages import told_of  # noqa: E402

DOCS = ROOT / "docs"
#: Items that a reader listed from each source.
ITEMS = {"liu-2001": 42, "jiang-2006": 38, "keshav-1991": 28, "habib-2000": 33, "kantawala-2005": 68}


@pytest.mark.parametrize("name", ITEMS)
def test_each_item_of_a_source_leads_somewhere(name: str) -> None:
    items = studies.load(name).about.source
    known = {m["name"] for family in json.loads(_core.describe_json(None)) for m in family["models"]}
    assert len(items) == ITEMS[name]
    assert len({x.part for x in items}) == len(items), "a part stands once"
    assert not [x.part for x in items if not set(x.models) <= known]
    assert not [x.docs for x in items if x.docs and not (DOCS / x.docs).is_file()]
    assert all(len(x.missing) > 10 for x in items if x.missing)


def test_the_table_counts_the_rows_of_an_item() -> None:
    rows = {part: (where, came) for part, where, came in completeness(told_of("habib-2000"))}
    assert rows["SYN"] == ("`tailback describe syn`", "there")
    assert rows["figure 9"][0] == "fig-9" and "reproduced" in rows["figure 9"][1]
    assert rows["groupings of stages"][0] == "[edge.md](../edge.md)"
    rows = {part: (where, came) for part, where, came in completeness(told_of("keshav-1991"))}
    assert rows["loss-load curves"][1].startswith("missing: ")


def test_an_item_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    whole = studies.load("unresponsive").path
    for file in whole.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for line, said in [
        ('{ part = "x" }', 'no place is given for "x"'),
        ('{ part = "x", experiments = ["y"] }', "names y, which is no experiment"),
        ('{ part = "x", files = ["z.toml"] }', "names z.toml"),
    ]:
        (tmp_path / "contents.toml").write_text(f"contents = [\n  {line},\n]\n")
        with pytest.raises(StudyError, match=said):
            studies.load(tmp_path)
