"""Reads lines of `tc`: commands and scripts as people paste them, and the output of `tc qdisc show`, as text and as
JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailback.linux import dump, dump_json, netem
from tailback.linux.classful import CLASS_WORDS, REFUSED, WORDS
from tailback.linux.forms import forms
from tailback.linux.shaped import Leave
from tailback.linux.shell import Command, commands
from tailback.linux.statement import Statement, statement
from tailback.linux.tree import Device, Tree, chooses, grow, put
from tailback.linux.units import TcError
from tailback.readers import shapers
from tailback.readers.given import Given
from tailback.readers.reading import Notes, ReadError, Reading

#: The names of the rows.
COMMANDS, SHOWN, DOCUMENT = "tc", "tc-show", "tc-json"
#: The longest line of words that begins with the kind, in characters.
_LONGEST_ALONE = 400
_DEVICE = re.compile(r"\bdev\s+([\w.@$-]{1,24})")


def kinds() -> frozenset[str]:
    """The kinds of qdiscs that are known here: those that are read and those that are refused."""
    return frozenset({k for f in forms() for k in f.kinds} | {*WORDS, *CLASS_WORDS, *REFUSED, "netem", "ingress", "mq"})


def recognises(given: Given) -> bool:
    """Whether the text has a command of `tc`, or is the output of `tc ... show`."""
    return kind_of(given) is not None


def kind_of(given: Given) -> str | None:
    if given.document is not None:
        return DOCUMENT if dump_json.is_document(given.document) else None
    text = given.text
    if not text:
        return None
    try:
        if any(_sets(c) for c in commands(_likely(text)).commands):
            return COMMANDS
    except TcError:
        return None
    if dump.looks_like(text):
        return SHOWN
    return COMMANDS if _alone(given) is not None else None


def _likely(text: str) -> str:
    """The lines that may be commands of `tc`, from the part of the text that is searched."""
    if "tc" not in text.lower() and not re.search(r"^\s*(?:qdisc|class)\s", text, re.MULTILINE):
        return ""
    return text


def _sets(command: Command) -> bool:
    try:
        return command.words[0] == "tc" and statement(command.line, command.words) is not None
    except TcError:
        return len(command.words) > 1 and command.words[1] in ("qdisc", "class")


def _alone(given: Given) -> list[str] | None:
    """A line that begins with the kind, such as `fq_codel limit 1000`; None for any other line."""
    lines = [line for line in given.lines if line]
    if len(lines) != 1 or len(lines[0]) > _LONGEST_ALONE:
        return None
    words = lines[0].split()
    return words if words[0] in kinds() and (len(words) > 1 or "_" in words[0]) else None


def read(given: Given) -> Reading:
    kind = kind_of(given)
    notes = Notes()
    try:
        if kind == DOCUMENT:
            queues_shown = dump_json.of_document(given.document)
            for queue in queues_shown:
                # A document of classes does not name the device.
                if not queue.statement.device:
                    queue.statement = _at(queue.statement, _of_handle(queues_shown, queue.statement))
            return _of_queues(DOCUMENT, "output of tc -j", queues_shown, notes, given.name)
        if kind == SHOWN:
            return _shown(given, notes)
        if (words := _alone(given)) is not None:
            tree = grow([Command(1, ("tc", "qdisc", "add", "root", *words))], _leave(notes))
            return shapers.reading(COMMANDS, "a line of tc", tree, notes, given.name)
        return script(COMMANDS, "commands of tc", given.text, notes, given.name)
    except TcError as e:
        problem, _, remedy = str(e).partition("; ")
        raise ReadError(
            shapers.sentence(problem), shapers.sentence(remedy) or "give a line of tc", name=given.name
        ) from None


def script(kind: str, title: str, text: str, notes: Notes, name: str) -> Reading:
    """A text of commands. Raises `TcError` and ReadError."""
    paste = commands(text)
    for line_number, what, reason in paste.left:
        if dump.looks_like(text.split("\n")[line_number - 1]):
            shapers.leave(notes, "the output of tc", "the text also has commands, and these are read", line_number)
        else:
            shapers.leave(notes, what, reason, line_number)
    return shapers.reading(kind, title, grow(paste.commands, _leave(notes)), notes, name)


def made(kind: str, title: str, lines: Sequence[str], notes: Notes, name: str) -> Reading:
    """The reading of commands that a program makes from its settings. Such commands have no line numbers in the
    input."""
    for line in lines:
        if line.startswith("tc "):
            notes.say("makes", line)

    def leave(what: str, why: str, _line: int) -> None:
        shapers.leave(notes, what, why)

    commands_parsed = commands("\n".join(lines)).commands
    tree = grow([Command(0, c.words) for c in commands_parsed], leave)
    return shapers.reading(kind, title, tree, notes, name)


def _leave(notes: Notes) -> Leave:
    return lambda what, why, line: shapers.leave(notes, what, why, line)


def _shown(given: Given, notes: Notes) -> Reading:
    """The reading of an output of `tc ... show`. The command above it may name the device."""
    queues: list[dump.Queue] = []
    filters: list[dump.Filter] = []
    device = ""
    for shown_object in dump.queues(list(enumerate(given.text.split("\n"), 1))):
        if isinstance(shown_object, dump.Queue):
            if not shown_object.statement.device:
                shown_object.statement = _at(
                    shown_object.statement, device or _of_handle(queues, shown_object.statement)
                )
            queues.append(shown_object)
        elif isinstance(shown_object, dump.Filter):
            filters.append(shown_object)
        elif (device_match := _DEVICE.search(shown_object[1])) is not None:
            device = device_match[1]
        else:
            shapers.leave(notes, "a line", "no setting or counter of a qdisc", shown_object[0])
    return _of_queues(SHOWN, "output of tc qdisc show", queues, notes, given.name, filters)


def _of_handle(found: Sequence[dump.Queue], one: Statement) -> str:
    """The device of the qdisc to which a class without a device belongs."""
    major = one.handle.partition(":")[0]
    return next((q.statement.device for q in found if q.statement.handle.partition(":")[0] == major), "")


def _at(one: Statement, device: str) -> Statement:
    return Statement(one.line, one.object, one.verb, device, one.parent, one.handle, one.kind, one.words, one.stab)


def _of_queues(
    kind: str, title: str, found: Sequence[dump.Queue], notes: Notes, name: str, filters: Sequence[dump.Filter] = ()
) -> Reading:
    tree = Tree()
    # A root removes the earlier queues, so roots come first.
    for queue in sorted(found, key=lambda q: q.statement.parent != "root"):
        if queue.statement.kind == "noqueue":
            continue
        try:
            put(tree, queue.statement, _leave(notes))
        except TcError as e:
            shapers.leave(notes, f"{queue.statement.object} {queue.statement.handle}", str(e), queue.statement.line)
    # A line of a filter's hash table chooses no class by itself.
    for shown_filter in (f for f in filters if f.chosen or f.matches):
        chooses(
            _with_class(tree, shown_filter.chosen),
            shown_filter.chosen,
            shown_filter.code,
            _leave(notes),
            shown_filter.line,
        )
    if any("avpkt" in q.statement.words for q in found):
        notes.say("avpkt", "assumed 1000 B: tc does not show it")
    if any(q.statement.kind == "netem" and _has_jitter(q.statement) for q in found):
        notes.say("distribution of netem", "assumed uniform: tc does not show it")
    return shapers.reading(kind, title, tree, notes, name, [q for q in found if q.counters or q.tins])


def _with_class(tree: Tree, name: str) -> Device:
    """The device that has a class; an empty device if no device has it."""
    return next((d for d in tree.devices.values() if name in d.classes), Device(""))


def _has_jitter(one: Statement) -> bool:
    try:
        return netem.parse(one.words).jitter_s > 0
    except TcError:
        return False
