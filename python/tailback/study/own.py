"""Imports the code of a study: modules in its folder, beside its data.

    measures.py     what it measures on a run: `@measure` of `tailback.study.measures`
    computed.py     its experiments without packets: `@computed` of `tailback.study.computed`
    outputs.py      the keys of its kinds of figures and tables: `@output` of `tailback.study.outputs`
    tables.py       its kinds of tables: `@table` of `tailback.study.tables`
    figures.py      its kinds of figures: `@figure` of `tailback.study.figures`; imported when the study draws

Each may be a folder of that name with several modules instead. The folder of the study is a package with its own name,
so that its modules import one another as `from .measures import loads`. Two folders with the same code are one package,
so nothing is registered twice. If the code of a folder was changed since it was loaded, it is loaded anew.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tailback.study import computed, figures, measures, outputs, tables
from tailback.study.errors import StudyError
from tailback.study.registry import Registry

#: The modules that are imported with the study, in this order.
AT_ONCE = ("measures", "computed", "outputs", "tables")
#: The modules that need matplotlib, whose import takes long.
WHEN_DRAWN = ("figures",)

#: The loaded packages, by name.
_PACKAGES: dict[str, ModuleType] = {}

REGISTRIES: tuple[Registry[Any], ...] = (
    measures.MEASURES,
    computed.FUNCTIONS,
    outputs.KINDS,
    tables.TABLES,
    figures.FIGURES,
)


@dataclass(frozen=True)
class Code:
    """The code of a study."""

    #: The name of the package of the study's folder.
    package: str
    #: The digest of every byte of the code.
    digest: str

    def module(self, name: str) -> ModuleType:
        """A module of the study, such as `measures`, or `figures.queue` where `figures` is a folder."""
        _bring(self.package, (name.partition(".")[0],))
        return sys.modules[f"{self.package}.{name}"]

    def draws(self) -> None:
        """Import the study's kinds of figures. Further calls cost nothing."""
        _bring(self.package, WHEN_DRAWN)


def code_of(place: Path) -> Code:
    """Import the modules that a study needs at once. Raises `StudyError` for code that cannot be imported or registers
    a name twice."""
    folder = place.resolve()
    files = [p for room in (*AT_ONCE, *WHEN_DRAWN) for p in _files(folder, room)]
    h = hashlib.sha256()
    for p in files:
        h.update(f"{p.relative_to(folder).as_posix()}\n".encode())
        h.update(p.read_bytes())
    digest = h.hexdigest()
    name = f"tailback_study_{digest[:16]}"
    for module, package in list(_PACKAGES.items()):
        at = Path(package.__path__[0])
        if (at == folder and module != name) or not at.is_dir():
            forget(module)
    if files:
        if name not in _PACKAGES:
            _PACKAGES[name] = sys.modules[name] = ModuleType(name, "The code of a study.")
            _PACKAGES[name].__path__ = [str(folder)]
        _bring(name, AT_ONCE)
    return Code(name, digest)


def forget(package: str) -> None:
    """Unregisters the entries of a study's code."""
    for r in REGISTRIES:
        for entry in [x for x, of in r.brought.items() if of == package]:
            del r[entry], r.brought[entry]
    for name in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        del sys.modules[name]
    del _PACKAGES[package]


def _files(folder: Path, room: str) -> list[Path]:
    """`room.py`, or every module of the folder `room`, in the order of their names."""
    if (folder / room).is_dir() and (folder / f"{room}.py").is_file():
        raise StudyError(f"{folder}: there are both {room}.py and a folder {room}; only one of them can be read")
    return sorted((folder / room).glob("*.py")) or [p for p in [folder / f"{room}.py"] if p.is_file()]


def _bring(package: str, rooms: tuple[str, ...]) -> None:
    """Import every module of these names that is not imported yet."""
    if package not in _PACKAGES:
        return
    folder = Path(_PACKAGES[package].__path__[0])
    if rooms == WHEN_DRAWN:
        # The program's own figures are imported first, so that they are not registered as the study's.
        figures.load()
    for room in rooms:
        for file in _files(folder, room):
            name = f"{package}.{'.'.join(file.relative_to(folder).with_suffix('').parts)}"
            if name not in sys.modules:
                _import(package, name, file)


def _import(package: str, name: str, file: Path) -> None:
    """Import a module, and note its registered entries. A module that fails leaves no entries behind."""
    registries_before = [dict(r) for r in REGISTRIES]
    modules = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception as e:
        for r, entries_before in zip(REGISTRIES, registries_before, strict=True):
            r.clear()
            r.update(entries_before)
        for module_name in [m for m in sys.modules if m.startswith(f"{package}.") and m not in modules]:
            del sys.modules[module_name]
        raise StudyError(_told(e, file)) from e
    for r, entries_before in zip(REGISTRIES, registries_before, strict=True):
        r.brought |= {entry: package for entry in r if entry not in entries_before}


def _told(e: Exception, file: Path) -> str:
    """The error of a module, with the line."""
    if isinstance(e, SyntaxError):
        return f"{e.filename}:{e.lineno}: {e.msg}; correct the Python of this study"
    lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename == str(file)]
    place = f"{file}:{lines[-1]}" if lines else f"{file}"
    twice = isinstance(e, ValueError) and " are called " in str(e)
    remedy = "give this one another name" if twice else "correct the Python of this study"
    return f"{place}: {e if twice else f'{type(e).__name__}: {e}'}; {remedy}"
