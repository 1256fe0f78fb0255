"""Makes a folder of reproduced studies checkable: `bundle.json` names the studies that were run, and lists every file
with its SHA-256.

    bundle.json            version, studies with mode and seeds, digests, and what cannot be repeated
    STUDY/                 the folder of a study; of a single study, the folder itself
    STUDY/scenarios/       its scenarios
    STUDY/runs/            its results
    STUDY/verdicts.json    its verdicts

The folder may be packed with tar or zip. A digest finds damaged files. If a file was changed together with its digest,
running the studies again finds the change (`verify.py`).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from tailback import _core
from tailback.core.declared import read_table
from tailback.core.store import fingerprint
from tailback.core.text.plain import file_bytes
from tailback.core.text.whole import write_text
from tailback.study.data.files import Table
from tailback.study.errors import StudyError
from tailback.study.repeat import Repeat
from tailback.study.study import Study
from tailback.study.write import Reproduction

NAME = "bundle.json"


class NotRepeatable(Table, kw_only=True, frozen=True):
    """Runs that cannot be repeated, such as those of real packets."""

    runs: str
    points: int
    why: str


class BundledStudy(Table, kw_only=True, frozen=True):
    """A study of a bundle: what to ask of `reproduce` to have it again."""

    study: str
    #: The digest of the study's own files, which are rules and scenarios.
    digest: str
    #: The folder of the study inside the bundle.
    folder: str
    mode: str
    seeds: int | None
    experiments: list[str]
    overrides: list[str]
    replaced: dict[str, dict[str, Any]]
    not_repeatable: list[NotRepeatable] = []


class Bundle(Table, kw_only=True, frozen=True):
    """bundle.json"""

    format: int
    version: str
    build: str
    studies: list[BundledStudy]
    #: Path -> SHA-256.
    files: dict[str, str]


def digest_of(study: Study) -> str:
    """The digest of all files of a study, without the files that Python compiles."""
    h = hashlib.sha256()
    for p in sorted(study.path.rglob("*")):
        if p.is_file() and not p.name.startswith(".") and p.parent.name != "__pycache__":
            h.update(f"{p.relative_to(study.path).as_posix()}\n".encode())
            h.update(p.read_bytes())
    return h.hexdigest()


def part(r: Reproduction, out: Path, how: Repeat) -> BundledStudy:
    study = r.study
    sets = dict.fromkeys(name for e in r.experiments for name in e.runs)
    fixed_runs = [study.runs[n] for n in sets if study.runs[n].not_repeatable]
    return BundledStudy(
        study=study.id,
        digest=digest_of(study),
        folder=r.out.relative_to(out).as_posix(),
        mode=r.mode,
        seeds=how.seeds,
        experiments=[e.id for e in r.experiments],
        overrides=list(how.overrides),
        replaced=study.replaced,
        not_repeatable=[
            NotRepeatable(runs=x.name, points=len(x.points(r.mode)), why=x.not_repeatable) for x in fixed_runs
        ],
    )


def write(out: Path, parts: list[BundledStudy]) -> None:
    """Write `bundle.json` into a folder of results."""
    (out / NAME).unlink(missing_ok=True)
    files = {
        p.relative_to(out).as_posix(): sha256(p)
        for p in sorted(out.rglob("*"))
        # Locks are left out, because they exist only for a time.
        if p.is_file() and p.name not in (NAME, "lock") and p.suffix != ".partial"
    }
    contents = Bundle(format=1, version=_core.__version__, build=fingerprint.build(), studies=parts, files=files)
    write_text(out / NAME, json.dumps(msgspec.to_builtins(contents), indent=1, ensure_ascii=False))


def read(folder: Path) -> Bundle:
    """The contents of `bundle.json`. Raises `StudyError` for a folder that is not a bundle."""
    path = folder / NAME
    try:
        table = json.loads(file_bytes(path))
    except FileNotFoundError as e:
        raise StudyError(f"{folder} is no bundle: it has no {NAME}, which `tailback reproduce` writes") from e
    except (ValueError, RecursionError) as e:
        raise StudyError(f"{path} is damaged; copy the bundle anew, or reproduce it again") from e
    return read_table(Bundle, table, path)


def sha256(path: Path) -> str:
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()
