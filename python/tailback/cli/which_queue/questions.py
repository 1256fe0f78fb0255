"""Shared by the commands `compare` and `home`: reads a question, runs it and prints the answer."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tailback.cli import options
from tailback.core.text.json_text import json_text

if TYPE_CHECKING:
    from tailback.apps.ask.trial import Trial

#: The options of a trial, by their names in `Trial`.
TRIAL = ("replications", "sure", "seed", "duration", "jobs", "out")


def parts(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str] | None:
    """Values between commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if value is not None else None


def trial_options(length: str) -> Callable[[Any], Any]:
    """Options for seeds, length, threads, folder, JSON and memory; `length` is the text for the default length."""

    def declared(command: Any) -> Any:
        for option in reversed(
            (
                options.replications("Largest number of seeds.", default=5),
                click.option(
                    "--sure",
                    is_flag=True,
                    help="Run all seeds, even if fewer make the first place clear.",
                ),
                options.seed("First seed.", default=1),
                click.option("--duration", metavar="TIME", help=f"Length of a run.  [default: {length}]"),
                options.jobs,
                options.out("Folder for the page with figures, and for the runs."),
                options.figures(),
                options.as_json(),
                options.memory,
            )
        ):
            command = option(command)
        return command

    return declared


def given(about: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from the defaults."""
    return {name: value for name, value in about.items() if value is not None}


def answer(
    about: dict[str, Any], as_json: bool, ask: Callable[[dict[str, Any], Trial], Any], *, opens: bool = False
) -> None:
    """Runs the question `ask` and prints the answer. With `opens`, the question is printed before the first run."""
    from tailback.apps.ask.given import LinkError
    from tailback.apps.ask.trial import Trial
    from tailback.cli.errors import Failure, Stopped, all_there, os_message, running
    from tailback.core.text.plain import command_line
    from tailback.runs.result import RunError

    trial = Trial(
        **{name: about.pop(name) for name in TRIAL},
        command=" ".join(command_line(["tailback", *sys.argv[1:]])),
        say=None if as_json else _say,
    )
    so_far: list[Any] = []

    def hear(found: Any) -> None:
        is_first = not so_far
        so_far[:] = [found]
        if is_first and not as_json and trial.replications > 1:
            _first(found)

    options.check_seeds(trial.seed, trial.replications)
    out_folder, figures = trial.out, about.pop("figures")
    if figures and not out_folder:
        raise click.UsageError("--figures are files beside the page; give its folder with --out")
    try:
        with running(out_folder) as progress:
            reply = ask(about, replace(trial, progress=progress, hear=hear))
    except LinkError as e:
        raise click.UsageError(_as_options(str(e))) from e
    except RunError as e:
        raise Failure(str(e)) from e
    except Stopped:
        if so_far and not as_json:
            click.echo(_text(so_far[0], opens))
        raise
    try:
        page = reply.write_page(out_folder, figures) if out_folder else None
    except OSError as e:
        raise Failure(f"the page cannot be written in {out_folder}: {os_message(e)}") from e
    if page is not None:
        all_there([page, page.parent / "runs.parquet"])
    if as_json:
        click.echo(json_text(reply.to_dict()))
        return
    click.echo(_text(reply, opens))
    click.echo(
        f"\nthe page is {page}" if page else "\n--out DIR writes a page with figures, parameters and their reasons"
    )


def _text(found: Any, opened: bool) -> str:
    return str(found.text(opened=True) if opened else found.text())


def _first(found: Any) -> None:
    """Prints the first answer on standard error, so that standard output has only the final answer."""
    click.echo(f"\n{found.first_text()}\n", err=True)


def _say(question: str) -> None:
    """Prints the question on standard output at once, also if standard output is a file."""
    click.echo(question)
    sys.stdout.flush()


def _as_options(message: str) -> str:
    """The message with its first word as the name of an option: `rate` becomes `--rate`."""
    return re.sub(r"^[a-z]+(?= = |: | is missing)", lambda name: f"--{name[0]}", message)


def queues(given: Sequence[str], *, pastes: bool = False) -> list[Any]:
    """The values of `--queue`: names between commas, and tables; with `pastes` also lines of `tc`, and files with such
    lines."""
    from tailback.apps.ask.given import LinkError
    from tailback.core.text import toml
    from tailback.readers import queues as readers

    choices: list[Any] = []
    for text in given:
        if pastes and readers.is_pasted(text):
            choices += _pasted(text, choices)
        elif text.lstrip().startswith("{"):
            try:
                choices.append(toml.loads(f"queue = {text}")["queue"])
            except (tomllib.TOMLDecodeError, RecursionError) as e:
                raise LinkError(
                    f"queue = {text}: this is not a TOML table ({e}); write one such as "
                    '{ kind = "red", ecn = true }, with one --queue for each table'
                ) from e
        else:
            choices += [name.strip() for name in text.split(",") if name.strip()]
    if len(given) == len(choices) == 1 and pastes and readers.is_pasted(given[0]):
        # A single pasted discipline is compared with drop-tail.
        choices.insert(0, readers.beside())
    return choices


def _pasted(text: str, before: Sequence[Any]) -> list[dict[str, Any]]:
    """Lines of `tc` as tables, each with a name of its own; one note names the parts that were left out."""
    from tailback.apps.ask.given import LinkError
    from tailback.cli.errors import say
    from tailback.readers import queues as readers
    from tailback.readers.reading import ReadError

    try:
        reading = readers.pasted(text)
        names_taken = [str(q.get("name", q.get("kind"))) if isinstance(q, dict) else str(q) for q in before]
        tables, notes = readers.candidates(reading, names_taken)
    except ReadError as e:
        raise LinkError(f"queue: {e}") from e
    for sentence in filter(None, (". ".join(notes), readers.remarks(reading))):
        say(f"note: {sentence}")
    return tables
