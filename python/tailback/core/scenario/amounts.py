"""Reads amounts that scenarios write, as numbers."""

from __future__ import annotations

from tailback import _core
from tailback.core.text.arguments import checked


@checked
def parse_rate(text: str) -> float:
    """`"500Mbps"` to bit/s. Raises ValueError.

    >>> tb.parse_rate("500Mbps")
    500000000.0
    """
    return _core.parse_rate(text)


@checked
def parse_time(text: str) -> float:
    """`"50ms"` to seconds. Raises ValueError.

    >>> tb.parse_time("50ms")
    0.05
    >>> tb.parse_time("50m")
    Traceback (most recent call last):
    ValueError: the unit "m" is ambiguous; write "ms" for milliseconds or "min" for minutes
    """
    return _core.parse_time(text)


@checked
def parse_bytes(text: str) -> int:
    """`"64KB"` to bytes. Raises ValueError.

    >>> tb.parse_bytes("64KB")
    64000
    """
    return _core.parse_bytes(text)


@checked
def parse_size(text: str) -> tuple[int | None, str]:
    """`"1000 packets"` to `(1000, "packets")`, `"64KB"` to `(64000, "bytes")`, `"unlimited"` to `(None, "unlimited")`.

    >>> tb.parse_size("1000 packets"), tb.parse_size("64KB"), tb.parse_size("unlimited")
    ((1000, 'packets'), (64000, 'bytes'), (None, 'unlimited'))
    """
    return _core.parse_size(text)


@checked
def parse_level(text: str) -> tuple[float, str]:
    """`"20%"` to `(0.2, "of buffer")`, `"5 packets"` to `(5.0, "packets")`, `"30KB"` to `(30000.0, "bytes")`.

    >>> tb.parse_level("20%"), tb.parse_level("5 packets"), tb.parse_level("30KB")
    ((0.2, 'of buffer'), (5.0, 'packets'), (30000.0, 'bytes'))
    """
    return _core.parse_level(text)
