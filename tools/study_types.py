#!/usr/bin/env python3
"""Check the types of the code that studies bring, with mypy.

    tools/study_types.py [STUDY ...]      all studies without them

The folder of a study is a package whose name mypy cannot know (`python/tailback/study/own.py`). Here it has the name of
the study with underscores, as a link in a folder that is removed at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> int:
    studies = ROOT / "python/tailback/studies"
    with tempfile.TemporaryDirectory() as d:
        for folder in sorted(studies.iterdir()):
            if any(folder.rglob("*.py")) and (not names or folder.name in names):
                (Path(d) / folder.name.replace("-", "_")).symlink_to(folder)
        packages = sorted(str(p) for p in Path(d).iterdir())
        if not packages:
            print(f"no study of these has code: {', '.join(names)}", file=sys.stderr)
            return 2
        command = [sys.executable, "-m", "mypy", "--explicit-package-bases", *packages]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPYPATH": d}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
