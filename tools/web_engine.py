#!/usr/bin/env python3
"""The engine for web pages: crates/tailback-web for WebAssembly, compressed, with the licences of all that is in it.

    make engine               python/tailback/apps/lab/static/engine.wasm.gz and engine-licences.txt
    web_engine.py --possible  only say whether there is a compiler, and what to do if not

The compiler for wasm32-unknown-unknown is that of rustup, whose target is added if it is missing. Without rustup, it is
taken from Debian's packages into a folder of its own, and the standard library is built from source. Exit status 3 if
there is neither.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = "wasm32-unknown-unknown"
STATIC = ROOT / "python/tailback/apps/lab/static"
ENGINE, LICENCES = STATIC / "engine.wasm.gz", STATIC / "engine-licences.txt"
BUILD = ["build", "--profile", "web", "--locked", "--target", TARGET, "-p", "tailback-web"]
#: Debian's compiler for WebAssembly and what it needs; std is built from `rust-web-src`.
DEBIAN = [
    *(
        "rustc-web",
        "cargo-web",
        "rust-web-src",
        "rust-web-llvm",
        "libstd-rust-web-dev",
        "libstd-rust-web-1.96",
        "lld-22",
    ),
    *("libllvm22", "libgit2-1.5", "libhttp-parser2.9", "libmbedtls14", "libmbedcrypto7", "libmbedx509-1"),
]
UNPACKED = ROOT / "out/wasm-toolchain"
#: Iterations of zopfli; more gain less than a thousandth.
ITERATIONS = 5


class NotHere(Exception):
    """What is missing, and what to do."""


def main() -> int:
    try:
        how = compiler()
    except NotHere as e:
        print(e, file=sys.stderr)
        return 3
    if sys.argv[1:] == ["--possible"]:
        return 0
    (cargo, *words), environment = how
    environment = {**os.environ, **environment}
    subprocess.run([cargo, *BUILD, *words], cwd=ROOT, env=environment, check=True)
    built = ROOT / "target" / TARGET / "web" / "tailback_web.wasm"
    raw = built.read_bytes()
    ENGINE.write_bytes(compressed(raw))
    LICENCES.write_text(licences(cargo, environment), encoding="utf-8")
    packed = ENGINE.stat().st_size
    print(f"{ENGINE.relative_to(ROOT)}: {len(raw) / 1e6:.2f} MB, {packed / 1e6:.2f} MB compressed{by_brotli(raw)}")
    return 0


def compiler() -> tuple[list[str], dict[str, str]]:
    """Cargo and what it needs beside the usual options, and the environment for it."""
    if shutil.which("rustup"):
        there = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=False)
        if TARGET in there.stdout.split():
            return ["cargo"], {}
        added = subprocess.run(["rustup", "target", "add", TARGET], capture_output=True, text=True, check=False)
        if added.returncode == 0:
            return ["cargo"], {}
    if shutil.which("apt-get") and shutil.which("dpkg"):
        try:
            return of_debian()
        except subprocess.CalledProcessError as e:
            why = (e.stderr or "").strip()[-300:]
            raise NotHere(f"Debian's packages cannot be had ({e.cmd[0]}: {why}); {HELP}") from e
    raise NotHere(f"there is no compiler for {TARGET}; {HELP}")


HELP = f"the engine for web pages needs it; help: `rustup target add {TARGET}`, or install Debian's rustc-web"


def of_debian() -> tuple[list[str], dict[str, str]]:
    root = UNPACKED / "root/usr"
    if not (root / "bin/rustc").exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        _quiet(["apt-get", "download", "-q", *DEBIAN])
        for package in sorted(UNPACKED.glob("*.deb")):
            _quiet(["dpkg", "-x", package.name, "root"])
            package.unlink()
    environment = {
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(root / "lib/x86_64-linux-gnu"),
        "RUSTC": str(root / "bin/rustc"),
        # Building std is not stable.
        "RUSTC_BOOTSTRAP": "1",
    }
    return [str(root / "bin/cargo"), "-Z", "build-std=std,panic_abort"], environment


def _quiet(command: list[str]) -> None:
    subprocess.run(command, cwd=UNPACKED, check=True, capture_output=True, text=True)


def compressed(raw: bytes) -> bytes:
    import zopfli.gzip

    # Without a time in it: the same engine, the same bytes.
    made: bytes = zopfli.gzip.compress(raw, numiterations=ITERATIONS)
    return made


def by_brotli(raw: bytes) -> str:
    try:
        import brotli
    except ImportError:
        return ""
    return f", {len(brotli.compress(raw, quality=11)) / 1e6:.2f} MB by brotli"


def licences(cargo: str, environment: Mapping[str, str]) -> str:
    """The crates in the engine, and the texts of their licences, each once."""
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    packages = {p["id"]: p for p in found["packages"]}
    nodes = {n["id"]: n for n in found["resolve"]["nodes"]}
    todo = [i for i, p in packages.items() if p["name"] == "tailback-web"]
    inside: set[str] = set()
    while todo:
        one = todo.pop()
        if one in inside:
            continue
        inside.add(one)
        linked = (d for d in nodes[one]["deps"] if any(k["kind"] is None for k in d["dep_kinds"]))
        todo += [d["pkg"] for d in linked if "proc-macro" not in packages[d["pkg"]]["targets"][0]["kind"]]
    names: list[str] = []
    texts: dict[str, list[str]] = {}
    for p in sorted((packages[i] for i in inside), key=lambda p: p["name"]):
        name = f"{p['name']} {p['version']}"
        names.append(f"{name}: {p['license']}")
        for file in sorted(Path(p["manifest_path"]).parent.glob("LICEN[SC]E*")):
            texts.setdefault(file.read_text(encoding="utf-8").strip(), []).append(name)
    for file in (ROOT / "LICENSE-MIT", ROOT / "LICENSE-APACHE"):
        texts.setdefault(file.read_text(encoding="utf-8").strip(), []).append("tailback")
    parts = [f"{', '.join(of)}\n\n{text}" for text, of in texts.items()]
    return "\n\n".join(["\n".join(["In this engine:", *names]), *parts]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
