#!/usr/bin/env python3
"""Look into a wheel, install it in a fresh environment with no compiler on the path, and use it: commands, a study, a
notebook. Each step shows the CPU time that it took, where the system counts that of ended processes.

make wheel-test        or        python tests/wheel/try_wheel.py dist/tailback-*.whl
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/tailback"
#: A wheel may have so many bytes.
LARGEST = 12_000_000
COMPILERS = ("cargo", "rustc", "cc", "gcc", "clang", "cl")

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
    look_into(wheels[0])
    with tempfile.TemporaryDirectory() as name:
        try_in(Path(name), wheels[0])
    print("the wheel works")
    return 0


def look_into(wheel: Path) -> None:
    """Its size, its description, and whether the examples and studies of this checkout are in it."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB")
    if size > LARGEST:
        raise SystemExit(f"the wheel has more than {LARGEST / 1e6:g} MB")
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
        (about,) = (n for n in there if n.endswith(".dist-info/METADATA"))
        described = archive.read(about).decode()
    if "](https://" not in described or re.search(r"\]\((?!https?://)", described):
        raise SystemExit("its description has links that lead nowhere: tools/description.py makes them absolute")
    for part in ("examples", "studies", "apps/lab"):
        files = {p.relative_to(PACKAGE.parent).as_posix() for p in (PACKAGE / part).rglob("*") if p.is_file()}
        # The first two are crates of their own, which no Python program needs.
        files = {f for f in files if "/your-" not in f and "__pycache__" not in f}
        if not files or files - there:
            raise SystemExit(f"not in the wheel, of {len(files)} files in {part}: {sorted(files - there)}")


def cpu() -> float:
    """CPU time of ended processes, seconds."""
    times = os.times()
    return times.children_user + times.children_system


def bare(programs: Path) -> dict[str, str]:
    """The variables of a machine without a compiler, and nothing of this checkout: the new programs alone."""
    outside = ("CARGO", "RUST", "PYTHON", "VIRTUAL", "TAILBACK")
    environment = {k: v for k, v in os.environ.items() if not k.upper().startswith(outside)}
    path = [str(programs)]
    if os.name == "nt":
        path.append(str(Path(os.environ["SYSTEMROOT"], "System32")))
    environment["PATH"] = os.pathsep.join(path)
    found = [c for c in COMPILERS if shutil.which(c, path=environment["PATH"])]
    if found:
        raise SystemExit(f"there are compilers on the path: {found}")
    return environment


def answers(tailback: str, folder: Path, environment: dict[str, str]) -> None:
    """Whether the lab answers for its token, and for nothing else."""
    print("$ tailback lab --no-browser", flush=True)
    command = [tailback, "lab", "--no-browser"]
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address, _, token = server.stdout.readline().split()[-1].partition("#token=")
        asked = urllib.request.Request(f"{address}page", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            said = answer.read().decode()
        if '"hello"' not in said or "uPlot" not in said:
            raise SystemExit(f"the lab has answered something else: {said[:200]}")
        try:
            urllib.request.urlopen(f"{address}page", timeout=20).close()
        except urllib.error.HTTPError as e:
            print(f"  answers with the token, and {e.code} without")
        else:
            raise SystemExit("the lab answers without its token")
    finally:
        server.terminate()
        server.wait(20)


def try_in(folder: Path, wheel: Path) -> None:
    began = cpu()
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    environment = bare(programs)

    def call(*command: str) -> subprocess.CompletedProcess[str]:
        print("$", " ".join(command)[:100], flush=True)
        before = cpu()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise SystemExit(f"status {done.returncode}\n{done.stdout}\n{done.stderr}")
        print(f"  {cpu() - before:.2f} s of CPU")
        return done

    python, tailback = str(programs / "python"), str(programs / "tailback")
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    call(tailback, "--version")
    if "Type first:" not in call(tailback).stdout:
        raise SystemExit("tailback alone does not say what to type first")
    listed = call(tailback, "examples").stdout
    lost = [p.stem for p in (PACKAGE / "examples").glob("*.toml") if f"  {p.stem} " not in listed]
    if lost:
        raise SystemExit(f"not among the examples of the wheel: {lost}")
    call(tailback, "demo")
    print(f"  {cpu() - began:.2f} s of CPU from the wheel to three pictures")
    if len(list(folder.glob("out/demo/*/figures/*.png"))) != 3:
        raise SystemExit("the demo has not made three pictures")
    ran = call(tailback, "run", "examples/first-run.toml")
    if folder.name not in ran.stderr:
        raise SystemExit(f"the example is not that of the wheel:\n{ran.stderr}")
    if "bottleneck" not in ran.stdout or "used" not in ran.stdout:
        raise SystemExit(f"tailback run said nothing of its links:\n{ran.stdout}")
    call(tailback, "reproduce", "keshav-1991", "--quick", "--out", "keshav")
    report = folder / "keshav/report.html"
    if "<svg" not in report.read_text(encoding="utf-8") and "image/svg+xml" not in report.read_text(encoding="utf-8"):
        raise SystemExit("the report of the study has no figure")
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[lab]")
    answers(tailback, folder, environment)
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nbclient", "nbformat", "ipykernel")
    print(call(python, "-c", NOTEBOOK).stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
