#!/usr/bin/env python3
"""Install a wheel in a fresh environment with no Rust on the path, and use it: commands, a study, a notebook.

make wheel-test        or        python tests/wheel/try_wheel.py dist/tailback-*.whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

#: Where the examples of the package are.
WHERE = "import importlib.resources as r; print(r.files('tailback') / 'examples' / 'first-run.toml')"

#: Run by the new environment's Python: a notebook of three cells, and a figure among its outputs.
NOTEBOOK = """
import nbformat
from nbclient import NotebookClient

cells = [
    "%matplotlib inline\\nimport tailback as tb",
    "net = tb.dumbbell(flows=4, bottleneck='10Mbps', rtt='40ms', queue=tb.queue('red', buffer='50 packets'))\\n"
    "net.record(link='bottleneck', probes=['queue'], every='10ms')\\n"
    "result = net.run(duration='5s', seed=1)\\n"
    "result.flows",
    "result.plot('queue')",
]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
NotebookClient(book, timeout=120, kernel_name="python3").execute()
kinds = [set(o["data"]) for c in book.cells for o in c.outputs if "data" in o]
assert any("text/html" in k for k in kinds), kinds
assert any("image/png" in k for k in kinds), kinds
print("a notebook with a table and a figure")
"""


def main() -> int:
    wheels = [Path(w).resolve() for w in sys.argv[1:]]
    if len(wheels) != 1 or not wheels[0].is_file():
        print(
            "give one wheel: python tests/wheel/try_wheel.py dist/tailback-0.1.0-cp311-abi3-linux_x86_64.whl",
            file=sys.stderr,
        )
        return 2
    if "-abi3-" not in wheels[0].name:
        print(f"{wheels[0].name} serves one version of Python only; it should be an abi3 wheel", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        try_in(Path(name), wheels[0])
    print("the wheel works")
    return 0


def try_in(folder: Path, wheel: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv/bin"
    # No Rust, and nothing of this checkout: the new environment and the system's own programs.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "RUST", "PYTHON", "VIRTUAL"))}
    environment["PATH"] = f"{programs}:/usr/bin:/bin"

    def call(*command: str) -> str:
        print("$", " ".join(command)[:100], flush=True)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    python, tailback = str(programs / "python"), str(programs / "tailback")
    rust = subprocess.run(
        ["bash", "-c", "command -v cargo rustc"], env=environment, capture_output=True, text=True
    ).stdout
    if rust:
        raise SystemExit(f"there is Rust on the path: {rust}")
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    call(tailback, "--version")
    example = call(python, "-c", WHERE).strip()
    if str(folder / "venv") not in example:
        raise SystemExit(f"the example is not in the wheel but at {example}")
    said = call(tailback, "run", example)
    if "utilisation" not in said and "used" not in said:
        raise SystemExit(f"tailback run said nothing of its links:\n{said}")
    call(tailback, "reproduce", "keshav-1991", "--quick", "--out", "keshav")
    report = folder / "keshav/report.html"
    if "<svg" not in report.read_text(encoding="utf-8") and "image/svg+xml" not in report.read_text(encoding="utf-8"):
        raise SystemExit("the report of the study has no figure")
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nbclient", "nbformat", "ipykernel")
    print(call(python, "-c", NOTEBOOK).strip())


if __name__ == "__main__":
    sys.exit(main())
