"""Reads the value of `--queue` if it is neither a name nor a table: a pasted line, a file, or standard input. The value
becomes disciplines to compare, or changes of a scenario."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario.read import inline
from tailback.core.text.plain import plain
from tailback.linux.reading import of_words
from tailback.linux.shaped import Side, value_text
from tailback.readers.given import unpacked
from tailback.readers.reading import ReadError, Reading, short
from tailback.readers.recognise import read
from tailback.readers.shapers import Queues
from tailback.readers.tc import kinds

#: The most remarks of a message; `tailback read` shows all.
_MOST_NAMED = 6


def is_pasted(text: str) -> bool:
    """Whether the value is a paste or a file of one, and not a name, names between commas, or a table."""
    if text == "-":
        return True
    if not text.strip() or text.lstrip().startswith("{"):
        return False
    if "\n" in text or any(" " in part.strip() for part in text.split(",")):
        return True
    try:
        return ".py:" not in text and Path(text).is_file()
    except (OSError, ValueError):
        return False


def pasted(text: str) -> Reading:
    """The reading of the value; its data are `Queues`. Raises ReadError."""
    if text == "-":
        if sys.stdin is None:
            raise ReadError("standard input is closed", "name a file, or paste the line")
        reading = read(unpacked("standard input", sys.stdin.buffer))
    elif "\n" not in text and Path(text[:255]).is_file():
        with Path(text).open("rb") as stream:
            reading = read(unpacked(text, stream))
    elif len(text.split()) == 1 and text not in kinds():
        raise ReadError(
            f"there is no file {short(text)}", "name one, or paste a line of tc such as cake bandwidth 20mbit"
        )
    else:
        line = f"tc qdisc add root {text}" if text in kinds() else text
        reading = read(unpacked("--queue", BytesIO(line.encode())))
    if not isinstance(reading.data, Queues):
        raise ReadError(
            f"{reading.title}: no queue is in it", "give a line of tc, a block of SQM, or a discipline's name"
        )
    return reading


def remarks(found: Reading) -> str:
    """One sentence on the parts that were left out; empty if there are none."""
    if not found.left:
        return ""
    omissions = [f"{x.what}{f' (line {x.line})' if x.line else ''}: {x.why}" for x in found.left[:_MOST_NAMED]]
    further = len(found.left) - _MOST_NAMED
    return plain(f"left out of {found.title}: {'; '.join(omissions)}{f'; and {further} more' if further > 0 else ''}")


# Disciplines side by side


def beside() -> str:
    """The queue with which a single pasted discipline is compared: drop-tail."""
    return of_words("pfifo", [])[0]


def candidates(found: Reading, taken: Sequence[str] = ()) -> tuple[list[dict[str, Any]], list[str]]:
    """The queues as tables with their names, and sentences on settings that belong to the path. Raises ReadError."""
    candidate_tables: list[dict[str, Any]] = []
    sentences: list[str] = []
    run_options: dict[str, None] = {}
    names = set(taken)
    for side in found.data.sides:
        for impairment in side.impair:
            parameters = [
                f"{key.replace('_', ' ')} {value_text(value)}" for key, value in impairment.items() if key != "kind"
            ]
            options = [option for key, option in (("delay", "--rtt"), ("rate", "--rate")) if key in impairment]
            run_options |= dict.fromkeys(options)
            sentences.append(
                f"netem on {side.device or 'the device'} ({', '.join(parameters)}) belongs to the path and is not "
                "compared" + (f"; give {' and '.join(options)}" if options else "")
            )
        if not side.queue:
            continue
        name = " ".join(filter(None, ("pasted", side.name, side.way)))
        copy_number = 2
        while name in names:
            name = " ".join(filter(None, ("pasted", side.name, side.way, str(copy_number))))
            copy_number += 1
        names.add(name)
        candidate_tables.append({**side.queue, "name": name})
    if not candidate_tables:
        if sentences:
            remedy = f"give {' and '.join(run_options)}, or tailback run" if run_options else "tailback run takes it"
            raise ReadError(f"{found.title}: netem alone is a path and not a queue", remedy)
        raise ReadError(f"{found.title}: no queue is in it", "give a line with a qdisc")
    return candidate_tables, sentences


# A scenario's link


def changes(found: Reading, scenario: _core.Scenario) -> tuple[list[str], list[str]]:
    """The settings for `--set` that put the queues at the bottleneck link, and sentences on these changes.

    The paste's download direction is that of the link; its upload direction is the way back. If the paste has one
    direction only, the other stays as it is.
    """
    from tailback.core.scenario.watched import explicit, watched

    document = explicit(json.loads(scenario.json))
    name = watched(document)
    link: Mapping[str, Any] = document["link"][name]
    queues: Queues = found.data
    forward = queues.side("down") or queues.side("") or queues.side("up")
    backward = queues.side("up") if forward is not queues.side("up") else None
    overrides: list[str] = []
    sentences: list[str] = []
    unused_sides = [s for s in queues.sides if s is not forward and s is not backward]
    sentences += [f"{s.device}: only one device is put at {name}; this one is left out" for s in unused_sides]
    old_queues = link.get("queue"), link.get("reverse_queue") or link.get("queue")
    for side, key, old_queue in ((forward, "queue", old_queues[0]), (backward, "reverse_queue", old_queues[1])):
        if side is not None and side.queue:
            overrides.append(f"link.{name}.{key}={inline(side.queue)}")
        elif old_queue is not None:
            overrides.append(f"link.{name}.{key}={inline(old_queue)}")
        if side is not None:
            sentences.append(_put(name, side, key))
    for side, prefix in ((forward, ""), (backward, "reverse_")):
        if side is not None and side.impair:
            overrides.append(f"link.{name}.{prefix}impair={inline([*link.get(f'{prefix}impair', []), *side.impair])}")
    return overrides, sentences


def _put(name: str, side: Side, key: str) -> str:
    way_text = "the way back of " if key.startswith("reverse") else ""
    texts = [f"queue {side.name}"] if side.queue else []
    texts += [f"a shaper of {side.rate_bps / 1e6:g} Mbps"] if side.rate_bps else []
    texts += [str(i["kind"]) for i in side.impair]
    return f"{side.device or 'the line'} is {way_text}{name}: {', '.join(texts)}"
