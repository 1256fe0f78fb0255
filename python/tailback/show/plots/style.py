"""Makes figures in our style, and writes them with the same bytes each time.

A function that draws has the decorator `styled`. Such a function draws for a `Sheet`, which has a style (screen, paper
or dark). The sheet may have a width, such as that of a column of a paper or a small screen; otherwise the figure has
its own width. A figure keeps the function that drew it, so that `again` can draw the figure for another sheet.
"""

from __future__ import annotations

import functools
import io
import math
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from tailback.core.figure_style import BESIDE_PAGE, DARK, GREY, IN_PAGE, KINDS, SMALL, SMALL_WIDTH, STYLE, STYLES
from tailback.core.text import given
from tailback.core.text.arguments import checked, looks_at
from tailback.core.text.whole import whole
from tailback.show.plots.fit import fit, titles
from tailback.show.plots.palette import CAST, Cast
from tailback.show.plots.recolour import recolour

#: A row of numbers, as a figure takes it.
Numbers = Sequence[float] | np.ndarray

P = ParamSpec("P")
T = TypeVar("T")

#: The least width of a panel, in inches for each point of its type.
_PANEL = 0.205
#: The number of letters above which titles may be wider than their frames.
_LONG_TITLE = 30


@dataclass(frozen=True)
class Sheet:
    """The medium for which a figure is drawn."""

    #: The width in inches; 0 for the figure's own width.
    width: float = 0.0
    #: One of `figure_style.STYLES`.
    style: str = "screen"

    def settings(self) -> dict[Any, Any]:
        """matplotlib's settings for the sheet."""
        return {**STYLE, **STYLES[self.style]}


#: The requested sheet, and the sheet of the figure that is being drawn.
_ASKED: ContextVar[Sheet | None] = ContextVar("asked", default=None)
_DRAWN: ContextVar[Sheet | None] = ContextVar("drawn", default=None)


@checked
@contextmanager
def on(width: float = 0.0, style: str = "screen") -> Iterator[Sheet]:
    """Draw the figures of this block for a sheet of this width in inches, and in this style.

    >>> from tailback.show import plots
    >>> with plots.on(width=3.5, style="paper"):
    ...     figure = plots.series([("queue", [0, 1], [2, 3])], "queue (packets)")
    >>> figure.get_figwidth()
    3.5
    """
    if style not in STYLES:
        raise ValueError(f'there is no style "{style}"; styles are {", ".join(STYLES)}')
    if width and not 2.0 <= width <= 30.0:
        raise ValueError(f"a figure of {width:g} in cannot be drawn; give a width from 2in to 30in")
    sheet = Sheet(width, style)
    token = _ASKED.set(sheet)
    try:
        yield sheet
    finally:
        _ASKED.reset(token)


def sheet() -> Sheet:
    """The present medium."""
    return _DRAWN.get() or _ASKED.get() or Sheet()


def named(label: str) -> str:
    """A label in a form for a legend. Without it matplotlib leaves out labels that begin with an underscore."""
    return f"\u200b{label}" if label.startswith("_") else label


class Drawing(Figure):
    """A figure that a notebook shows once, and whose legend is never cut off."""

    #: The sheet for which the figure was drawn, and the function that draws it again for another sheet.
    sheet = Sheet()
    recipe: Callable[[], Any] | None = None

    def savefig(self, fname: str | os.PathLike[str] | IO[bytes], *, transparent: bool | None = None, **kw: Any) -> None:
        """matplotlib's `savefig`, but the picture contains everything that is drawn."""
        if not self.sheet.width:
            kw.setdefault("bbox_inches", "tight")
        with matplotlib.rc_context({**self.sheet.settings(), "savefig.bbox": None}):
            super().savefig(fname, transparent=transparent, **kw)

    def again(self, width: float = 0.0, style: str = "screen") -> Drawing:
        """The same figure for another sheet. Later changes of its axes are not in this figure."""
        if self.recipe is None:
            return self
        with on(width, style):
            figure: Drawing = self.recipe()
        return figure

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=120)
        return picture.getvalue()


@checked
def grid(
    width: float, height: float, rows: int = 1, columns: int = 1, *, shrinks: bool = True, **kw: Any
) -> tuple[Drawing, np.ndarray]:
    """A figure of this many frames, and its axes as rows of columns; call it inside a function that is `styled`.

    The size is that on a wide sheet. On a narrow one the height shrinks with the width, less than in proportion, unless
    the rows need the full height.
    """
    for name, size in (("width", width), ("height", height)):
        if not 0 < size < math.inf:
            raise ValueError(f"{name} = {size}; give inches above zero")
    rows, columns = given.count("rows", rows, 1, 1000), given.count("columns", columns, 1, 1000)
    sheet_width = sheet().width
    if sheet_width:
        least = 1.25 * rows + 0.35
        if shrinks:
            height = max(least, height * min(1.0, (sheet_width / width) ** 0.6))
        # The legend is below.
        width, height = sheet_width, height + (0.0 if shrinks else 0.3)
    fig = Drawing(figsize=(width, height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **kw)
    return fig, axes


@checked
def beside(n: int, most: int = 3) -> int:
    """The number of `n` panels that are side by side: at most `most`, and as many as fit on the sheet."""
    sheet_width = sheet().width
    columns = n if n <= most else most - 1 if n == most + 1 else most
    if sheet_width:
        columns = min(columns, int(sheet_width / (_PANEL * matplotlib.rcParams["font.size"])))
    return max(columns, 1)


def small_type() -> float:
    """The size of the smallest letters, points."""
    return float(matplotlib.rcParams["xtick.labelsize"])


@checked
def legend(fig: Figure, handles: Mapping[str, Any], place: str, most: int = 12, title: str = "") -> None:
    """Draws the legend outside of all frames, at `place` on a wide sheet and below on a narrow one, in as many columns
    as fit."""
    if not handles:
        return
    is_narrow = bool(sheet().width)
    form: dict[str, Any] = {"handlelength": 2.6, "columnspacing": 1.2, "title": title or None, "alignment": "left"}
    form |= {
        "loc": "outside lower center" if is_narrow else place,
        "title_fontsize": matplotlib.rcParams["legend.fontsize"],
    }
    columns = min(len(handles), most) if is_narrow or "right center" not in place else 1
    while True:
        box = fig.legend(list(handles.values()), list(handles), ncols=columns, **form)
        if columns == 1 or box.get_window_extent(_renderer(fig)).width <= 0.98 * fig.bbox.width:
            return
        fig.legends.clear()
        columns -= 1


def in_page(asked: Sequence[str]) -> tuple[str, ...]:
    """The kinds of files of a figure in a page: the kind that the page shows, and the kinds that are requested in
    addition. Raises ValueError for other kinds."""
    for kind in asked:
        if kind not in BESIDE_PAGE:
            kinds = " and ".join(BESIDE_PAGE)
            raise ValueError(f"figures = {given.shown(asked)}: there is no kind {kind!r}; kinds are {kinds}")
    return (*dict.fromkeys(asked), IN_PAGE)


def _renderer(fig: Figure) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return FigureCanvasAgg(fig).get_renderer()  # type: ignore[no-untyped-call]


@checked
def nothing(ax: Axes, why: str) -> None:
    """Write into an empty frame why it is empty."""
    ax.text(0.5, 0.5, textwrap.fill(why, 40), transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set(xticks=[], yticks=[])


def styled(f: Callable[P, T]) -> Callable[P, T]:
    """Make a figure in our style with any settings of the caller, and keep the caller's settings."""
    look = looks_at(f)

    @functools.wraps(f)
    def inner(*args: P.args, **kw: P.kwargs) -> T:
        if _DRAWN.get() is not None:
            return f(*args, **kw)
        look(args, kw)
        page = sheet()
        drawn_token, cast_token = _DRAWN.set(page), CAST.set(Cast())
        try:
            with matplotlib.rc_context(page.settings()):
                figure = f(*args, **kw)
                if isinstance(figure, Drawing):
                    _finish(figure, page)
                    figure.recipe = functools.partial(inner, *args, **kw)
        finally:
            CAST.reset(cast_token)
            _DRAWN.reset(drawn_token)
        return figure

    return inner


def _keep_fonts(fig: Figure) -> None:
    """Set the names of the fonts, because matplotlib looks up the meaning of `serif` only when it draws, perhaps with
    other settings."""
    generic = matplotlib.rcParams["font.family"]
    font_names = matplotlib.rcParams["font.serif"] if generic == ["serif"] else matplotlib.rcParams["font.sans-serif"]
    fonts = list(font_names)
    for ax in fig.axes:
        ax.tick_params(axis="both", which="both", labelfontfamily=fonts)
    for text in fig.findobj(Text):
        if text.get_fontfamily() == generic:
            text.set_fontfamily(fonts)


def _finish(fig: Drawing, asked: Sheet) -> None:
    fig.sheet = asked
    _keep_fonts(fig)
    if asked.width:
        fit(fig)
    elif any(len(ax.get_title(where)) > _LONG_TITLE for ax in fig.axes for where in ("left", "center")):
        titles(fig)
    if asked.style == "dark":
        recolour(fig, DARK)


@styled
def titled(fig: Figure, title: str) -> None:
    """Write a title above the frames. With several frames the legend must not be above the frames."""
    # About 11 bold letters take an inch.
    lines = textwrap.fill(title, int(11 * fig.get_figwidth()))
    if len(fig.axes) == 1:
        fig.axes[0].set_title(lines)
    else:
        size, weight = matplotlib.rcParams["axes.titlesize"], matplotlib.rcParams["axes.titleweight"]
        fig.suptitle(lines, x=0.01, ha="left", fontsize=size, fontweight=weight)


@checked
def save(fig: Figure, stem: str | Path, kinds: Sequence[str] = KINDS, small: bool = False) -> list[Path]:
    """Write `stem`.png (200 dpi), .pdf and .svg. Equal figures give equal bytes, because the files have no dates and no
    versions.

    With `small`, `stem`-small.svg is written too: the same figure for a screen of 400 pixels.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds = {given.shown(kinds)}: there is no kind {kind!r}; kinds are {', '.join(KINDS)}")
    no_metadata = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
    page: Sheet = getattr(fig, "sheet", Sheet())
    paths = []
    with matplotlib.rc_context(page.settings()):
        # The figure is laid out and measured once for all kinds. If each kind did this again, it would take a third of
        # the time of a study's report.
        fig.draw_without_rendering()
        fig.set_layout_engine("none")
        frame = None if page.width else fig.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
        for kind in kinds:
            path = Path(f"{stem}.{kind}")
            path.parent.mkdir(parents=True, exist_ok=True)
            # The library that draws may fail in a bad way if a disk is full, so it draws into memory.
            picture = io.BytesIO()
            fig.savefig(picture, format=kind, dpi=200, bbox_inches=frame, metadata=no_metadata.get(kind))
            with whole(path) as partial:
                partial.write_bytes(picture.getvalue())
            paths.append(path)
    if small and isinstance(fig, Drawing) and fig.recipe is not None:
        narrow_figure = fig.again(SMALL_WIDTH)
        paths += save(narrow_figure, f"{stem}{SMALL}", ["svg"])
    return paths
