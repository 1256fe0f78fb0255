"""Reads the settings and counters that `tc -j qdisc show` and `tc -j class show` print (`dump.py` reads text).

There, rates are in bytes a second and times in microseconds; `netem` has times in seconds and shares as fractions of 1
(iproute2, `print_opt` of each kind).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tailback.linux.classful import WORDS
from tailback.linux.dump import EXPONENT, Queue, needed
from tailback.linux.forms import word_against
from tailback.linux.statement import STAB, Statement
from tailback.linux.tree import handle

#: The most characters of a name, and the most tins of a qdisc.
_LONGEST, _MOST_TINS = 40, 16


def of_document(document: Any) -> list[Queue]:
    """The qdiscs and classes of `tc -j ... show`. Raises `TcError`."""
    rows = document if isinstance(document, list) else [document]
    return [_of_row(row) for row in rows if isinstance(row, Mapping) and ("kind" in row or "class" in row)]


def is_document(document: Any) -> bool:
    """Whether a document is an output of `tc -j`."""
    rows = document if isinstance(document, list) else []
    first_row = next((r for r in rows if isinstance(r, Mapping) and r), None)
    if first_row is None:
        return False
    return (
        "kind" in first_row
        and "handle" in first_row
        and ("options" in first_row or "root" in first_row or "parent" in first_row)
    ) or ("class" in first_row and "handle" in first_row)


def _of_row(row: Mapping[str, Any]) -> Queue:
    object_name = "class" if "class" in row else "qdisc"
    kind = str(row.get("class" if object_name == "class" else "kind", ""))[:16]
    name = handle(str(row.get("handle", "0:")))
    parent = str(row.get("parent", "root"))
    if object_name == "class" and row.get("root"):
        parent = f"{name.partition(':')[0]}:"
    if parent.lower().startswith("ffff:"):
        parent = "ingress"
    if parent.startswith(":"):
        parent = f"0{parent}"
    options = row.get("options")
    options = options if isinstance(options, Mapping) else {}
    if object_name == "class":
        options = {k: v for k, v in row.items() if k in _OF_CLASS}
    words, stab = _words(kind, options)
    device = str(row.get("dev", ""))[:16]
    queue = Queue(Statement(0, object_name, "add", device, handle(parent), name, kind, tuple(words), stab))
    skipped_keys = ("kind", "class", "handle", "parent", "dev", "root", "options", "refcnt", "tins", "level", *options)
    if isinstance(past := options.get(_PAST), int):
        queue.counters[_PAST] = past
    for key, value in row.items():
        if (
            key not in skipped_keys
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and len(key) <= _LONGEST
        ):
            queue.counters[key] = value
    tins = row.get("tins")
    for tin_number, tin in enumerate(tins if isinstance(tins, list) else []):
        if isinstance(tin, Mapping) and tin_number < _MOST_TINS:
            counters = {k: v for k, v in tin.items() if isinstance(v, int | float) and not isinstance(v, bool)}
            queue.tins[f"Tin {tin_number}"] = {str(k)[:_LONGEST]: v for k, v in counters.items()}
    return queue


#: Options whose number is in microseconds, and in bytes a second.
_TIMES = ("target", "interval", "ce_threshold", "tupdate", "rtt", "lat")
_RATES = ("rate", "ceil", "bandwidth", "peakrate", "maxrate")
#: Options for which a command has no word.
_PAST = "direct_packets_stat"
_BOOKS = ("refcnt", _PAST, "ver", "autorate", "fwmark", EXPONENT, "Plog", "Scell_log")
#: Settings of a class that stand among its counters.
_OF_CLASS = ("rate", "ceil", "burst", "cburst", "prio", "quantum", "overhead", "linklayer", "mpu")
#: Options whose text is the word, and options whose text decides the word.
_OWN_WORDS = re.compile("diffserv|flowmode|atm")
_ACK_FILTER = ("ack-filter",)
_ACKS = {"disabled": "no-ack-filter", "enabled": "ack-filter", "aggressive": "ack-filter-aggressive"}
#: Flags with one word for on and one for off.
_BOTH = {
    "nat": ("nat", "nonat"),
    "wash": ("wash", "nowash"),
    "ingress": ("ingress", "egress"),
    "split_gso": ("split-gso", "no-split-gso"),
}


def _words(kind: str, options: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The options of a document as words of a command, and its size table."""
    if kind == "netem":
        return _netem(options), {}
    words: list[str] = []
    stab: dict[str, str] = {}
    for key, value in options.items():
        if "linklayer" in options and key in STAB and kind not in WORDS:
            stab[key] = str(value)
        elif value is None or key in _BOOKS or value == "unlimited" or (key == "raw" and "overhead" in options):
            continue
        else:
            words += _said(kind, key, value)
    return words + needed(kind, words, str(options.get(EXPONENT, ""))), stab


def _said(kind: str, key: str, value: Any) -> list[str]:
    if key in _BOTH and isinstance(value, bool):
        return [_BOTH[key][not value]]
    if isinstance(value, bool):
        return [key] if value else [no] if (no := word_against(kind, key)) else []
    if isinstance(value, list):
        return [key, *[str(v) for v in value[:16]]]
    if isinstance(value, str):
        return [_ACKS.get(value, value)] if key in _ACK_FILTER or _OWN_WORDS.fullmatch(key) else [key, value]
    if not isinstance(value, int | float):
        return []
    if key in _RATES:
        return [key, f"{round(8 * value)}bit"]
    if key in _TIMES:
        # For these the kernel's clock counts units of 1.024 us and rounds down: 4999 us is 5 ms.
        rounded_up = value + 1 if isinstance(value, int) and value % 10 == 9 else value
        return ["latency" if key == "lat" else key, f"{rounded_up}us"]
    return [key, str(value)]


def _netem(options: Mapping[str, Any]) -> list[str]:
    """Reads the tables of `netem`: shares as fractions of 1, times in seconds."""
    words: list[str] = []
    for key, value in options.items():
        if key in ("limit", "gap", "seed") and isinstance(value, int):
            words += [key, str(value)] if value else []
        elif key == "ecn" and value is True:
            words.append(key)
        elif isinstance(value, Mapping):
            words += _netem_table(key, value)
    return words


def _netem_table(key: str, value: Mapping[str, Any]) -> list[str]:
    def share(name: str) -> list[str]:
        number = value.get(name)
        return [f"{100 * number:.9g}%"] if isinstance(number, int | float) and number else []

    def time(name: str) -> list[str]:
        number = value.get(name)
        return [f"{1e6 * number:.6f}us"] if isinstance(number, int | float) and number else []

    if key == "delay":
        delay = time("delay")
        return ["delay", *(delay or ["0us"]), *time("jitter"), *(share("correlation") if time("jitter") else [])]
    if key == "loss-random":
        return ["loss", *share("loss"), *share("correlation")] if share("loss") else []
    if key in ("loss-gemodel", "loss-state"):
        names = ("p", "r", "1-h", "1-k") if key == "loss-gemodel" else ("p13", "p31", "p32", "p23", "p14")
        fractions = [n if isinstance(n := value.get(name), int | float) else 0.0 for name in names]
        return ["loss", key.removeprefix("loss-"), *[f"{100 * n:.9g}%" for n in fractions]]
    if key in ("duplicate", "reorder", "corrupt"):
        return [key, *share(key), *share("correlation")] if share(key) else []
    rate = value.get("rate")
    if key == "rate" and isinstance(rate, int | float):
        overheads = [value.get(n) for n in ("packetoverhead", "cellsize", "celloverhead")]
        return ["rate", f"{round(8 * rate)}bit", *[str(n) if isinstance(n, int) else "0" for n in overheads]]
    return ["slot"] if key == "slot" else []
