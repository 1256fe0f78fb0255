"""`tailback verify`: runs the studies of a bundle again, and compares the results.

There are three checks. Every file is compared with its digest. Every run is simulated anew, and each of its tables is
compared with the stored one. Every table, verdict and scenario of the bundle is made anew and compared number by
number. A changed number is therefore found even if its digest was changed too. Figures and pages are only compared with
their digests.

A quicker check simulates only some runs, which a seed draws, and makes tables and verdicts anew from the stored runs. A
changed number in a run that is not drawn is found only if it changes a table or a verdict.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import random
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core
from tailback.core.store import fingerprint
from tailback.core.store.sources import Answers
from tailback.core.text.plain import file_bytes
from tailback.study import bundle
from tailback.study import load as studies
from tailback.study.bundle import NAME, BundledStudy
from tailback.study.errors import StudyError
from tailback.study.judge import unsettled
from tailback.study.model import Experiment
from tailback.study.repeat import Repeat, with_asked
from tailback.study.reproduce import reproduce
from tailback.study.study import Study
from tailback.study.work import course
from tailback.study.work.needed import Work
from tailback.study.write import COLUMNS

#: The largest size of an unpacked bundle: this many times its length, plus this many bytes. Packing makes tables hardly
#: smaller.
MOST_UNPACKED, MOST_SMALL = 50, 64_000_000
#: The first bytes of gzip, bzip2 and xz.
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
#: A file of an archive counts as at least this many bytes, since an archive may have very many empty files.
LEAST = 4096
#: The longest file of a bundle that is read as a whole, bytes.
LONGEST_TABLE = 1 << 30
#: The most differences of a file that are reported.
MOST = 5
#: Entries of study.json and verdicts.json that are about the whole study, or about figures.
WHOLE = ("count", "kinds", "opening", "runs", "seeds", "experiments", "sections", "verdicts")


@dataclass
class Found:
    """The result of the verification of one study."""

    study: str
    runs: int = 0
    #: The number of runs from which the runs were drawn.
    of: int = 0
    files: int = 0
    verdicts: int = 0
    #: The differences, each with its place, the value in the bundle, and the value that was computed here.
    differences: list[str] = field(default_factory=list)
    not_repeatable: list[str] = field(default_factory=list)


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """The folder of a bundle, unpacked if it is packed. Raises `StudyError`."""
    if path.is_dir():
        yield path
        return
    if path.exists() and not path.is_file():
        raise StudyError(f"{path} is a pipe or a device; name a folder or a file that `tailback reproduce` has written")
    with tempfile.TemporaryDirectory(prefix="tailback-verify-") as d:
        try:
            _unpack(path, Path(d))
        # A truncated file may end anywhere.
        except (
            tarfile.TarError,
            zipfile.BadZipFile,
            OSError,
            EOFError,
            zlib.error,
            lzma.LZMAError,
            ValueError,
            RuntimeError,
        ) as e:
            raise StudyError(f"{path} cannot be unpacked ({e}); pack the folder anew") from e
        inside = [p.parent for p in sorted(Path(d).rglob(NAME), key=lambda p: len(p.parts))]
        yield inside[0] if inside else Path(d)


def _unpack(path: Path, into: Path) -> None:
    most_bytes = MOST_UNPACKED * path.stat().st_size + MOST_SMALL
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as z:
            _within(path, sum(max(i.file_size, LEAST) for i in z.infolist()), most_bytes)
        shutil.unpack_archive(path, into, "zip")
    elif _is_tar(path):
        size = 0
        with tarfile.open(path) as t:
            for member in t:
                size += max(member.size, LEAST)
                _within(path, size, most_bytes)
                t.extract(member, into, filter="data")
    else:
        raise StudyError(
            f"{path} is neither a folder nor packed with tar or zip; name what `tailback reproduce` has written"
        )


def _is_tar(path: Path) -> bool:
    """Whether the first bytes are those of a tar or a packed tar. Other files are not unpacked to find out."""
    with path.open("rb") as f:
        head = f.read(512)
    return (head.startswith(PACKED) or head[257:262] == b"ustar") and tarfile.is_tarfile(path)


def _within(path: Path, size: int, most: int) -> None:
    if size > most:
        raise StudyError(
            f"{path} would unpack to more than {most / 1e6:.0f} MB, {MOST_UNPACKED} times its length, as no bundle "
            "does; unpack it yourself and name the folder"
        )


def changed_files(folder: Path, b: bundle.Bundle) -> list[str]:
    """Files whose digest is not the one that the bundle gives."""
    problems = []
    for name, digest in b.files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            problems.append(f"{name} lies outside the bundle")
        elif not path.is_file():
            problems.append(f"{name} is missing")
        elif bundle.sha256(path) != digest:
            problems.append(f"{name} is not the file that was bundled")
    return problems


def check_version(b: bundle.Bundle) -> None:
    """Raises `StudyError` if the versions make a comparison impossible."""
    if b.build != fingerprint.build():
        raise StudyError(
            f"the bundle was made by another source of tailback {b.version} (build {b.build}); this is "
            f"{_core.__version__} (build {fingerprint.build()}): check that version out to verify it"
        )


def verify(folder: Path, p: BundledStudy, how: Repeat) -> Found:
    """Run a study of a bundle again, and compare. Only the jobs and the progress of `how` are used."""
    study, result, experiments = _begun(p)
    if not experiments:
        return result
    their_folder = folder / p.folder
    with tempfile.TemporaryDirectory(prefix="tailback-verify-") as d:
        our_folder = Path(d) / p.study
        reproduce(study, experiments, _as_bundled(p, how), our_folder, command="verify")
        _runs(our_folder / "runs", their_folder / "runs", result)
        _answers(our_folder / "runs", their_folder / "runs", result)
        _texts(our_folder, their_folder, experiments, result)
    return result


@dataclass(frozen=True)
class Sample:
    """The number of runs of each study that are drawn, and the seed that draws them."""

    runs: int
    seed: int = 1


def look(folder: Path, p: BundledStudy, sample: Sample, how: Repeat) -> Found:
    """Repeat some runs of a study of a bundle, and make its tables and verdicts anew from the stored runs."""
    study, result, experiments = _begun(p)
    if not experiments:
        return result
    their_folder = folder / p.folder
    with tempfile.TemporaryDirectory(prefix="tailback-verify-") as folder_name:
        drawn_folder, made_again = Path(folder_name) / "drawn", Path(folder_name) / p.study
        how = _as_bundled(p, how)
        changed_study = with_asked(study, p.overrides, experiments, p.mode)[0] if p.overrides else study
        bundled_work = Work(changed_study, experiments, how, their_folder)
        bundled_work.settle(partial(unsettled, changed_study))
        needed_jobs = [i for i in range(len(bundled_work.jobs)) if i not in bundled_work.spare]
        result.of = len(needed_jobs)
        missing_runs = _missing(bundled_work, their_folder / "runs", needed_jobs)
        work = Work(changed_study, experiments, how, drawn_folder)
        work.only(random.Random(f"{sample.seed} {p.study}").sample(needed_jobs, min(sample.runs, result.of)))
        # Every drawn run is done, also a run of a later seed that a row needed.
        work.spare.clear()
        course.run(work, {}, how.progress)
        _runs(drawn_folder / "runs", their_folder / "runs", result)
        _answers(drawn_folder / "runs", their_folder / "runs", result)
        if missing_runs:
            # Tables from some of the runs cannot equal those from all of them.
            result.differences += missing_runs
            return result
        _fits(their_folder / "runs", Path(folder_name))
        shutil.copytree(their_folder / "runs", made_again / "runs", ignore=shutil.ignore_patterns("lock"))
        reproduce(study, experiments, replace(how, progress=None, announce=None), made_again, command="verify")
        _texts(made_again, their_folder, experiments, result)
    return result


def _fits(runs: Path, into: Path) -> None:
    """Raises `StudyError` if a copy of the runs would fill the disk. A sparse file may be longer than its contents, and
    a device has no end."""
    files = [p for p in runs.rglob("*") if not p.is_dir()]
    for p in files:
        if not p.is_file():
            raise StudyError(f"{p} is no regular file; copy the bundle anew")
    size, free_bytes = sum(p.stat().st_size for p in files), shutil.disk_usage(into).free
    if size > free_bytes:
        raise StudyError(
            f"a copy of {runs} takes {size / 1e9:.1f} GB, and {into.parent} has {free_bytes / 1e9:.1f} GB; set TMPDIR "
            "to a folder with more room, or leave --sample out"
        )


def _as_bundled(p: BundledStudy, how: Repeat) -> Repeat:
    return replace(how, mode=p.mode, seeds=p.seeds, overrides=p.overrides, figures=None)


def _missing(work: Work, theirs: Path, needed: Sequence[int]) -> list[str]:
    """Runs that should be in the bundle, and are incomplete there."""
    runs, answers = _core.StoredRuns(theirs), Answers(theirs)
    jobs = [(work.jobs[i].key, runs if i < work.packets else answers) for i in needed]
    keys = [key for key, stored in jobs if key not in stored]
    ending = [f"{len(keys) - MOST} more runs are incomplete in the bundle"] if len(keys) > MOST else []
    return [f"run {key} is incomplete in the bundle" for key in keys[:MOST]] + ending


def _begun(p: BundledStudy) -> tuple[Study, Found, list[Experiment]]:
    """The study of a part, the result before anything is run, and the experiments that can be run again."""
    study = studies.load(p.study, p.replaced)
    if bundle.digest_of(study) != p.digest:
        raise StudyError(f"the rules or scenarios of study {p.study} differ from the bundle's; restore them")
    result = Found(p.study)
    for x in p.not_repeatable:
        result.not_repeatable.append(f"{p.study}: {x.points} points of {x.runs} ({x.why})")
    return study, result, _repeatable(study, p)


def _repeatable(study: Study, p: BundledStudy) -> list[Experiment]:
    fixed = {x.runs for x in p.not_repeatable}
    experiments = [study.experiment(name) for name in p.experiments]
    return [e for e in experiments if not fixed & set(e.runs)]


# ------------------------------------------------------------------------------------------------------------ runs


def _runs(ours: Path, theirs: Path, found: Found) -> None:
    """Compares every table of every run."""
    if not ours.is_dir():
        return
    # Sets may share runs.
    runs = dict.fromkeys(r["key"] for r in _core.status(ours)["runs"] if r["stored"])
    our_runs, their_runs = _core.StoredRuns(ours), _core.StoredRuns(theirs)
    for key in runs:
        found.runs += 1
        if key not in their_runs:
            found.differences.append(f"run {key} is incomplete in the bundle")
            continue
        for name in _core.TABLES[1:]:
            x, y = our_runs.table(key, name), their_runs.table(key, name)
            if table_digest(x) != table_digest(y):
                found.differences.append(f"run {key}, table {name}: {_first(x, y)}")


def table_digest(t: _core.Table) -> str:
    h = hashlib.sha256()
    for name in t.columns:
        h.update(f"\n{name}:{len(t)}:".encode())
        values = t.to_list(name) if len(t) and isinstance(t[0][name], str) else None
        h.update("\0".join(values).encode() if values is not None else np.ascontiguousarray(t[name]).tobytes())
    return h.hexdigest()


def _first(ours: _core.Table, theirs: _core.Table) -> str:
    """A text on the first difference of two tables."""
    if ours.columns != theirs.columns or len(ours) != len(theirs):
        return f"{len(theirs)} rows in the bundle, {len(ours)} here"
    for i in range(len(ours)):
        x, y = ours[i], theirs[i]
        for name in x:
            if x[name] != y[name] and not (x[name] != x[name] and y[name] != y[name]):
                return f"{name} of row {i} is {y[name]!r} in the bundle, {x[name]!r} here"
    return "the same values in another form"


def _answers(ours: Path, theirs: Path, found: Found) -> None:
    """Compares the answers of experiments without packets."""
    a, b = Answers(ours).found, Answers(theirs).found
    for key, x in a.items():
        found.runs += 1
        y = b.get(key)
        if y is None:
            found.differences.append(f"computed.json: {x['of']} is not in the bundle")
        elif (x["values"], x["series"]) != (y["values"], y["series"]):
            found.differences += _said("computed.json", {**x, "cpu_s": 0}, {**y, "cpu_s": 0})


# ----------------------------------------------------------------------------------------------------------- texts


def _texts(ours: Path, theirs: Path, again: Sequence[Experiment], found: Found) -> None:
    """Compares verdicts, tables and scenarios."""
    ids = {e.id for e in again}
    our_document, their_document = _json(ours / "study.json"), _json(theirs / "study.json")
    if not isinstance(their_document, dict) or not all(
        _are_tables(their_document.get(key)) for key in ("sections", "verdicts")
    ):
        found.differences.append("study.json cannot be read")
        return
    # Rows of arithmetic belong to no experiment.
    sections = [s for s in their_document.get("sections", []) if s.get("id") in ids]
    left_out = {s.get("id") for s in their_document.get("sections", [])} - ids
    rows = [v for v in their_document.get("verdicts", []) if v.get("experiment") not in left_out]
    found.verdicts = len(our_document["verdicts"])
    found.differences += _said("study.json: verdicts", our_document["verdicts"], rows)
    found.differences += _said("study.json: sections", _plain(our_document["sections"]), _plain(sections))
    skipped = {"command", "sections", "verdicts", *(WHOLE if left_out else ())}
    rest = [{k: v for k, v in b.items() if k not in skipped} for b in (our_document, their_document)]
    found.differences += _said("study.json", *rest)
    verdicts = _json(theirs / "verdicts.json")
    listed = verdicts.get("verdicts", []) if isinstance(verdicts, dict) else []
    listed = listed if _are_tables(listed) else []
    their_verdicts = [v for v in listed if v.get("experiment") not in left_out]
    found.differences += _said("verdicts.json: verdicts", our_document["verdicts"], their_verdicts)
    column = [name for name, _ in COLUMNS].index("experiment")
    found.differences += _lines(
        ours, theirs, "verdicts.csv", lambda row: not left_out.intersection(row[column : column + 1])
    )
    if not left_out:
        found.differences += _said("verdicts.json", _json(ours / "verdicts.json"), verdicts)
    files = [p for kind in ("scenarios", "tables") for p in sorted((ours / kind).glob("*"))]
    for name in (p.relative_to(ours).as_posix() for p in files):
        found.files += 1
        found.differences += _lines(ours, theirs, name)


def _are_tables(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(x, dict) for x in given)


def _plain(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sections without figures and captions, which are not drawn again."""
    return [{k: v for k, v in s.items() if k not in ("figures", "drawn", "notes")} for s in sections]


def _json(path: Path) -> Any:
    try:
        return json.loads(file_bytes(path, LONGEST_TABLE))
    except (OSError, ValueError, RecursionError):
        return None


def _lines(ours: Path, theirs: Path, name: str, keep: Callable[[Any], bool] = lambda _: True) -> list[str]:
    """The differences of a text or a CSV table, line by line, for the lines that are compared."""
    a, b = ([x for x in rows if keep(x)] if (rows := _rows(d / name)) is not None else None for d in (ours, theirs))
    return _said(name, a, b) if b is not None else [f"{name} is missing"]


def _rows(path: Path) -> list[Any] | None:
    try:
        text = file_bytes(path, LONGEST_TABLE).decode("utf-8")
        return list(csv.reader(io.StringIO(text, newline=""))) if path.suffix == ".csv" else text.splitlines()
    except (OSError, UnicodeDecodeError, csv.Error):
        return None


def _said(name: str, ours: Any, theirs: Any) -> list[str]:
    """The differences of two structures, each with the place and both values."""
    all_of = list(_differences("", ours, theirs))
    lines = [f"{name}{place}: {_short(b)} in the bundle, {_short(a)} here" for place, a, b in all_of[:MOST]]
    return lines + ([f"{name}: {len(all_of) - MOST} more"] if len(all_of) > MOST else [])


def _differences(at: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    # Data from JSON have lists in place of this program's tuples.
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differences(f"{at}[{i}]", x, y)
    elif isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        for k in a:
            yield from _differences(f"{at}.{k}", a[k], b[k])
    elif a != b:
        yield at, a, b


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
