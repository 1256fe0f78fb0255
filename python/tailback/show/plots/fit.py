"""Makes a figure fit a narrow sheet: titles and labels are wrapped, and ticks that touch are thinned or turned."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

#: The least distance between adjacent labels, points.
_GAP = 3.0
#: The height below the frames for which figures have room, inches: a legend of one line.
_LINE = 0.3


def fit(fig: Figure) -> None:
    """Wrap texts and thin ticks that do not fit; the others stay as they are."""
    _below(fig)
    _wrap_legends(fig)
    _heighten(fig)
    frames = [ax for ax in fig.axes if ax.axison]
    for _ in range(2):
        fig.draw_without_rendering()
        wrapped_axes = [ax for ax in frames if _wrap_all(ax)]
        if wrapped_axes:
            fig.draw_without_rendering()
        thinned_axes = [ax for ax in frames if _thin(fig, ax)]
        # A wrapped label leaves less room for the frames, so other labels may have to be wrapped too.
        if not wrapped_axes and not thinned_axes:
            return
    fig.draw_without_rendering()


def titles(fig: Figure) -> None:
    """Wrap titles that are wider than their frames, because they may touch the titles beside them."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        if ax.axison:
            _wrap_titles(ax)


def _below(fig: Figure) -> None:
    """Turn legends beside a frame, and legends wider than the figure, into one legend below all frames."""
    fig.draw_without_rendering()
    axes_beside = [ax for ax in fig.axes if (box := ax.get_legend()) is not None and _is_outside(ax, box)]
    wide_legends = [x for x in fig.legends if x.get_window_extent().width > 0.98 * fig.bbox.width]
    if not axes_beside and not wide_legends:
        return
    handles: dict[str, Any] = {}
    legends: list[Any] = [*fig.legends, *(ax.get_legend() for ax in axes_beside)]
    for box in legends:
        labels_and_handles = zip((t.get_text() for t in box.get_texts()), box.legend_handles, strict=True)
        handles |= {name: handle for name, handle in labels_and_handles if name not in handles}
    title = next((t for x in legends if (t := x.get_title().get_text())), "")
    for box in legends[len(fig.legends) :]:
        box.remove()
    fig.legends.clear()
    for columns in range(min(len(handles), 6), 0, -1):
        joint_legend = fig.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=columns,
            columnspacing=1.2,
            title=title or None,
        )
        fig.draw_without_rendering()
        if columns == 1 or joint_legend.get_window_extent().width <= 0.98 * fig.bbox.width:
            return
        fig.legends.clear()


def _wrap_legends(fig: Figure) -> None:
    """Wrap the entries of legends that are wider than the figure."""
    for box in fig.legends:
        width = box.get_window_extent().width
        longest = max((t.get_window_extent().width for t in box.get_texts()), default=0.0)
        for text in box.get_texts() if width > 0.98 * fig.bbox.width else ():
            _wrap(text, longest - (width - 0.98 * fig.bbox.width))


def _heighten(fig: Figure) -> None:
    """Make the figure taller by the lines of a legend below, except the first line, so that the frames keep their
    room."""
    boxes = [one.get_window_extent() for one in fig.legends]
    heights_below = [b.height for b in boxes if b.y0 < 0.1 * fig.bbox.height]
    fig.set_figheight(fig.get_figheight() + max(max(heights_below, default=0.0) / fig.dpi - _LINE, 0.0))


def _is_outside(ax: Axes, found: Any) -> bool:
    return bool(found.get_window_extent().x1 > ax.get_window_extent().x1 + 5)


def _wrap_all(ax: Axes) -> bool:
    """Wrap labels and titles. Returns whether anything was wrapped."""
    frame = ax.get_window_extent()
    page, middle = whole(ax).bbox, (frame.x0 + frame.x1) / 2
    x = _wrap(ax.xaxis.label, min(frame.width * 1.05, 1.9 * min(middle - page.x0, page.x1 - middle)))
    y = _wrap(ax.yaxis.label, frame.height * 1.02, turned=True)
    return _wrap_titles(ax) or x or y


def _wrap_titles(ax: Axes) -> bool:
    room = ax.get_window_extent().width * 0.98
    are_wrapped = [_wrap(getattr(ax, place), room) for place in ("_left_title", "title", "_right_title")]
    return any(are_wrapped)


def whole(ax: Axes) -> Figure:
    """The whole figure of an axis, also if the axis is in a subfigure, in every version of matplotlib."""
    fig: Any = ax.figure
    while fig.figure is not None and fig.figure is not fig:
        fig = fig.figure
    assert isinstance(fig, Figure)
    return fig


def _wrap(text: Text, room: float, turned: bool = False) -> bool:
    """Wrap a text. Returns whether the text has changed."""
    text_before = text.get_text()
    words = " ".join(text_before.split())
    if not words:
        return False
    box = text.get_window_extent()
    length = box.height if turned else box.width
    if length > room:
        longest = max(map(len, text.get_text().split("\n")))
        letters = max(int(longest * room / length), 8)
        # A name is not broken unless it is wider than the whole room.
        hyphens = max(map(len, words.split())) > letters
        text.set_text(textwrap.fill(words, letters, break_long_words=False, break_on_hyphens=hyphens))
    return text.get_text() != text_before


def _thin(fig: Figure, ax: Axes) -> bool:
    """Thin or turn ticks that touch. Returns whether any tick was left out or turned."""
    gap, is_changed = _GAP * fig.dpi / 72, False
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        while True:
            view_begin, view_end = sorted(axis.get_view_interval())
            slack = 1e-9 * (view_end - view_begin)
            visible_labels = [
                (at, t)
                for at, t in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
                if view_begin - slack <= at <= view_end + slack and t.get_text() and t.get_visible()
            ]
            if len(visible_labels) < 2 or not _touch([t for _, t in visible_labels], name, gap):
                break
            if not _fewer(axis, [at for at, _ in visible_labels], name):
                break
            fig.draw_without_rendering()
            is_changed = True
    return is_changed


def _touch(labels: list[Text], name: str, gap: float) -> bool:
    boxes = [t.get_window_extent() for t in labels]
    ends = sorted((b.x0, b.x1) if name == "x" else (b.y0, b.y1) for b in boxes)
    gap = gap if name == "x" else 0.0
    return any(b[0] - a[1] < gap for a, b in pairwise(ends))


def _has_words(formatter: Any) -> bool:
    """Whether each tick has its own label, as after `set_xticks(places, labels)`. No such label may be left out."""
    own_function = getattr(formatter, "func", None)
    own_function = getattr(own_function, "func", None)
    return isinstance(formatter, FixedFormatter) or getattr(own_function, "__name__", "") == "_format_with_dict"


def _fewer(axis: Any, shown: list[float], name: str) -> bool:
    """Leave out every second tick of numbers, or turn words. Returns whether anything was changed."""
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    if isinstance(locator, MaxNLocator) and isinstance(formatter, ScalarFormatter) and len(shown) > 2:
        axis.set_major_locator(MaxNLocator(nbins=len(shown) - 2, steps=[1, 2, 2.5, 5, 10]))
        return True
    words = _has_words(formatter)
    if words and name == "x":
        level_labels = [t for t in axis.get_majorticklabels() if t.get_rotation() == 0]
        axis.set_tick_params(rotation=90)
        return bool(level_labels)
    if isinstance(locator, FixedLocator | NullLocator) or words or len(shown) <= 2:
        kept_ticks = shown[::2] if len(shown) > 2 else []
        if words or not kept_ticks:
            return False
        axis.set_major_locator(FixedLocator(kept_ticks))
        return True
    axis.set_major_locator(FixedLocator(shown[::2]))
    return True
