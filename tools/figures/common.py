"""What the figures of the pages have in common: what a run recorded, and a small picture of it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import tailback as tb

FIGURES = Path(__file__).resolve().parents[2] / "docs/figures"

#: Instants and values.
Line = tuple[np.ndarray, np.ndarray]


def lines_of(result: tb.Result) -> dict[tuple[str, str, int], Line]:
    """What was recorded: by what it is of, such as `link.line` or `flows.bulk.0`, the probe and its index."""
    table = result.series
    t, v = np.asarray(table["time_s"]), np.asarray(table["value"])
    keys = list(zip(table["what"], table["probe"], map(int, table["index"]), strict=True))
    rows: dict[tuple[str, str, int], list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return {key: (t[r], v[r]) for key, r in rows.items()}


def saved(fig: Figure, path: Path) -> Path:
    """Light enough for a page; without the version of the drawing library, so the same run gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    fig.savefig(drawn, dpi=100, metadata={"Software": None})
    few = Image.open(drawn).convert("RGB").quantize(64, Image.Quantize.FASTOCTREE)
    # The ground is as white as before: colours were put together with their neighbours.
    palette = few.getpalette() or []
    ground = 3 * few.getpixel((0, 0))
    palette[ground : ground + 3] = [255, 255, 255]
    few.putpalette(palette)
    few.save(path, optimize=True)
    return path


def draw_all(names: Iterable[str], draw: Callable[[str], Path]) -> None:
    """Those that the command line names, else all."""
    known = list(names)
    asked = sys.argv[1:] or known
    if unknown := [n for n in asked if n not in known]:
        sys.exit(f"no figure {', '.join(unknown)}; there are {', '.join(known)}")
    for name in asked:
        path = draw(name)
        print(path.relative_to(FIGURES.parents[1]), f"{path.stat().st_size / 1000:.0f} kB")
