"""The page of changed verdicts says what the last runs came to, and every row of it is one of its study."""

import sys
import tomllib
from pathlib import Path

from tailback.study import load as studies

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
import study_changes
import study_pages


def test_the_page_has_the_tables_of_the_last_runs() -> None:
    page = study_changes.PAGE.read_text(encoding="utf-8")
    assert study_changes.with_tables(page) == page, "run tools/study_changes.py write"


def test_every_row_is_one_of_its_study_and_says_why() -> None:
    found = tomllib.loads(study_changes.ROWS.read_text(encoding="utf-8"))
    before = found.pop("before")
    assert set(before) == set(found)
    for name, rows in found.items():
        assert set(rows) <= set(study_pages.unmeasured(studies.load(name)))
        for row, (outcome, kind, reason) in rows.items():
            assert outcome in ("reproduced", "not reproduced", "not testable"), row
            assert kind in "abcdef-" and reason, row
        # All that was not reproduced or not testable is there; the rest were verdicts that were too kind.
        assert sum(outcome != "reproduced" for outcome, _, _ in rows.values()) == before[name][1] + before[name][2], (
            name
        )
