"""Arguments of `tailback predict` (quantities with units, and values that its models refuse), and its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from tailback.core.theory.predict import PredictError

T = TypeVar("T")


def asked(call: Callable[[], T]) -> T:
    """The result of a model. A value that it refuses becomes an error of the options."""
    try:
        return call()
    except PredictError as e:
        raise click.UsageError(str(e)) from e


def quantity(option: str, parse: Callable[[str], T], text: str) -> T:
    """The value of an option with a unit. A wrong one becomes an error of this option."""
    try:
        return parse(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint=f"--{option}") from e


def packet_bytes(text: str) -> int:
    """The value of `--packet`."""
    from tailback import _core

    size = quantity("packet", _core.parse_bytes, text)
    if size < 1:
        raise click.BadParameter("a packet has at least 1 byte", param_hint="--packet")
    return size


def round_trip(text: str) -> float:
    """The value of `--rtt`, seconds."""
    from tailback import _core

    seconds = quantity("rtt", _core.parse_time, text)
    if seconds <= 0:
        raise click.BadParameter("the model needs a round trip above zero, such as 100ms", param_hint="--rtt")
    return seconds


def print_table(rows: Sequence[Sequence[str]]) -> None:
    from tailback.core.text.terminal import columns

    click.echo("\n".join(columns(rows, right=range(len(rows[0])))))
