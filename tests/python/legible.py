"""Measures of whether a figure can be read: sizes, overlaps and contrast of its type, and differences of colours as
people with three kinds of colour blindness see them, and in grey."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

#: The width that a page of 400 pixels leaves to a figure: main has margins of 1.25rem.
SCREEN_PX = 400 - 2 * 20

#: What an eye makes of linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.0; grey as luminance.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "grey": np.ones((3, 1)) @ np.array([[0.2126, 0.7152, 0.0722]]),
}


def linear(colour) -> np.ndarray:
    c = np.asarray(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a, b) -> float:
    """Of two colours, 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB, white D65."""
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.asarray(matrix) @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: np.ndarray, two: np.ndarray) -> float:
    """CIEDE2000 of two colours in CIELAB (Sharma, Wu and Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, two
    c = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(c**7 / (c**7 + 25.0**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    cos = [np.cos(np.radians(x)) for x in (hm - 30, 2 * hm, 3 * hm + 6, 4 * hm - 63)]
    t = 1 - 0.17 * cos[0] + 0.24 * cos[1] + 0.32 * cos[2] - 0.2 * cos[3]
    sl, sc, sh = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2), 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rt = -np.sin(np.radians(60 * np.exp(-(((hm - 275) / 25) ** 2)))) * 2 * np.sqrt(cm**7 / (cm**7 + 25.0**7))
    return float(np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * dc / sc * dh / sh))


def nearest(colours, eye: str) -> float:
    """The smallest difference of any two of these colours to such an eye."""
    seen = [lab(EYES[eye] @ linear(c)) for c in colours]
    return min(difference(a, b) for a, b in combinations(seen, 2))


def texts(fig: Figure) -> list[Text]:
    """What can be read: not ticks outside of their frames."""
    fig.draw_without_rendering()
    hidden = set()
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-6 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not ax.axison or not low - slack <= tick.get_loc() <= high + slack:
                    hidden |= {tick.label1, tick.label2}
    found = [t for t in fig.findobj(Text) if t.get_text().strip("\u200b ") and t.get_visible() and t not in hidden]
    return [t for t in found if t.get_window_extent().width > 0]


def least_points(fig: Figure) -> float:
    return min(t.get_fontsize() for t in texts(fig))


def clipped(fig: Figure) -> list[str]:
    """Texts that reach out of the figure."""
    page = fig.bbox
    out = []
    for t in texts(fig):
        b = t.get_window_extent()
        if b.x0 < page.x0 - 1 or b.y0 < page.y0 - 1 or b.x1 > page.x1 + 1 or b.y1 > page.y1 + 1:
            out.append(t.get_text())
    return out


def overlapping(fig: Figure) -> Iterator[tuple[str, str]]:
    """Pairs of texts whose boxes share more than a rim of half a point."""
    rim = 0.5 * fig.dpi / 72
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts(fig)]
    for (a, one), (b, two) in combinations(boxes, 2):
        width = min(one.x1, two.x1) - max(one.x0, two.x0)
        height = min(one.y1, two.y1) - max(one.y0, two.y0)
        if width > 2 * rim and height > 2 * rim:
            yield a, b


def least_contrast(fig: Figure) -> float:
    """Of all texts with what is behind them: a cell of a map, or the ground."""
    least = 21.0
    for t in texts(fig):
        ground = fig.get_facecolor()
        for image in t.axes.images if t.axes is not None and t.get_transform() == t.axes.transData else ():
            x, y = t.get_position()
            ground = image.cmap(image.norm(image.get_array()[int(y), int(x)]))
        if to_rgba(t.get_color())[3] > 0:
            least = min(least, contrast(t.get_color(), ground))
    return least
