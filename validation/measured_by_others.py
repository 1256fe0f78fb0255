#!/usr/bin/env python3
"""Tables that others measured, beside the same scenarios here.

    python validation/measured_by_others.py             runs all, stores what came out, writes the page
    python validation/measured_by_others.py --page      writes the page from what is stored
    python validation/measured_by_others.py --cells     prints every cell of the last run
    python validation/measured_by_others.py --only ns2-labs --seeds 3    runs one source and prints its cells

Cells and rules: `validation/measured/README.md`. The page: `docs/measured-by-others.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from by_others import cells, compare, page


def main() -> int:
    parser = argparse.ArgumentParser(description="Tables that others measured, beside the same scenarios here.")
    parser.add_argument("--only", metavar="SOURCE", help="run this source alone, print its cells, store nothing")
    parser.add_argument("--seeds", type=int, default=compare.SEEDS, metavar="N", help="seeds of each scenario")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    parser.add_argument("--cells", action="store_true", help="run nothing, print all cells")
    given = parser.parse_args()
    sources = cells.load()
    if given.seeds < 1:
        parser.error(f"--seeds {given.seeds}: give at least 1")
    if given.only:
        chosen = [source for source in sources if source.key == given.only]
        if not chosen:
            parser.error(f"--only {given.only}: there are {', '.join(source.key for source in sources)}")
        show(compare.judge(chosen, compare.measure(chosen, given.seeds, tell)).values())
        return 0
    if not given.page and not given.cells:
        compare.store(compare.measure(sources, given.seeds, tell), given.seeds)
    measured, seeds = compare.stored()
    verdicts = compare.judge(sources, measured)
    if given.cells:
        show(verdicts.values())
        return 0
    page.write(sources, verdicts, seeds)
    for source in sources:
        counted = compare.count(verdicts[source.key])
        print(f"{source.key:16} {counted.inside:4} of {counted.cells:4} inside")
    return 0


def show(verdicts: Iterable[list[compare.Verdict]]) -> None:
    """Prints a line for each cell: theirs, from where to where it may be, ours."""
    for each in (verdict for group in verdicts for verdict in group):
        cell = each.cell
        mark = "inside " if each.inside else "OUTSIDE"
        print(f"{mark} {cell.name:70} {cell.theirs:10.4g} [{cell.low:.4g} to {cell.high:.4g}] {each.ours:10.4g}")


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
