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
KINDS: tuple[Kind, ...] = ()
