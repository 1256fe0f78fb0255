"""`tailback conform`: tests line by line whether a sender does what its RFCs say, and plays scripts of packetdrill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tailback.cli import options
from tailback.cli.errors import Failure, NotHere, linux
from tailback.core.text.json_text import json_text

if TYPE_CHECKING:
    from tailback.apps.conformance.lines import Dialogue


@click.command()
@click.argument("subjects", metavar="[CONTROL | FILE.pkt...]", nargs=-1)
@click.option(
    "--kernel",
    metavar="NAME|FILE.pkt",
    help="Try a congestion control of this kernel instead, such as cubic, or play scripts to this kernel (Linux).",
)
@click.option(
    "--queue", metavar="NAME", help="Run a discipline (or FILE.py:CLASS) in the scenarios of RFC 7928 instead."
)
@click.option("--like", metavar="NAME", help="For a class of your own: also try the lines for this control.")
@click.option("--lines", "files", multiple=True, metavar="FILE", help="Also try the lines of this file. Repeatable.")
@click.option("--only", metavar="TEXT", help="Try only lines whose name has this text, such as rfc6298.")
@click.option(
    "--settings",
    is_flag=True,
    help="Try each line also with the profile linux, and with one of its keys changed at a time.",
)
@click.option(
    "--beside",
    is_flag=True,
    help="Scripts: also play them to this kernel, and compare its answers with the simulator's (Linux).",
)
@click.option(
    "--include", metavar="FOLDER", help="Scripts: folder in which the files that they include are also looked for."
)
@click.option(
    "--captures",
    metavar="FOLDER",
    default="captures",
    show_default=True,
    help="Scripts: folder for the packets of each script that differs, as pcapng.",
)
@options.as_json()
def conform(
    subjects: tuple[str, ...],
    kernel: str | None,
    queue: str | None,
    like: str | None,
    files: tuple[str, ...],
    only: str | None,
    settings: bool,
    beside: bool,
    include: str | None,
    captures: str,
    as_json: bool,
) -> None:
    """Check a sender against the sentences of its RFCs: a dialogue is played for each sentence.

    With --queue, show what a discipline does in the scenarios of RFC 7928.

    CONTROL is a congestion control, such as cubic, or a class of your own, FILE.py:CLASS. FILE.pkt is a script of
    packetdrill, or a folder of scripts. Exit status 0: all lines or scripts hold, 1: some do not, 2: some cannot be
    expressed here, or the input is wrong.

    \b
    tailback conform reno
    tailback conform --kernel cubic
    tailback conform --queue codel
    tailback conform fast-retransmit.pkt
    tailback conform --kernel fast-retransmit.pkt
    """
    from tailback.apps.conformance.dialogue import DialogueError
    from tailback.cli.published_work import scripts
    from tailback.core.declared import FileError

    control = subjects[0] if subjects else None

    if scripts.is_script(kernel) or any(scripts.is_script(s) for s in subjects):
        if queue or like or files or (kernel and not scripts.is_script(kernel)):
            raise click.UsageError(
                "--queue, --like, --lines and the name of a control are not for scripts of packetdrill"
            )
        if kernel and beside:
            raise click.UsageError("--beside plays scripts to this kernel too; leave --kernel out")
        names = [*([kernel] if kernel else []), *subjects]
        scripts.play(names, bool(kernel), beside, include, captures, only, as_json)
        return
    if settings and (kernel or queue or like or ":" in (control or "")):
        raise click.UsageError("--settings is for a congestion control of the simulator, such as cubic")
    if beside or include:
        raise click.UsageError("--beside and --include are for scripts of packetdrill (FILE.pkt)")
    if len(subjects) > 1:
        raise click.UsageError(f"give one congestion control, or scripts of packetdrill; got {', '.join(subjects)}")
    if sum(bool(subject) for subject in (control, kernel, queue)) != 1:
        raise click.UsageError(
            "give one of these: a congestion control, such as cubic; --kernel NAME; --queue NAME; scripts (FILE.pkt)"
        )
    if queue and (like or files or only):
        raise click.UsageError("--like, --lines and --only are for a sender; leave them out with --queue")
    if queue:
        _show_guidelines(queue, as_json)
        return
    try:
        lines = _lines(files, only)
        if settings:
            _show_settings(lines, str(control), as_json)
            return
        verdicts = _on_kernel(str(kernel), lines, files) if kernel else _on_simulator(str(control), like, lines)
    except (FileError, DialogueError) as e:
        raise click.UsageError(str(e)) from e
    _show(verdicts, kernel or str(control), as_json)
    if failed := sum(v["result"] == "fails" for v in verdicts):
        raise Failure(f"{failed} of {len(verdicts)} lines do not hold")


def _lines(files: Sequence[str], only: str | None) -> list[Dialogue]:
    from tailback.apps.conformance.lines import installed, read

    lines = [line for source in [*installed(), *read(files)] for line in source.lines]
    chosen_lines = [line for line in lines if (only or "") in line.name]
    if not chosen_lines:
        raise click.BadParameter(
            f"no line has {only!r} in its name; `tailback conform reno` shows names", param_hint="--only"
        )
    return chosen_lines


def _on_simulator(control: str, like: str | None, lines: Sequence[Dialogue]) -> list[dict[str, Any]]:
    from tailback import _core
    from tailback.apps.conformance.dialogue import DialogueError
    from tailback.apps.conformance.run import on_simulator

    is_own = ":" in control
    name = control if is_own else _known(control, "CONTROL")
    similar = _known(like, "--like") if like else "any" if is_own else name
    try:
        return [v.as_dict() for v in on_simulator(lines, name, similar)]
    except (_core.ScenarioError, DialogueError):
        raise
    except ValueError as e:
        # An error of a user's own class.
        raise Failure(str(e)) from e


def _known(name: str, param: str) -> str:
    from tailback import _core

    models = _core.models_meant("congestion", name)
    if len(models) != 1:
        raise click.BadParameter(
            f"there is no congestion control {name!r}; `tailback describe` lists them, and a class of your own is "
            "FILE.py:CLASS",
            param_hint=param,
        )
    return str(models[0])


def _on_kernel(kernel: str, lines: Sequence[Dialogue], files: Sequence[str]) -> list[dict[str, Any]]:
    from tailback.apps.conformance.kernel import NoKernel, on_kernel

    linux()
    names = [line.name for line in lines if line.is_for(kernel)]
    try:
        return on_kernel(kernel, names, files)
    except NoKernel as e:
        raise NotHere(str(e)) from e


def _show(verdicts: Sequence[dict[str, Any]], subject: str, as_json: bool) -> None:
    counts = {word: sum(v["result"] == word for v in verdicts) for word in ("holds", "fails", "differs", "skipped")}
    if as_json:
        click.echo(json_text({"subject": subject, "counts": counts, "lines": list(verdicts)}, indent=2))
        return
    from tailback.core.text.terminal import columns

    rows: list[tuple[str, ...]] = [("line", "section", "result", "")]
    rows += [(v["line"], v["section"], v["result"], v["found"]) for v in verdicts]
    click.echo("\n".join(columns(rows)))
    click.echo(f"\n{subject}:")
    for title, of_all in (("rules for every congestion control", True), ("rules of its own algorithm", False)):
        results = [v["result"] for v in verdicts if v["for_all"] == of_all]
        counts_text = ", ".join(f"{results.count(word)} {_WORDS[word]}" for word in counts if word in results)
        click.echo(f"  {title}: {counts_text or 'none asked; --like NAME asks those of another control'}")


def _show_settings(lines: Sequence[Dialogue], control: str, as_json: bool) -> None:
    """A row for each line, a column for each way; raises Failure if one fails."""
    from tailback.apps.conformance.ways import WAYS, try_ways
    from tailback.core.text.terminal import columns

    name = _known(control, "CONTROL")
    by_line = try_ways(lines, name)
    failures = [v for row in by_line for v in row.values() if v.word == "fails"]
    if as_json:
        rows = [{way: v.as_dict() for way, v in row.items()} for row in by_line]
        click.echo(json_text({"subject": name, "settings": [way.name for way in WAYS], "lines": rows}, indent=2))
    else:
        table: list[tuple[str, ...]] = [("line", *(way.name for way in WAYS))]
        table += [(next(iter(row.values())).line.name, *(_SHORT[v.word] for v in row.values())) for row in by_line]
        click.echo("\n".join(columns(table)))
        reasons = {
            f"{_SHORT[v.word]}  {v.line.name}: {v.found}": None for row in by_line for v in row.values() if v.found
        }
        click.echo("\n" + "\n".join(reasons))
        counts = {way.name: [row[way.name].word for row in by_line] for way in WAYS}
        click.echo(f"\n{name}:")
        for way, words in counts.items():
            counts_text = ", ".join(f"{words.count(word)} {_WORDS[word]}" for word in _WORDS if word in words)
            click.echo(f"  {way}: {counts_text}")
    if failures:
        raise Failure(f"{len(failures)} of {sum(map(len, by_line))} lines do not hold")


def _show_guidelines(queue: str, as_json: bool) -> None:
    from tailback import _core
    from tailback.apps.conformance.aqm import COLUMNS, guidelines
    from tailback.core.results.columns import column
    from tailback.core.scenario import queues
    from tailback.core.text.terminal import columns
    from tailback.runs.result import RunError

    own_queue = queues.own(queue)
    models = [own_queue] if own_queue else _core.models_meant("queue", queue)
    if len(models) != 1:
        raise click.BadParameter(
            f"there is no discipline {queue!r}; `tailback describe` lists them, and one of your own is FILE.py:CLASS",
            param_hint="--queue",
        )
    try:
        rows = list(guidelines(models[0]))
    except RunError as e:
        raise Failure(str(e)) from e
    if as_json:
        click.echo(json_text({"subject": models[0], "scenarios": [row.as_dict() for row in rows]}, indent=2))
        return
    table: list[tuple[str, ...]] = [
        ("section", "scenario", "queue", *(column(*c).short for c in COLUMNS)),
        ("", "", "", "%", "%", "packets", "ms", "ms", ""),
    ]
    for r in rows:
        waits = (f"{1e3 * r.wait_mean_s:.1f}", f"{1e3 * r.wait_p95_s:.1f}")
        shares = (f"{100 * r.utilisation:.1f}", f"{100 * r.loss:.2f}", str(r.marks))
        table.append((r.section, r.scenario, r.queue, *shares, *waits, f"{r.jain:.3f}"))
    click.echo("\n".join(columns(table, right=range(3, 9))))


_SHORT = {"holds": "holds", "fails": "FAILS", "differs": "differs", "skipped": "-"}
_WORDS: dict[str, Any] = {"holds": "hold", "fails": "fail", "differs": "differ by design", "skipped": "were not tried"}
