"""Loads classes from users' files, named as `FILE.py:CLASS`.

Every run imports this module. The module imports `hashlib` only if a scenario names such a file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from tailback.core.text.os_errors import os_message
from tailback.core.text.plain import file_bytes

#: The pattern of a name of a class in a file.
NAMED = re.compile(r"(?P<path>[^\"'\s:={},]+\.py):(?P<name>[A-Za-z_]\w*)")


class FileError(ValueError):
    """A file or a class that cannot be used: the problem, and what to do instead."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


def loaded(path: str, name: str, near: Iterable[Path] = ()) -> Any:
    """The class `name` of a file. The file is searched in the folders `near` and then in the current folder. Raises
    `FileError`.

    No file is written beside the user's file. A file that has not changed is run once.
    """
    folders = [*near, Path()]
    file = next((where for folder in folders if (where := folder / path).is_file()), None)
    if file is None:
        raise FileError(f"there is no file {path}", "write its path as seen from the scenario or from this folder")
    module = _module(file, path)
    own_class = getattr(module, name, None)
    if not callable(own_class):
        classes = [n for n, x in vars(module).items() if isinstance(x, type) and x.__module__ == module.__name__]
        classes_of_file = f"its classes are {', '.join(classes)}" if classes else "it has no class"
        raise FileError(f"{path} has no class {name}", classes_of_file)
    return own_class


def _module(file: Path, path: str) -> ModuleType:
    """The module of a file. The file is compiled here, so that Python makes no cache folder beside the file."""
    try:
        source = file_bytes(file)
    except OSError as e:
        e.filename = None
        raise FileError(f"{path} cannot be read: {os_message(e)}", "name a file of Python") from e
    from hashlib import sha256

    real_path = file.resolve()
    digest = sha256(bytes(str(real_path), "utf-8", "surrogateescape") + b"\0" + source).hexdigest()[:12]
    name = f"{file.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(real_path)
    # The same name in every folder.
    module.__dict__["__own_name__"] = file.stem
    sys.modules[name] = module
    # As for a script, modules in the same folder can be imported.
    sys.path.insert(0, str(real_path.parent))
    try:
        exec(compile(source, str(real_path), "exec"), module.__dict__)
    except (Exception, SystemExit) as e:
        del sys.modules[name]
        # A file that is no text has no line.
        line_text = f" (line {e.lineno})" if isinstance(e, SyntaxError) and e.lineno else ""
        message = e.msg if isinstance(e, SyntaxError) else str(e)
        remedy = f"correct it; `python {path}` shows the place"
        raise FileError(f"{path} cannot be read: {type(e).__name__}: {message}{line_text}", remedy) from e
    finally:
        sys.path.remove(str(real_path.parent))
    return module
