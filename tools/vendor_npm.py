"""Files of npm packages that stand in the package or serve its tests: fetched by npm, checked by their digests.

python tools/vendor_npm.py           are the files in the package those of the version named here? No network.
python tools/vendor_npm.py --renew   fetch uPlot anew into the package
python tools/vendor_npm.py --axe     fetch axe-core, for the tests of the lab in a browser, into out/npm
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Vendored:
    """A package of the registry: its version and digest there, and the files that are taken, with theirs."""

    name: str
    version: str
    integrity: str
    folder: Path
    files: dict[str, str]


UPLOT = Vendored(
    "uplot",
    "1.6.32",
    "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
    ROOT / "python/tailback/apps/lab/static/uplot",
    {
        "dist/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        "dist/uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    },
)
AXE = Vendored(
    "axe-core",
    "4.14.1",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    ROOT / "out/npm/axe-core",
    {"axe.min.js": "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"},
)


def wrong(v: Vendored) -> list[str]:
    """The files that are not those of the version."""
    found = []
    for inside, digest in v.files.items():
        path = v.folder / Path(inside).name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            found.append(f"{path.relative_to(ROOT)} is not that of {v.name} {v.version}")
    return found


def fetch(v: Vendored) -> None:
    """Fetch the package with npm, check it, and take its files."""
    if shutil.which("npm") is None:
        sys.exit("npm is not here; install it (apt install npm), or leave the files as they are")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"{v.name}@{v.version}"], cwd=folder, check=True, capture_output=True
        )
        (archive,) = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != v.integrity:
            sys.exit(f"the registry's {v.name} {v.version} is not the one named here: sha512-{digest}")
        v.folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            for inside in v.files:
                member = tar.extractfile(f"package/{inside}")
                assert member is not None
                (v.folder / Path(inside).name).write_bytes(member.read())


def main() -> None:
    words = sys.argv[1:]
    chosen = AXE if words == ["--axe"] else UPLOT
    if words:
        if words not in (["--axe"], ["--renew"]):
            sys.exit(__doc__)
        fetch(chosen)
    problems = wrong(chosen)
    if problems:
        sys.exit("\n".join(problems))
    print(f"{chosen.name} {chosen.version}: {len(chosen.files)} files as they should be")


if __name__ == "__main__":
    main()
