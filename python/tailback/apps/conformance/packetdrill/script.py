"""A script as data; included files are replaced by their commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tailback import _core
from tailback.core.text.os_errors import os_message
from tailback.core.text.plain import file_bytes, plain

#: The largest depth of included files.
_MOST_INCLUDED = 8
#: The longest file that is read, B.
_MOST_BYTES = 4 << 20
#: packetdrill's default tolerance, unless a script sets another one (config.c of google/packetdrill).
TOLERANCE_NS = 4_000_000
#: packetdrill's tolerance as a share of the time since the step before.
TOLERANCE_SHARE = 0.125


class Refused(Exception):
    """A script that cannot be expressed, with the line, the word and the reason."""

    def __init__(self, line: int, word: str, what: str) -> None:
        super().__init__(f"line {line}, `{word}`: {what}" if word else f"line {line}: {what}")
        self.line, self.word, self.what = line, word, what


class Packet(msgspec.Struct, frozen=True):
    """A segment of a script. Sequence numbers are relative to the first of their direction."""

    flags: str
    seq: int
    payload: int
    ecn: str | None = None
    ack: int | None = None
    window: int | None = None
    #: Whether the options are `<...>` in the script, and are not compared.
    any_options: bool = False
    mss: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    sack: list[tuple[int, int]] = []
    #: The value and echo of its timestamp.
    stamps: tuple[int, int] | None = None
    #: The option of accurate ECN: `e0b`, `ceb` and `e1b` with their values, in its order.
    counts: list[tuple[str, int]] | None = None

    @property
    def end(self) -> int:
        return self.seq + self.payload

    def has(self, flag: str) -> bool:
        return flag in self.flags


class Call(msgspec.Struct, frozen=True):
    """A system call. A value is a whole number, a text, None for `...`, a list, a dict, or a tuple of constants."""

    name: str
    arguments: list[Any]
    result: Any
    error: str | None = None
    returns_ns: int | None = None


def names_at(call: Call, place: int) -> list[str]:
    """The constants of an argument."""
    argument = call.arguments[place] if place < len(call.arguments) else ()
    return list(argument) if isinstance(argument, tuple) else [str(argument)]


def flat_names(call: Call) -> list[str]:
    """The constants of all arguments."""
    return [word for a in call.arguments if isinstance(a, tuple) for word in a]


def number_at(call: Call, place: int) -> int:
    """An argument that is a descriptor or a count. Raises Refused."""
    argument: Any = call.arguments[place] if place < len(call.arguments) else None
    if not isinstance(argument, int) or not 0 <= argument <= 1 << 31:
        raise Refused(0, call.name, f"argument {place + 1} is a whole number")
    return argument


def result_of(call: Call) -> int:
    return call.result if isinstance(call.result, int) else 0


class Command(msgspec.Struct, frozen=True):
    """A command of the kind `set`, `include`, `route` or `qdisc`; any other command has no effect."""

    line: int
    text: str
    set: tuple[str, str] | None = None
    include: str | None = None
    route: list[str] | None = None
    qdisc: list[str] | None = None


class ScriptStatement(msgspec.Struct, frozen=True):
    """An assertion; or, with a `name`, the definition of a value."""

    line: int = 0
    text: str = ""
    name: str = ""
    value: Any = None


class Step(msgspec.Struct, frozen=True):
    """A step with its time. `clock` is `at`, `after` (the step before) or `any`."""

    line: int
    text: str
    clock: str
    from_ns: int
    to_ns: int
    arrives: Packet | None = None
    sends: Packet | None = None
    call: Call | None = None
    commands: list[Command] | None = None
    code: list[ScriptStatement] | None = None


class Read(msgspec.Struct, frozen=True):
    options: list[tuple[int, str, str]]
    steps: list[Step]


class Script:
    """A script: its option lines, and its steps."""

    def __init__(self, file: Path, read: Read) -> None:
        self.file = file
        self.steps = read.steps
        self.options = {name: (line, value) for line, name, value in read.options}

    @property
    def tolerance_ns(self) -> int:
        return self._whole("tolerance_usecs", TOLERANCE_NS // 1000, 10**10) * 1000

    @property
    def tolerance_share(self) -> float:
        return self._whole("tolerance_percent", 0, 100) / 100 or TOLERANCE_SHARE

    @property
    def tick_ns(self) -> int:
        """The tick of the timestamp clock; 0 if timestamp values are not compared."""
        return self._whole("tcp_ts_tick_usecs", 0, 10**7) * 1000

    @property
    def mtu(self) -> int:
        return self._whole("mtu", 1500, 65_535)

    def _whole(self, name: str, otherwise: int, most: int) -> int:
        if name not in self.options:
            return otherwise
        line, option_text = self.options[name]
        if not option_text.isdecimal() or len(option_text) > 18 or int(option_text) > most:
            raise Refused(line, f"--{name}={option_text}"[:60], f"write a whole number from 0 to {most}")
        return int(option_text)

    def packets(self) -> Iterator[tuple[Step, Packet, bool]]:
        """Segments with their steps, and whether each arrives."""
        for step in self.steps:
            if step.arrives:
                yield step, step.arrives, True
            elif step.sends:
                yield step, step.sends, False

    def calls(self, *names: str) -> Iterator[tuple[Step, Call]]:
        for step in self.steps:
            if step.call and (not names or step.call.name in names):
                yield step, step.call


#: Option lines that are used here, and those that have no effect on a script over TUN and IPv4.
OPTIONS = {"tolerance_usecs", "tolerance_percent", "tcp_ts_tick_usecs", "mtu", "local_ip", "remote_ip", "gateway_ip"}
WITHOUT_EFFECT = {
    "tcp_ts_ecr_scaled",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "verbose",
    "non_fatal",
    "init_scripts",
}


def load(file: Path, includes: Path | None = None) -> Script:
    """Reads a script and the files that it includes. Raises Refused.

    `includes` is a folder in which an included file is searched by name if it is not at the script's path.
    """
    script_read = msgspec.convert(_read(file, _core.read_packetdrill), Read, strict=False)
    script = Script(file, script_read)
    script.steps = [
        msgspec.structs.replace(s, commands=list(_expand(s.commands, s.line, file.parent, includes, 0)))
        if s.commands is not None
        else s
        for s in script.steps
    ]
    for name, (line, value) in script.options.items():
        if name == "ip_version" and value != "ipv4":
            raise Refused(line, f"--ip_version={value}"[:60], "scripts are only played over IPv4")
        if name not in OPTIONS | WITHOUT_EFFECT | {"ip_version"}:
            raise Refused(line, f"--{name}"[:60], f"of option lines only {', '.join(sorted(OPTIONS))} are read")
    return script


def _read(file: Path, reader: Any) -> Any:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise Refused(1, "", f"the file has more than {_MOST_BYTES} bytes")
        return reader(file_bytes(file, _MOST_BYTES))
    except OSError as e:
        raise Refused(1, "", os_message(e)) from None
    except _core.DialogueFault as e:
        raise Refused(*e.args) from None


def _expand(commands: list[Command], line: int, folder: Path, more: Path | None, depth: int) -> Iterator[Command]:
    """Commands, with those of included files at the including line."""
    for command in commands:
        # A message names the line of the script; for an included file its text has the place.
        line_number = line if depth else command.line
        if command.include is None:
            yield msgspec.structs.replace(command, line=line_number)
            continue
        if depth == _MOST_INCLUDED:
            raise Refused(line_number, command.include, "files include each other too deeply")
        path = _find(command.include, folder, more, line_number)
        try:
            rows = msgspec.convert(_read(path, _core.read_packetdrill_commands), list[Command], strict=False)
        except Refused as e:
            raise Refused(line_number, command.include, f"in {path}: {e}") from None
        yield from _expand(rows, line_number, path.parent, more, depth + 1)


def _find(name: str, folder: Path, more: Path | None, line: int) -> Path:
    candidates = [folder / name] + ([more / Path(name).name] if more else [])
    for place in candidates:
        if place.is_file():
            return place
    # The name may have characters that no path can have.
    searched_places = plain(" and ".join(os.path.abspath(p) for p in candidates))
    raise Refused(
        line,
        name,
        f"this included file is missing (looked for {searched_places}). Scripts of packetdrill set their kernel up in "
        "it: copy it there from the repository of the script, or say with --include FOLDER where it is",
    )
