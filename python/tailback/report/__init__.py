"""The page of a folder of results that `tailback run` or a sweep has written: one HTML file that needs no network.

It has tables over replications, and figures of what varies and of what was recorded (`run_page`). `page` makes HTML of
templates for every page there is; those of studies are in `study/pages`.
"""

from __future__ import annotations

from pathlib import Path

from tailback.report.page import write_page


class ReportError(ValueError):
    """A folder that holds nothing to report."""


def write(folder: str | Path) -> Path:
    """Write `report.html` into a folder of results; gives back its path."""
    folder = Path(folder)
    if not (folder / "runs.parquet").is_file():
        raise ReportError(
            f"{folder} holds no results: it has neither study.json (`tailback reproduce`) nor runs.parquet "
            "(`tailback run --out`)"
        )
    from tailback.report.run_page import run_page

    return write_page(folder, run_page(folder))
