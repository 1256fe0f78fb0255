"""`tailback report DIR`: shows a folder of results as one HTML file that needs no network.

There are two kinds of folders. A folder of `tailback reproduce` has a file study.json, and becomes a report of a study
that begins with the verdicts (`study_page`). A folder of `tailback run` or a sweep has a file runs.parquet, and becomes
a report of its runs: tables over replications, and figures of the varied and the recorded quantities (`run_page`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

NAME = "report.html"


class ReportError(ValueError):
    """A folder without anything to report."""


def write(folder: str | Path, figures: Sequence[str] = ()) -> Path:
    """Write `report.html` into a folder of results, and return its path. The figures of runs are also written as files
    of the kinds `figures`, which are `pdf` or `png`. The figures of a study are drawn by `tailback reproduce`."""
    from tailback.show.plots.style import in_page

    folder, kinds = Path(folder), in_page(figures)
    if (folder / "study.json").is_file():
        if figures:
            raise ReportError(f"{folder} has a study, whose figures `tailback reproduce` draws: give --figures to that")
        from tailback.core.verdict import told
        from tailback.show.report.study_page import study_page

        try:
            text = study_page(folder, told.read(folder))
        except told.OtherVersion as e:
            raise ReportError(str(e)) from e
        except (ValueError, LookupError, TypeError) as e:
            raise ReportError(f"{folder / 'study.json'} is damaged; `tailback reproduce` writes it anew") from e
    elif (folder / "runs.parquet").is_file():
        from tailback.show.report.run_page import run_page

        text = run_page(folder, kinds)
    else:
        raise ReportError(
            f"{folder} holds no results: it has neither study.json (`tailback reproduce`) nor runs.parquet "
            "(`tailback run --out`)"
        )
    from tailback.core.text.whole import write_text

    write_text(folder / NAME, text)
    return folder / NAME
