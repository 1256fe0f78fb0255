"""Finds the examples and studies that are installed with the package, by their names."""

from __future__ import annotations

import os
import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from tailback.core.text.plain import plain, read_text

PACKAGE = Path(__file__).parents[2]
EXAMPLES = PACKAGE / "examples"
STUDIES = PACKAGE / "studies"
#: Scenarios, then Python programs. The other examples are crates, which are in no wheel.
_FILES = ("*.toml", "demo/*.toml", "*.py")
#: A name without an ending: `first-run`, `demo/queue`.
_NAME = re.compile(r"(?:demo/)?[\w-]+")
_SENTENCE = re.compile(r".*?\.(?= |$)")


class Example(NamedTuple):
    #: The name of the example for commands; a program keeps its ending.
    name: str
    path: Path

    @property
    def text(self) -> str:
        return read_text(self.path)

    @property
    def about(self) -> str:
        """The first sentence of its comment or docstring."""
        paragraph = opening(self.text)
        sentence = _SENTENCE.match(paragraph)
        return sentence[0] if sentence else paragraph


def opening(text: str) -> str:
    """The description of a file: the first paragraph of its comment or docstring."""
    lines = (line.strip("# ") for line in text.removeprefix('"""').splitlines())
    return " ".join(takewhile(bool, lines))


def examples() -> list[Example]:
    """Every example, the scenarios first."""
    files = [path for pattern in _FILES for path in sorted(EXAMPLES.glob(pattern))]
    return [Example(path.relative_to(EXAMPLES).as_posix().removesuffix(".toml"), path) for path in files]


def found(name: Path, beside: Path = Path()) -> Path:
    """The file, relative to the folder `beside`. If it does not exist, the installed file of this name is taken, and
    a line reports this. In a folder without such a file, `first-run` and `examples/first-run.toml` are the same
    scenario."""
    path = beside / name
    installed_path = _installed(name)
    # Unlike the methods of `Path`, these accept a name of any length.
    if installed_path is None or os.path.exists(path) or not os.path.isfile(installed_path):
        return path
    place = "this folder" if beside == Path() else str(beside)
    print(plain(f"{name} is not in {place}; this is the installed {installed_path}"), file=sys.stderr)
    return installed_path


def _installed(name: Path) -> Path | None:
    """The place where a file of this name would be installed; None for any other text."""
    if name.parts[:1] in [(EXAMPLES.name,), (STUDIES.name,)]:
        return PACKAGE / name
    return EXAMPLES / f"{name}.toml" if _NAME.fullmatch(name.as_posix()) else None


def example(name: str) -> Example | None:
    """The example of this name; the name may also be written as a file."""
    return next((e for e in examples() if e.name == _word(name)), None)


def no_example(name: str) -> str:
    """The message for a name that no example has."""
    from difflib import get_close_matches

    near = get_close_matches(_word(name), [e.name for e in examples()], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return plain(f"there is no example {name}; {hint}`tailback examples` lists them")


def missing(name: Path) -> str | None:
    """The message for a name that looks like an example's but is not one; None for a file or any other name."""
    if os.path.lexists(name) or STUDIES.name in name.parts[:1]:
        return None
    installed_example = example(str(name))
    if installed_example is None and _installed(name) is None:
        return None
    hint = f"the installed example is called {installed_example.name}" if installed_example else no_example(str(name))
    return f"there is no file {plain(str(name))} in this folder; {hint}"


def _word(name: str) -> str:
    return Path(name).as_posix().removeprefix(f"{EXAMPLES.name}/").removesuffix(".toml")
