"""Reads the words of `netem` in `tc`, and turns them into a scenario's impairment of the same name (tc-netem(8))."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.linux import units
from tailback.linux.units import TcError

#: The default limit of `netem`, in packets.
LIMIT = 1000
#: Distributions of delay that a scenario has, too.
_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
#: Words in the order in which `tc` tries them. `tc` accepts any beginning of a word.
_WORDS = (
    ("limit",), ("delay", "latency"), ("loss", "drop"), ("ecn",), ("reorder",), ("corrupt",), ("gap",), ("duplicate",),
    ("distribution",), ("rate",), ("slot",), ("seed",),
)  # fmt: skip
#: The names before values that an output has and a command does not. Each word has its names in the command's order,
#: and the value for a name that is not shown.
_NAMED = {
    ("loss", "state"): ({"p13": "", "p31": "", "p32": "", "p23": "", "p14": ""}, "0%"),
    ("loss", "gemodel"): ({"p": "", "r": "", "1-h": "", "1-k": ""}, "0%"),
    ("rate",): ({"packetoverhead": "", "cellsize": "", "celloverhead": ""}, "0"),
}
#: The longest jitter of a scenario, in seconds.
_MOST_JITTER_S = 2.147
#: Bytes of an ATM cell: payload and header (ITU-T I.361).
_CELL, _CELL_HEADER = 48, 5


@dataclass
class Netem:
    """The settings of a line. Shares are fractions of 1."""

    limit: int = LIMIT
    limit_said: bool = False
    delay_s: float = 0.0
    jitter_s: float = 0.0
    delay_correlation: float = 0.0
    distribution: str = ""
    #: Independent losses.
    loss: float = 0.0
    loss_correlation: float = 0.0
    #: The probabilities of Gilbert and Elliott's model: to the bad state, to the good state, loss in the bad state,
    #: loss in the good state.
    gemodel: tuple[float, float, float, float] | None = None
    #: The probabilities of the model of four states: p13, p31, p32, p23, p14.
    states: tuple[float, ...] = ()
    duplicate: float = 0.0
    duplicate_correlation: float = 0.0
    reorder: float = 0.0
    reorder_correlation: float = 0.0
    gap: int = 0
    corrupt: float = 0.0
    corrupt_correlation: float = 0.0
    ecn: bool = False
    rate_bps: float | None = None
    #: Bytes of a packet's header, of a cell, and of a cell's header.
    overheads: tuple[int, int, int] = (0, 0, 0)
    #: Words that have no counterpart in a scenario.
    others: list[str] = field(default_factory=list)


class _Words:
    """The words that are not read yet."""

    def __init__(self, words: Sequence[str]) -> None:
        self.left = list(words)

    def __bool__(self) -> bool:
        return bool(self.left)

    def next(self, of: str) -> str:
        if not self.left:
            raise TcError(f"netem: {of} has no value; give one after it")
        return self.left.pop(0)

    def share(self, of: str) -> float:
        return percent(self.next(of), of)

    def more(self, read: Callable[[str], Any]) -> Any:
        """The next word as a value. If it is not a value, it stays, and the result is None."""
        if not self.left or (not self.left[0][:1].isdigit() and self.left[0][:1] not in ".-"):
            return None
        value_read = read(self.left[0])
        self.left.pop(0)
        return value_read

    def more_share(self, of: str) -> float | None:
        share: float | None = self.more(lambda text: percent(text, of))
        return share


def percent(text: str, of: str) -> float:
    """A share from a percentage, with or without `%`."""
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise TcError(f"netem: {of} {text}: give a percentage from 0 to 100, such as 1%")
    return share


def parse(words: Sequence[str]) -> Netem:
    """The settings of the words behind `netem`. Raises `TcError`."""
    settings, words_left = Netem(), _Words(words)
    while words_left:
        given_word = words_left.next("a word")
        word = next((names[0] for names in _WORDS if any(given_word and n.startswith(given_word) for n in names)), "")
        if word == "delay":
            settings.delay_s = units.time(words_left.next(word))
            settings.jitter_s = words_left.more(units.time) or 0.0
            settings.delay_correlation = words_left.more_share(word) or 0.0
        elif word == "loss":
            _loss(settings, words_left, word)
        elif word in ("duplicate", "reorder", "corrupt"):
            setattr(settings, word, words_left.share(word))
            setattr(settings, f"{word}_correlation", words_left.more_share(word) or 0.0)
        elif word == "limit":
            settings.limit, settings.limit_said = units.size(words_left.next(word)), True
        elif word == "gap":
            settings.gap = _whole(words_left.next(word), word)
        elif word == "distribution":
            settings.distribution = words_left.next(word)
        elif word == "ecn":
            settings.ecn = True
        elif word == "rate":
            settings.rate_bps = units.rate(words_left.next(word))
            overheads = [words_left.more(lambda text: int(_number(text, "rate"))) or 0 for _ in range(3)]
            settings.overheads = (overheads[0], overheads[1], overheads[2])
        elif word == "slot":
            settings.others.append(word)
            _slot(words_left)
        elif word == "seed":
            # A seed changes which packets are drawn, not their share.
            words_left.next(word)
        else:
            raise TcError(
                f"netem: tc has no word {given_word[:40]!r} here; there are delay, loss, "
                "duplicate, reorder, corrupt, rate, limit"
            )
    _check(settings)
    return settings


def _check(made: Netem) -> None:
    """Refuses what `tc` refuses, and sets the gap as `tc` does for a share of reordered packets."""
    has_loss = made.loss or made.gemodel is not None or made.states
    for is_wrong, problem, remedy in (
        (made.limit < 1, "limit 0 lets no packet pass", "give a number of packets"),
        (made.distribution and not made.jitter_s, "distribution without a jitter", "write delay 100ms 10ms"),
        (made.reorder and not made.delay_s, "reorder without a delay: nothing overtakes", "write delay, too"),
        (made.gap and not made.reorder, "gap without reorder", "write reorder 25% gap 5"),
        (made.ecn and not has_loss, "ecn without a loss", "write loss, too"),
    ):
        if is_wrong:
            raise TcError(f"netem: {problem}; {remedy}")
    if made.reorder and not made.gap:
        made.gap = 1


def _slot(left: _Words) -> None:
    """Reads the words of a slot: two times, or a distribution with two times, and the most that a slot holds."""
    while left and (left.left[0][:1].isdigit() or left.left[0] in ("distribution", "packets", "bytes")):
        if left.next("slot") == "distribution":
            left.next("slot distribution")


def as_command(words: Sequence[str]) -> list[str]:
    """Turns the words of an output into those of a command: it removes the names of values, and adds the values that
    the output does not show."""
    words_left, command_words = list(words), []
    while words_left:
        word = words_left.pop(0)
        command_words.append(word)
        key: tuple[str, ...] = (word,)
        if word == "loss" and words_left[:1] and words_left[0] in ("state", "gemodel"):
            key = (word, words_left.pop(0))
            command_words.append(key[1])
        elif word == "rate" and words_left:
            command_words.append(words_left.pop(0))
        names, absent_word = _NAMED.get(key, ({}, ""))
        loss_values = dict(names)
        while len(words_left) > 1 and words_left[0] in names:
            name = words_left.pop(0)
            loss_values[name] = words_left.pop(0)
        if any(loss_values.values()):
            command_words += [value or absent_word for value in loss_values.values()]
    return command_words


def _loss(made: Netem, left: _Words, word: str) -> None:
    next_word = left.left[0] if left else ""
    if next_word == "gemodel":
        left.next(word)
        p = left.share("loss gemodel")
        r = left.more_share("loss gemodel")
        bad, good = left.more_share("loss gemodel"), left.more_share("loss gemodel")
        made.gemodel = (p, 1 - p if r is None else r, 1.0 if bad is None else bad, good or 0.0)
    elif next_word == "state":
        left.next(word)
        states = [left.share("loss state")]
        while len(states) < 5 and (next_share := left.more_share("loss state")) is not None:
            states.append(next_share)
        made.states = tuple(states)
    else:
        if next_word == "random":
            left.next(word)
        made.loss = left.share(word)
        made.loss_correlation = left.more_share(word) or 0.0


def _whole(text: str, of: str) -> int:
    if not units.is_whole(text):
        raise TcError(f"netem: {of} {text[:40]}: give a whole number")
    return int(text)


def _number(text: str, of: str) -> float:
    try:
        return float(int(text))
    except ValueError as e:
        raise TcError(f"netem: {of} {text}: give a whole number of bytes") from e


def impairment(
    netem: Netem, leave: Callable[[str, str], None], header: int, table: Mapping[str, Any]
) -> dict[str, Any]:
    """The impairment as a scenario has it. `leave` is called with each setting that has no counterpart, and the reason.
    `header` is the bytes that Linux counts on an IP packet; `table` is the overhead and layer of a size table. A
    setting that is not given has the default of `tc`, which is also the scenario's."""
    for word in netem.others:
        leave(word, "no counterpart here")
    document: dict[str, Any] = {"kind": "netem"}
    if netem.limit_said:
        document["limit"] = netem.limit
    if netem.delay_s:
        document["delay"] = _time(netem.delay_s)
    if netem.jitter_s:
        if netem.jitter_s > _MOST_JITTER_S:
            leave("a longer jitter", f"{_MOST_JITTER_S} s is the longest that the kernel's arithmetic holds")
        document["jitter"] = _time(min(netem.jitter_s, _MOST_JITTER_S))
        if netem.distribution in _DISTRIBUTIONS[1:]:
            document["distribution"] = netem.distribution
        elif netem.distribution not in ("", _DISTRIBUTIONS[0]):
            leave("distribution of another name", "its table is a file; the jitter is drawn evenly here")
    if netem.gemodel is not None:
        document["loss_gemodel"] = list(netem.gemodel)
    elif netem.states:
        document["loss_state"] = list(netem.states)
    for name in ("loss", "duplicate", "corrupt", "reorder"):
        if share := getattr(netem, name):
            document[name] = share
    for name in ("delay", "loss", "duplicate", "corrupt", "reorder"):
        spread = document.get("jitter") if name == "delay" else document.get(name)
        if spread and (share := getattr(netem, f"{name}_correlation")):
            document[f"{name}_correlation"] = share
    if netem.ecn:
        document["ecn"] = True
    if netem.gap > 1:
        document["gap"] = netem.gap
    if netem.rate_bps is not None:
        document |= _line(netem, leave, header, table)
    return document


def _line(netem: Netem, leave: Callable[[str, str], None], header: int, table: Mapping[str, Any]) -> dict[str, Any]:
    """The rate, and the bytes that it counts for a packet."""
    own_overhead, cell, cell_header = netem.overheads
    if table.get("linklayer") in ("atm", "adsl") and not cell:
        cell, cell_header = _CELL, _CELL_HEADER
    overhead = own_overhead + header + int(table.get("overhead", 0))
    if overhead < 0:
        leave(f"overhead {own_overhead}", "a packet would be shorter than its IP packet")
    line_keys: dict[str, Any] = {"rate": units.scenario_rate(netem.rate_bps or 0.0)}
    line_keys |= {"overhead": f"{overhead}B"} if overhead > 0 else {}
    line_keys |= {"cell_size": f"{cell}B"} if cell > 0 else {}
    if cell_header < 0:
        leave(f"a cell's overhead {cell_header}", "here a cell is never shorter than its contents")
    line_keys |= {"cell_overhead": f"{cell_header}B"} if cell > 0 and cell_header > 0 else {}
    return line_keys


def _time(seconds: float) -> str:
    ns = round(seconds * 1e9)
    return next(
        f"{ns // factor}{unit}" for factor, unit in ((10**6, "ms"), (1000, "us"), (1, "ns")) if ns % factor == 0
    )


def text(said: Netem) -> str:
    """The settings of a line as text for a reader."""

    def share(name: str) -> str:
        correlation = getattr(said, f"{name}_correlation")
        return f", correlation {100 * correlation:g} %" if correlation else ""

    texts = []
    if said.delay_s:
        spread = f" ± {_time(said.jitter_s)}{share('delay')}" if said.jitter_s else ""
        spread += f", {said.distribution}" if said.distribution in _DISTRIBUTIONS else ""
        texts.append(f"delay {_time(said.delay_s)}{spread}")
    for name in ("loss", "duplicate", "reorder", "corrupt"):
        if value := getattr(said, name):
            texts.append(f"{name} {100 * value:g} %{share(name)}")
    if said.gap > 1:
        texts.append(f"gap {said.gap}")
    if said.gemodel is not None:
        to_bad, to_good, bad, good = (100 * x for x in said.gemodel)
        texts.append(
            f"loss {bad:g} % in a bad state ({to_bad:g} % to it, {to_good:g} % back), {good:g} % in a good one"
        )
    if said.states:
        texts.append(f"loss by states {', '.join(f'{100 * x:g} %' for x in said.states)}")
    if said.ecn:
        texts.append("marks in place of losses")
    if said.rate_bps is not None:
        texts.append(f"rate {units.scenario_rate(said.rate_bps)}")
    if said.limit_said:
        texts.append(f"limit {said.limit} packets")
    return ", ".join(texts) or "nothing"
