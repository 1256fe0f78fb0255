"""The kinds of things that are read: a row each. The first row whose module recognises a text reads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Kind:
    """A row: its name, its title, by what in the content it is recognised, and the module of `readers/` that reads it.

    A module may have several kinds: its functions take the text, and the name in the `Reading` says which it is.
    """

    name: str
    title: str
    recognised: str
    module: str

    def load(self) -> ModuleType:
        return import_module(f"tailback.readers.{self.module}")


#: In the order in which they are tried: what has a mark of its own before what is only numbers.
KINDS: tuple[Kind, ...] = (
    Kind("tc-json", "tc -j qdisc show", "a list with `kind`, `handle` and `options`", "tc"),
    Kind("sqm", "SQM of OpenWrt", "`config queue`, or `sqm.NAME.OPTION=`", "sqm"),
    Kind("fireqos", "FireQOS", "`interface DEVICE NAME input`, `output` or `bidirectional`", "fireqos"),
    Kind("wondershaper", "Wonder Shaper", "`wondershaper` with a device and rates", "wondershaper"),
    Kind("tc", "commands of tc", "`tc qdisc add`, or the words of a qdisc alone", "tc"),
    Kind("tc-show", "tc qdisc show", "`qdisc KIND HANDLE:`", "tc"),
)
