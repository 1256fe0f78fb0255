"""Reads the people behind the line from plain words, and assigns traffic to hosts.

--people "2 calls, 2 games, 3 readers, 1 backup"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from tailback.apps.ask.given import LinkError

MOST_HOSTS = 50
#: The readers of a household without `--people`.
READERS = 4
#: The words for people, with their kind of traffic.
WORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("call", "caller", "voice", "meeting"), "call"),
        **dict.fromkeys(("stream", "streamer", "video", "viewer", "watcher"), "video"),
        **dict.fromkeys(("game", "gamer", "player"), "game"),
        **dict.fromkeys(("reader", "page", "browser", "web", "surfer"), "web"),
        **dict.fromkeys(("backup", "upload", "uploader"), "upload"),
        **dict.fromkeys(("download", "downloader", "update", "bulk"), "bulk"),
    }
)
_PART = re.compile(r"(?:(\d+)\s*x?\s+)?([a-z]+)", re.IGNORECASE)
_HINT = 'write one such as "2 calls, 2 games, 3 readers, 1 backup, 1 download"'


def people(text: str) -> dict[str, int]:
    """The number of people for each kind of traffic. Raises `LinkError`.

    >>> people("2 calls, 1 backup")
    {'call': 2, 'upload': 1}
    """
    counts: dict[str, int] = {}
    for part in re.split(r"\s*(?:,|;|\band\b)\s*", text.strip()):
        match = _PART.fullmatch(part)
        if match is None:
            raise LinkError(f"people = {text}: {part!r} is not a whole number and a word; {_HINT}")
        kind = _kind(match[2].lower(), text)
        counts[kind] = counts.get(kind, 0) + int(match[1] or 1)
    counts = {kind: n for kind, n in counts.items() if n}
    if not 1 <= sum(counts.values()) <= MOST_HOSTS:
        raise LinkError(f"people = {text}: give from 1 to {MOST_HOSTS} people; {_HINT}")
    return counts


def _kind(word: str, text: str) -> str:
    for singular in (word, word.removesuffix("s")):
        if singular in WORDS:
            return WORDS[singular]
    nearest = get_close_matches(word, WORDS, 1)
    remedy = f"people are calls, streams, games, readers, backups or downloads; {_HINT}"
    hint = f"did you mean {nearest[0]!r}?" if nearest else remedy
    raise LinkError(f"people = {text}: there is no {word!r}; {hint}")


def hosts_of_kinds(kinds: Sequence[str], hosts: int) -> dict[str, tuple[int, ...]]:
    """The hosts of each kind, counted from 1. All hosts are active. If there are more hosts than kinds, the hosts take
    the kinds in turn. If there are fewer hosts, a host has several kinds."""
    hosts_of: dict[str, list[int]] = {kind: [] for kind in kinds}
    for i in range(max(hosts, len(kinds))):
        hosts_of[kinds[i % len(kinds)]].append(1 + i % hosts)
    return {kind: tuple(mine) for kind, mine in hosts_of.items()}


def hosts_of_people(counts: Mapping[str, int], kinds: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """A host for each person."""
    hosts_of, next_host = {}, 1
    for kind in kinds:
        hosts_of[kind] = tuple(range(next_host, next_host + counts[kind]))
        next_host += counts[kind]
    return hosts_of


def parts(total: int, hosts: int) -> list[int]:
    """Divides so many things among so many hosts, at least one for each.

    >>> parts(4, 3), parts(4, 6)
    ([2, 1, 1], [1, 1, 1, 1, 1, 1])
    """
    total = max(total, hosts)
    return [total // hosts + (i < total % hosts) for i in range(hosts)]
