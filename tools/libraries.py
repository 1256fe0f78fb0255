"""The libraries that the package declares, as requirements of pip: `lowest`, or `newest`; each is a target of make."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: Extras that no test uses.
LEFT_OUT = {"jupyterlab"}


def declared() -> dict[str, str]:
    """The oldest version of each library, of the package and of all extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    found = {}
    for requirement in named:
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement)
        if match is None:
            sys.exit(f"{PROJECT}: {requirement!r} has no lowest version; write NAME>=VERSION")
        if match[1] not in LEFT_OUT:
            found[match[1]] = match[2]
    return found


if __name__ == "__main__":
    newest = sys.argv[1:] == ["newest"]
    print("\n".join(name if newest else f"{name}=={version}" for name, version in declared().items()))
