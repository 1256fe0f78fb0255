"""Scripts of packetdrill for `tailback conform`: finds the files, and prints a table of the verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailback import _core
from tailback.cli.errors import Failure, NotHere, linux
from tailback.core.text.json_text import json_text

if TYPE_CHECKING:
    from tailback.apps.conformance.packetdrill.run import Beside, ScriptOutcome

SUFFIX = ".pkt"


class Refusals(Failure):
    """Some scripts cannot be expressed, and no script differs."""

    status = 2


def is_script(name: str | None) -> bool:
    """A script, or a folder where scripts may be. A folder with the name of a control is written with a slash."""
    if name is None or name.endswith(SUFFIX):
        return name is not None
    return Path(name).is_dir() and (Path(name).name != name or not _core.models_meant("congestion", name))


def play(
    names: Sequence[str],
    kernel: bool,
    beside: bool,
    include: str | None,
    captures: str,
    only: str | None,
    as_json: bool,
) -> None:
    """Plays scripts and prints the verdict of each. Raises Failure if one does not hold."""
    from tailback.apps.conformance.packetdrill import run

    files = _files(names, only)
    folders = (Path(include) if include else None, Path(captures))
    if beside:
        _show_beside([_beside(f, *folders) for f in files], as_json)
        return
    outcomes = [_on_kernel(f, *folders) if kernel else run.on_simulator(f, *folders) for f in files]
    if as_json:
        click.echo(json_text({"counts": _counts(outcomes), "scripts": [v.as_dict() for v in outcomes]}, indent=2))
    else:
        click.echo("\n".join(_table(outcomes)))
    _end(outcomes)


def _files(names: Sequence[str], only: str | None) -> list[Path]:
    """Scripts in the order given, those of a folder in the order of their names."""
    files = [f for name in names for f in _of(Path(name)) if (only or "") in str(f)]
    if not files:
        raise click.BadParameter(f"no script has {only!r} in its name", param_hint="--only")
    return files


def _of(path: Path) -> list[Path]:
    if path.is_dir():
        scripts = sorted(f for f in path.rglob(f"*{SUFFIX}") if f.is_file())
        if not scripts:
            raise click.UsageError(
                f"{path}: this folder has no scripts of packetdrill (FILE{SUFFIX}); name one that has"
            )
        return scripts
    if path.suffix != SUFFIX:
        raise click.UsageError(f"{path}: beside scripts of packetdrill give only scripts (FILE{SUFFIX}) and folders")
    if not path.is_file():
        raise click.UsageError(f"{path}: there is no such file; name a script (FILE{SUFFIX}) or a folder of them")
    return [path]


def _on_kernel(file: Path, include: Path | None, captures: Path, beside: bool = False) -> ScriptOutcome:
    from tailback.apps.conformance.kernel import NoKernel
    from tailback.apps.conformance.packetdrill.kernel import on_kernel

    linux()
    try:
        return on_kernel(file, include, captures, beside)
    except NoKernel as e:
        raise NotHere(str(e)) from e


def _beside(file: Path, include: Path | None, captures: Path) -> Beside:
    from tailback.apps.conformance.packetdrill import run

    own_outcome = run.on_simulator(file, include, captures, beside=True)
    return run.compare(own_outcome, _on_kernel(file, include, captures, beside=True))


def _counts(found: Sequence[ScriptOutcome]) -> dict[str, int]:
    from tailback.apps.conformance.packetdrill.run import DIFFERS, HOLDS, REFUSED

    return {word: sum(v.result == word for v in found) for word in (HOLDS, DIFFERS, REFUSED)}


def _end(found: Sequence[ScriptOutcome]) -> None:
    from tailback.apps.conformance.packetdrill.run import DIFFERS, REFUSED

    counts = _counts(found)
    refusal_text = f"scripts that cannot be expressed: {counts[REFUSED]} of {len(found)}"
    if counts[DIFFERS]:
        refused_too = f"; {refusal_text}" if counts[REFUSED] else ""
        raise Failure(f"scripts that do not hold: {counts[DIFFERS]} of {len(found)}{refused_too}")
    if counts[REFUSED]:
        raise Refusals(f"{refusal_text}; each says line and reason: change the line, or leave the script out")


def _table(found: Sequence[ScriptOutcome]) -> Iterator[str]:
    names = _short([v.script for v in found])
    width = max(map(len, names))
    yield f"{'script'.ljust(width)}  result"
    for name, v in zip(names, found, strict=True):
        yield f"{name.ljust(width)}  {_result(v)}"
        yield from _details(v)
    yield ""
    yield _sum(_counts(found))
    yield from _notes(found)


def _short(scripts: Sequence[str]) -> list[str]:
    """The names without their common folder."""
    folders = {str(Path(s).parent) for s in scripts}
    if len(scripts) == 1:
        return [Path(s).name for s in scripts]
    try:
        common_folder = os.path.commonpath(folders)
    except ValueError:
        return list(scripts)
    return [os.path.relpath(s, common_folder) for s in scripts]


def _sum(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word}: {n}" for word, n in counts.items() if n)


def _result(v: ScriptOutcome) -> str:
    return f"{v.result} at line {v.line}" if v.expected else v.result


def _details(v: ScriptOutcome, name: str = "") -> Iterator[str]:
    details = {"expected": v.expected, "found": v.found, "packets in": v.capture}
    for title, text in details.items():
        if text:
            yield f"    {name}{title if v.expected else 'why'}: {text}"


def _notes(found: Sequence[ScriptOutcome]) -> Iterator[str]:
    played_notes = (note for v in found if v.seen for note in v.notes)
    for note in dict.fromkeys(played_notes):
        yield f"note: {note}"


# ---- two subjects beside each other


def _show_beside(found: Sequence[Beside], as_json: bool) -> None:
    counts = {word: sum(_alike(b) == word for b in found) for word in (_SAME, _OTHER, _UNKNOWN)}
    if as_json:
        click.echo(json_text({"counts": counts, "scripts": [b.as_dict() for b in found]}, indent=2))
    else:
        click.echo("\n".join(_table_beside(found, counts)))
    if counts[_OTHER]:
        raise Failure(
            f"scripts in which the sender does not do what this kernel does: {counts[_OTHER]} of {len(found)}"
        )
    if counts[_UNKNOWN]:
        raise Refusals(f"scripts that cannot be compared: {counts[_UNKNOWN]} of {len(found)}")


_SAME, _OTHER, _UNKNOWN = "as the kernel", "otherwise", "not compared"


def _alike(b: Beside) -> str:
    return _UNKNOWN if b.same is None else _SAME if b.same else _OTHER


def _table_beside(found: Sequence[Beside], counts: dict[str, int]) -> Iterator[str]:
    from tailback.core.text.terminal import columns

    rows: list[tuple[str, ...]] = [("script", "tailback", "this kernel", "")]
    names = _short([comparison.ours.script for comparison in found])
    rows += [
        (n, _result(comparison.ours), _result(comparison.kernel), _alike(comparison))
        for n, comparison in zip(names, found, strict=True)
    ]
    lines = columns(rows)
    yield lines[0]
    for line, comparison in zip(lines[1:], found, strict=True):
        yield line
        if comparison.same is False:
            yield f"    line {comparison.line}: tailback: {comparison.ours_did}; this kernel: {comparison.kernel_did}"
        if comparison.same is None and comparison.ours.found == comparison.kernel.found:
            yield from _details(comparison.ours)
        elif comparison.same is None:
            refused = (("tailback, ", comparison.ours), ("this kernel, ", comparison.kernel))
            yield from (line for name, v in refused if not v.expected for line in _details(v, name))
    yield ""
    yield _sum(counts)
    sides: dict[str, Callable[[Beside], Any]] = {"tailback": lambda b: b.ours, "this kernel": lambda b: b.kernel}
    for name, outcome in sides.items():
        yield from (
            note.replace("note:", f"note ({name}):", 1)
            for note in _notes([outcome(comparison) for comparison in found])
        )
