"""What modules register, by name: measures, kinds of figures and tables, functions that count.

    MEASURES = Registry(__name__, "measures")
    measure = MEASURES.named    # the decorator the modules use
    MEASURES.load()             # every module of the package is imported and registers itself

No two may have one name. The order of modules, and so of entries, is that of their names. A study may bring modules of
its own (`own.py`); what they register is known to that study only.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Registry(dict[str, T]):
    """Entries by name; `what` is their word in messages."""

    def __init__(self, package: str, what: str) -> None:
        super().__init__()
        self.package, self.what = package, what
        #: Entry -> the package of the study that brings it.
        self.brought: dict[str, str] = {}

    def add(self, name: str, entry: T) -> None:
        """Raises ValueError when another entry has the name."""
        if name in self:
            raise ValueError(f'two {self.what} are called "{name}"')
        self[name] = entry

    def named(self, name: str) -> Callable[[T], T]:
        """A decorator that registers a function or a class."""

        def take(f: T) -> T:
            self.add(name, f)
            return f

        return take

    def load(self) -> Registry[T]:
        """Import every file of the package; again is free."""
        package = importlib.import_module(self.package)
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{self.package}.{module}")
        return self

    def known_to(self, package: str) -> list[str]:
        """The names that a study may use: those of the program, and those that its own package brings."""
        return [name for name in self if self.brought.get(name, package) == package]
