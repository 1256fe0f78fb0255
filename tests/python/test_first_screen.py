"""What a stranger sees first: `tailback` alone is a screen that says what there is, and the help has all of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tailback.cli.commands import COMMANDS, FIRST, GROUPS


def screen(cli, *words: str, columns: int = 80) -> list[str]:
    done = cli(*words, env={**os.environ, "COLUMNS": str(columns)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_program_alone_fits_a_screen_and_names_every_command(cli) -> None:
    lines = screen(cli)
    assert len(lines) <= 24 and all(len(line) <= 80 for line in lines)
    text = "\n".join(lines)
    for group, commands in GROUPS.items():
        assert f"  {group} " in text
        assert all(re.search(rf"\b{name}\b", text) for name in commands)
    assert all(command in text for command in (*FIRST, "tailback COMMAND --help", "tailback describe"))


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_narrow_terminals_wrap(cli, words: tuple[str, ...]) -> None:
    lines = screen(cli, *words, columns=45)
    assert all(len(line) <= 45 for line in lines)
    # Nothing is lost at the end of a line, and no word is cut.
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(screen(cli, *words, columns=100)).split())


def test_the_help_has_five_groups_and_each_command_once(cli) -> None:
    text = "\n".join(screen(cli, "--help"))
    assert len(GROUPS) == 5 and sum(map(len, GROUPS.values())) == len(COMMANDS)
    places = [text.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    assert [line.split()[0] for line in text[places[0] :].splitlines() if re.match(r"  \w", line)] == list(COMMANDS)
    assert "\n".join(screen(cli, "-h")) == text


def test_the_screen_is_the_same_with_a_crate_of_one_s_own(cli) -> None:
    """It is then printed by the group, which has read which extension is meant."""
    assert cli(env={**os.environ, "TAILBACK_CORE": "tailback._core"}).stdout == cli().stdout


def test_what_is_to_be_typed_first_can_be_typed(cli, tmp_path: Path) -> None:
    (run,) = (command.split()[1:] for command in FIRST if " run " in command)
    done = cli(*run, "--set", "duration=6s")
    assert done.returncode == 0 and "bottleneck" in done.stdout
    assert all(command.split()[1] in COMMANDS for command in FIRST)
