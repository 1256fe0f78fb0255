"""A figure in our style, and writing one: the same bytes each time."""

from __future__ import annotations

import functools
import io
import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.figure_style import GREY, KINDS, STYLE

#: A row of numbers, as a figure takes it.
Numbers = Sequence[float] | np.ndarray

P = ParamSpec("P")
T = TypeVar("T")


def named(label: str) -> str:
    """A label as a legend takes it: matplotlib leaves out those that begin with a line."""
    return f"\u200b{label}" if label.startswith("_") else label


class Drawing(Figure):
    """A figure that a notebook shows without being asked, and whose legend is never cut off."""

    def savefig(self, fname: str | os.PathLike[str] | IO[bytes], *, transparent: bool | None = None, **kw: Any) -> None:
        """As matplotlib's, but everything that is drawn is in the picture."""
        kw.setdefault("bbox_inches", "tight")
        with matplotlib.rc_context(STYLE):
            super().savefig(fname, transparent=transparent, **kw)

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=120)
        return picture.getvalue()


def grid(width: float, height: float, rows: int = 1, columns: int = 1, **kw: Any) -> tuple[Drawing, np.ndarray]:
    """A figure of this many frames, and its axes as rows of columns; call it inside a function that is `styled`."""
    fig = Drawing(figsize=(width, height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **kw)
    return fig, axes


def nothing(ax: Axes, why: str) -> None:
    """Say in the frame why it is empty."""
    ax.text(0.5, 0.5, textwrap.fill(why, 40), transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set(xticks=[], yticks=[])


def styled(f: Callable[P, T]) -> Callable[P, T]:
    """Make a figure under our style, whatever the caller's settings are, and leave those alone."""

    @functools.wraps(f)
    def inner(*args: P.args, **kw: P.kwargs) -> T:
        with matplotlib.rc_context(STYLE):
            return f(*args, **kw)

    return inner


@styled
def titled(fig: Figure, title: str) -> None:
    """Say above the frames what is seen. With several frames the legend must not stand above them."""
    # Bold letters, so many to an inch.
    lines = textwrap.fill(title, int(11 * fig.get_figwidth()))
    if len(fig.axes) == 1:
        fig.axes[0].set_title(lines)
    else:
        size, weight = matplotlib.rcParams["axes.titlesize"], matplotlib.rcParams["axes.titleweight"]
        fig.suptitle(lines, x=0.01, ha="left", fontsize=size, fontweight=weight)


def save(fig: Figure, stem: str | Path, kinds: Sequence[str] = KINDS) -> list[Path]:
    """Write `stem`.png (200 dpi), .pdf and .svg. Equal figures give equal bytes: no dates, no versions in the files."""
    nothing = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
    written = []
    with matplotlib.rc_context(STYLE):
        # Laid out and measured once for all kinds; each would do it again, at a third of the time of a study's report.
        fig.draw_without_rendering()
        fig.set_layout_engine("none")
        frame = fig.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
        for kind in kinds:
            path = Path(f"{stem}.{kind}")
            path.parent.mkdir(parents=True, exist_ok=True)
            fig.savefig(path, format=kind, dpi=200, bbox_inches=frame, metadata=nothing.get(kind))
            written.append(path)
    return written
