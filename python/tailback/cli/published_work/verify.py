"""`tailback verify`: runs the studies of a bundle again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.core.text.json_text import json_text


def _there(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if not Path(value).exists():
        raise click.UsageError(
            f"{value} is not there; name a folder that `tailback reproduce` has written, or a tar of one"
        )
    return value


@click.command()
@click.argument("bundle", callback=_there)
@click.option("--study", "only", multiple=True, metavar="STUDY", help="Verify only this study. Repeatable.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Simulate only N random runs of each study, which is quicker.",
)
@options.seed("Seed that chooses the runs of --sample.", default=1)
@options.jobs
@options.as_json()
def verify(bundle: str, only: tuple[str, ...], sample: int | None, seed: int, jobs: int, as_json: bool) -> None:
    """Run the studies in BUNDLE again, and compare every number.

    BUNDLE is a folder that `tailback reproduce` has written, or such a folder packed with tar or zip. The exit status
    is 1 if something differs.

    With --sample only the chosen runs are simulated. Tables and verdicts are made again from the stored runs. A number
    that was changed in another run is then found only if it changes a table or a verdict.
    """
    from tailback.cli.errors import Failure, Stopped
    from tailback.study.errors import StudyError
    from tailback.study.verify import Sample, opened

    try:
        with opened(Path(bundle)) as folder:
            document = _verify(folder, only, Sample(sample, seed) if sample else None, jobs, as_json)
    except StudyError as e:
        raise click.UsageError(str(e)) from e
    except KeyboardInterrupt:
        raise Stopped("interrupted; the bundle is not verified") from None
    if as_json:
        click.echo(json_text(document, ascii=False))
    n = document["different"]
    if n:
        raise Failure(f"{n} difference{'s' if n > 1 else ''}: the bundle does not hold what its scenarios give")
    if not as_json:
        runs = sum(f["runs"] for f in document["studies"])
        of_text = f" of {sum(f['of'] for f in document['studies'])}" if sample else ""
        click.echo(f"verified: no difference in {runs}{of_text} runs of {len(document['studies'])} studies")


def _verify(folder: Path, only: tuple[str, ...], sample: Any, jobs: int, quiet: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from tailback.core.text.plain import plain
    from tailback.runs.campaign.progress import ProgressLine
    from tailback.study import bundle as bundles
    from tailback.study import verify as checks
    from tailback.study.errors import StudyError
    from tailback.study.repeat import Repeat

    def say(text: str) -> None:
        if not quiet:
            click.echo(plain(text))

    bundle = bundles.read(folder)
    names = [p.study for p in bundle.studies]
    for name in only:
        if name not in names:
            raise StudyError(f"the bundle has no study {name!r}; it has {', '.join(names)}")
    checks.check_version(bundle)
    changed_files = checks.changed_files(folder, bundle)
    say(f"{len(bundle.files) - len(changed_files)} of {len(bundle.files)} files have their digests")
    for line in changed_files:
        say(f"  {line}")
    studies_found = []
    for p in bundle.studies:
        if only and p.study not in only:
            continue
        with ProgressLine() as progress:
            repeat = Repeat(jobs=jobs, progress=progress, announce=progress.announce)
            study_result = (
                checks.verify(folder, p, repeat) if sample is None else checks.look(folder, p, sample, repeat)
            )
        studies_found.append(study_result)
        outcome_text = (
            "no difference" if not study_result.differences else f"{len(study_result.differences)} differences"
        )
        runs = f"{study_result.runs} of {study_result.of} runs" if sample else f"{study_result.runs} runs"
        say(
            f"{study_result.study}: {runs}, {study_result.verdicts} verdicts and {study_result.files} files made "
            f"again: {outcome_text}"
        )
        for line in study_result.differences:
            say(f"  {line}")
    not_repeatable = [line for study_result in studies_found for line in study_result.not_repeatable]
    if not_repeatable:
        say("cannot be repeated, and were not compared:")
        for line in not_repeatable:
            say(f"  {line}")
    say("pages and figures were compared with their digests only")
    difference_count = len(changed_files) + sum(len(study_result.differences) for study_result in studies_found)
    return {
        "files": len(bundle.files),
        "changed": changed_files,
        "studies": [asdict(study_result) for study_result in studies_found],
        "different": difference_count,
    }
