"""Draws a fabric: switches in their layers, hosts below them, and each line in a shade for its utilisation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize

from tailback.core.figure_style import GREY, INK
from tailback.show.plots.style import Drawing, grid, nothing, styled

#: The most nodes in a layer that have names, and the most hosts that are not drawn as dots.
MOST_NAMES = 12
#: The distance between layers, and the width of the drawing.
HEIGHT, WIDTH = 1.0, 1.0


@dataclass(frozen=True)
class DrawnLink:
    """A link, and its utilisation: that of the direction with more."""

    name: str
    ends: tuple[str, str]
    used: float


def lines_of(links: Sequence[Mapping[str, object]], used: Mapping[str, float]) -> list[DrawnLink]:
    """The links of a scenario's `spec`, with the utilisation of each direction by its name."""
    lines = []
    for link in links:
        name = str(link["name"])
        if not name.endswith(".reverse"):
            most = max(used.get(name, 0.0), used.get(f"{name}.reverse", 0.0))
            lines.append(DrawnLink(name, (str(link["from"]), str(link["to"])), most))
    return lines


def layers_of(lines: Sequence[DrawnLink]) -> list[list[str]]:
    """The nodes in layers: first those with one link, and then by the number of links from these."""
    neighbours: dict[str, set[str]] = {}
    for line in lines:
        a, b = line.ends
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    layer = [node for node, others in neighbours.items() if len(others) == 1] or list(neighbours)[:1]
    seen_nodes, layers = set(layer), []
    while layer:
        layers.append(sorted(layer, key=_natural))
        layer = list(dict.fromkeys(other for node in layer for other in neighbours[node] if other not in seen_nodes))
        seen_nodes.update(layer)
    return layers


@styled
def topology(lines: Sequence[DrawnLink]) -> Drawing:
    """Draws the fabric. The scale beside the picture shows the utilisation of a line."""
    layers = layers_of(lines) if lines else []
    fig, axes = grid(7.0, 0.6 + 0.85 * max(len(layers), 2), shrinks=False)
    ax = axes[0][0]
    if not lines:
        nothing(ax, "nothing to draw: there are no links")
        return fig
    place_of = {
        node: (WIDTH * (i + 0.5) / len(layer), HEIGHT * level)
        for level, layer in enumerate(layers)
        for i, node in enumerate(layer)
    }
    shades = LinearSegmentedColormap.from_list("used", ["#d9d9d9", "#e08214", "#7f0000"])
    drawn_links = [line for line in lines if all(end in place_of for end in line.ends)]
    collection = LineCollection(
        [[place_of[end] for end in line.ends] for line in drawn_links], cmap=shades, norm=Normalize(0, 1), zorder=1
    )
    collection.set_array([line.used for line in drawn_links])
    collection.set_linewidth(1.2 if len(drawn_links) <= 200 else 0.5)
    ax.add_collection(collection)
    for level, layer in enumerate(layers):
        xs, ys = zip(*(place_of[node] for node in layer), strict=True)
        size = max(2.0, min(7.0, 160 / len(layer)))
        ax.plot(xs, ys, "o" if level == 0 else "s", color=GREY if level == 0 else INK, markersize=size, zorder=2)
        if level > 0 and len(layer) <= MOST_NAMES:
            for node in layer:
                x, y = place_of[node]
                ax.annotate(node, (x, y), (0, 6), textcoords="offset points", ha="center", fontsize="small", zorder=3)
        else:
            kind = re.sub(r"\d+", "", layer[0])
            text_place = (0.0, HEIGHT * level)
            node_text = f"{len(layer)} {kind}{'s' if len(layer) > 1 else ''}"
            ax.annotate(
                node_text, text_place, (-4, 0), textcoords="offset points", ha="right", va="center", fontsize="small"
            )
    ax.set_xlim(-0.02 * WIDTH, 1.02 * WIDTH)
    ax.set_ylim(-0.3 * HEIGHT, HEIGHT * (len(layers) - 1) + 0.45 * HEIGHT)
    ax.set_axis_off()
    bar = fig.colorbar(collection, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label("line in use")
    bar.ax.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    return fig


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts names as text, but numbers in them by value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
