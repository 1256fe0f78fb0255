"""`tailback verify`: run again what a bundle of reproduced studies holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("bundle", type=click.Path(exists=True))
@click.option("--study", "only", multiple=True, metavar="STUDY", help="Only this one of its studies. Repeatable.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="Threads; 0 is all cores.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def verify(bundle: str, only: tuple[str, ...], jobs: int, as_json: bool) -> None:
    """Run again what BUNDLE holds, and compare every number.

    BUNDLE is a folder that `tailback reproduce` has written, or one packed with tar or zip. Exit status 1 if something
    differs.
    """
    from tailback.cli.errors import Failure, Stopped
    from tailback.study.errors import StudyError
    from tailback.study.verify import opened
    from tailback.study.work import Interrupted

    try:
        with opened(Path(bundle)) as folder:
            document = _verify(folder, only, jobs, as_json)
    except StudyError as e:
        raise click.UsageError(str(e)) from e
    except (Interrupted, KeyboardInterrupt):
        raise Stopped("interrupted; nothing is said of the bundle") from None
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    n = document["different"]
    if n:
        raise Failure(f"{n} difference{'s' if n > 1 else ''}: the bundle does not hold what its scenarios give")


def _verify(folder: Path, only: tuple[str, ...], jobs: int, quiet: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from tailback.cli.reproduce import _Progress
    from tailback.study import bundle as bundles
    from tailback.study import verify as checks
    from tailback.study.errors import StudyError
    from tailback.text import plain

    def say(text: str) -> None:
        if not quiet:
            click.echo(plain(text))

    b = bundles.read(folder)
    names = [p.study for p in b.studies]
    for name in only:
        if name not in names:
            raise StudyError(f"the bundle has no study {name!r}; it has {', '.join(names)}")
    checks.check_version(b)
    changed = checks.changed_files(folder, b)
    say(f"{len(b.files) - len(changed)} of {len(b.files)} files have their digests")
    for line in changed:
        say(f"  {line}")
    found = []
    for p in b.studies:
        if only and p.study not in only:
            continue
        told = _Progress()
        try:
            f = checks.verify(folder, p, jobs, told, told.announce)
        finally:
            told.end()
        found.append(f)
        same = "no difference" if not f.differences else f"{len(f.differences)} differences"
        say(f"{f.study}: {f.runs} runs, {f.verdicts} verdicts and {f.files} files made again: {same}")
        for line in f.differences:
            say(f"  {line}")
    fixed = [line for f in found for line in f.not_repeatable]
    if fixed:
        say("cannot be repeated, and were not compared:")
        for line in fixed:
            say(f"  {line}")
    say("pages and figures were held against their digests only")
    different = len(changed) + sum(len(f.differences) for f in found)
    return {"files": len(b.files), "changed": changed, "studies": [asdict(f) for f in found], "different": different}


def register(group: click.Group) -> None:
    group.add_command(verify)
