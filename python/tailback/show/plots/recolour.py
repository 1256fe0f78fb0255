"""Replaces the colours of a drawn figure: in dark mode, each of our colours by its counterpart.

Colours that are not in the table stay, such as those of the cells of a map and of the text in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text


def recolour(fig: Figure, table: Mapping[str, str]) -> None:
    """Replace the colours of everything in the figure."""

    def other(colour: Any) -> Any:
        rgba = to_rgba(colour)
        replacement = table.get(to_hex(rgba))
        if replacement is None:
            return colour
        # From numbers matplotlib would also take the opacity, and a faint grid would become solid.
        return replacement if rgba[3] == 1.0 else to_rgba(replacement, rgba[3])

    # Ticks are made when they are first drawn.
    fig.draw_without_rendering()
    for ax in fig.axes:
        _ticks(ax, other)
    for artist in fig.findobj():
        if isinstance(artist, Text):
            artist.set_color(other(artist.get_color()))
            # The background patch of a text is not a child of the text.
            ground = artist.get_bbox_patch()
            if ground is not None:
                _patch(ground, other)
        elif isinstance(artist, Line2D):
            artist.set_color(other(artist.get_color()))
            artist.set_markeredgecolor(other(artist.get_markeredgecolor()))
            if str(artist.get_markerfacecolor()) not in ("none", "auto"):
                artist.set_markerfacecolor(other(artist.get_markerfacecolor()))
        elif isinstance(artist, Patch):
            _patch(artist, other)
        elif isinstance(artist, Collection) and artist.get_array() is None:
            for get, put in (
                (artist.get_facecolor, artist.set_facecolor),
                (artist.get_edgecolor, artist.set_edgecolor),
            ):
                colours = np.atleast_2d(np.asarray(get(), float))
                if colours.size:
                    put([other(c) for c in colours])


def _patch(patch: Patch, other: Callable[[Any], Any]) -> None:
    for get, put in ((patch.get_edgecolor, patch.set_edgecolor), (patch.get_facecolor, patch.set_facecolor)):
        old_colours = get()
        new_colours = other(old_colours)
        # A new colour gets the opacity of the patch, so an edge without colour would become visible.
        if new_colours is not old_colours:
            put(new_colours)


def _ticks(ax: Axes, other: Callable[[Any], Any]) -> None:
    """Recolours the ticks of an axis, also those that are made later, such as after a change of limits."""
    settings: Any = rcParams
    for axis, name in ((ax.xaxis, "xtick"), (ax.yaxis, "ytick")):
        # Parameters that were never set for this axis have the values of the settings.
        usual_colours = {
            "color": settings[f"{name}.color"],
            "labelcolor": settings[f"{name}.labelcolor"],
            "grid_color": settings["grid.color"],
        }
        colours = {**usual_colours, **axis.get_tick_params()}
        axis.set_tick_params(which="both", **{k: other(colours[k]) for k in usual_colours})
