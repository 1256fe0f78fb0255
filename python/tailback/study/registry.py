"""Registries of the entries that modules register by name: measures, kinds of figures and tables, functions that count.

    MEASURES = Registry(__name__, "measures")
    measure = MEASURES.named    # the decorator the modules use
    MEASURES.load()             # every module of the package is imported and registers itself

No two entries may have the same name. The modules, and therefore the entries, are in the order of their names. A study
may have its own modules (`own.py`). Only that study can use the entries that they register.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Registry(dict[str, T]):
    """Entries by name. `what` is the word for them in messages."""

    def __init__(self, package: str, what: str) -> None:
        super().__init__()
        self.package, self.what = package, what
        #: Entry -> the package of the study that registers it.
        self.brought: dict[str, str] = {}

    def add(self, name: str, entry: T) -> None:
        """Register an entry. Raises ValueError if another entry has the name."""
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
        """Import every file of the package. Further calls cost nothing."""
        package = importlib.import_module(self.package)
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{self.package}.{module}")
        return self

    def known_to(self, package: str) -> list[str]:
        """The names that a study may use: those of the program, and those of the study's own package."""
        return [name for name in self if self.brought.get(name, package) == package]
