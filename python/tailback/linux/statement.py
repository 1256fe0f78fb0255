"""Takes a command of `tc` apart: object, verb, the place where it acts, and the words of the kind (tc(8), "tc
commands")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.linux.units import TcError

OBJECTS = ("qdisc", "class", "filter", "chain", "action", "monitor", "exec")
#: Verbs of `tc`, with its abbreviations. `show` and the like set nothing up.
SETS, TAKES_AWAY, SHOWS = ("add", "replace", "change", "link"), ("delete",), ("show", "list", "ls", "get")
#: Options before the object that have a value.
_VALUED = frozenset(["-n", "-netns", "--netns", "-cf", "-conf", "-b", "-batch", "-N", "-rp"])
#: Words of a table of sizes (tc-stab(8)).
STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")


@dataclass(frozen=True)
class Statement:
    """The object that one command sets up."""

    line: int
    #: "qdisc", "class" or "filter".
    object: str
    verb: str
    device: str = ""
    #: "root", "ingress", or a handle such as "1:" and "1:10".
    parent: str = ""
    #: The handle of a qdisc, or the name of a class; empty if the kernel chooses it.
    handle: str = ""
    kind: str = ""
    words: tuple[str, ...] = ()
    #: Words of a table of sizes, with their values.
    stab: dict[str, str] = field(default_factory=dict)


def statement(line: int, words: Sequence[str]) -> Statement | None:
    """The statement of a command of `tc`, from the word `tc` on. None for a command that only shows. Raises
    `TcError`."""
    words_left = list(words[1:])
    while words_left and words_left[0].startswith("-"):
        option = words_left.pop(0)
        if option in _VALUED and words_left:
            words_left.pop(0)
    if not words_left:
        raise TcError("tc alone sets nothing up; write tc qdisc add ...")
    object_name = _matched(words_left.pop(0), OBJECTS, "objects")
    if object_name not in ("qdisc", "class", "filter"):
        return None
    if not words_left:
        return None
    verb = _matched(words_left.pop(0), (*SETS, *TAKES_AWAY, *SHOWS, "chg"), "commands")
    if verb in SHOWS:
        return None
    verb = "change" if verb == "chg" else verb
    fields = _place(object_name, words_left)
    return Statement(line, object_name, verb, **fields)


def _matched(word: str, known: Sequence[str], what: str) -> str:
    """The word that this is the beginning of, as `tc` matches words."""
    match = next((k for k in known if word and k.startswith(word)), None)
    if match is None:
        raise TcError(f"{word!r} is no word of tc here; {what} are {', '.join(known)}")
    return match


def _place(of: str, remaining: list[str]) -> dict[str, Any]:
    """The place where it acts, and the kind with its words."""
    fields: dict[str, Any] = {"stab": {}}
    field_of = {"dev": "device", "parent": "parent", "handle": "handle", "classid": "handle"}
    while remaining:
        word = remaining[0]
        if word in field_of:
            if len(remaining) < 2:
                raise TcError(f"{word} has no value; write one such as {word} {'eth0' if word == 'dev' else '1:1'}")
            fields[field_of[word]] = remaining[1]
            remaining = remaining[2:]
        elif word == "root":
            fields["parent"] = "root"
            remaining = remaining[1:]
        elif word in ("ingress", "clsact") and of == "qdisc":
            # `ingress` is both a place and a kind.
            return {**fields, "parent": "ingress", "kind": word, "words": ()}
        elif word == "stab" and of == "qdisc":
            remaining = _table(fields, remaining[1:])
        elif word in ("ingress", "egress") and of == "filter":
            fields["parent"] = "ingress" if word == "ingress" else "root"
            remaining = remaining[1:]
        elif word in ("ingress_block", "egress_block", "estimator") and of == "qdisc":
            remaining = remaining[3 if word == "estimator" else 2 :]
        elif of == "filter" and word in ("protocol", "prio", "pref", "preference", "priority", "chain"):
            remaining = remaining[2:]
        else:
            return {**fields, "kind": word, "words": tuple(remaining[1:])}
    return fields


def _table(place: dict[str, Any], left: list[str]) -> list[str]:
    table: dict[str, str] = {}
    while len(left) > 1 and left[0] in STAB:
        table[left[0]], left = left[1], left[2:]
    if left and left[0] in STAB:
        raise TcError(f"stab {left[0]} has no value; write one such as {left[0]} 0")
    place["stab"] = table
    return left
