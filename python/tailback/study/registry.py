"""What the files of a package register, by name: measures, kinds of figures, rules, functions that count.

    RULES = Registry(__name__, "rules")
    rule = RULES.named          # the decorator the files use
    RULES.load()                # every module of the package is imported and registers itself

No two may have one name. The order of files, and so of entries, is that of their names.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Registry(dict[str, T]):
    """Entries by name; `what` says in messages what they are."""

    def __init__(self, package: str, what: str) -> None:
        super().__init__()
        self.package, self.what = package, what

    def add(self, name: str, entry: T) -> None:
        """Raises ValueError when another entry has the name."""
        if name in self:
            raise ValueError(f'two {self.what} are called "{name}"')
        self[name] = entry

    def named(self, name: str) -> Callable[[T], T]:
        """A decorator that registers what it stands on."""

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
