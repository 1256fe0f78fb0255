"""Chooses the extension that becomes `tailback._core`: tailback's own, or that of a user's crate, which `TAILBACK_CORE`
names.

The variable names a Python module, such as `my_aqm`. The variable is read once, when tailback is imported. Processes
that this one starts inherit the variable. `__init__.py` imports this file only if it is set.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

NAME = "tailback._core"


class ForeignCoreError(ImportError):
    """The module that `TAILBACK_CORE` names cannot replace the extension."""


class ForeignCore(MetaPathFinder, Loader):
    """Loads the named module when `tailback._core` is first imported."""

    def __init__(self, module: str) -> None:
        self.module = module

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(NAME, self) if name == NAME else None

    def create_module(self, _spec: ModuleSpec) -> None:
        """The module that Python makes; it is replaced below."""

    def exec_module(self, _module: ModuleType) -> None:
        sys.modules[NAME] = self.found()

    def found(self) -> ModuleType:
        remedy = "install the wheel of your crate, or unset the variable"
        try:
            module = importlib.import_module(self.module)
        except (ImportError, ValueError) as e:
            raise ForeignCoreError(f'TAILBACK_CORE="{self.module}" cannot be imported: {e}; {remedy}') from e
        if not getattr(module, "own_crate", ()):
            raise ForeignCoreError(
                f'TAILBACK_CORE="{self.module}" is not an extension made with tailback-python; {remedy}'
            )
        try:
            own_version = version("tailback")
        except PackageNotFoundError:
            own_version = module.__version__
        if module.__version__ != own_version:
            raise ForeignCoreError(
                f'TAILBACK_CORE="{self.module}" is made with tailback {module.__version__}, and this is {own_version}; '
                "build your crate with this version"
            )
        return module


def take(module: str) -> None:
    """Makes this module `tailback._core`."""
    sys.meta_path.insert(0, ForeignCore(module))
