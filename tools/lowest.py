"""The oldest version of each library that the package declares, as requirements of pip: for `make lowest`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: Extras that no test uses.
LEFT_OUT = {"jupyterlab"}


def lowest() -> list[str]:
    """`NAME==VERSION`, of the package and of all extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    found = []
    for requirement in named:
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement)
        if match is None:
            sys.exit(f"{PROJECT}: {requirement!r} has no lowest version; write NAME>=VERSION")
        if match[1] not in LEFT_OUT:
            found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    print("\n".join(lowest()))
