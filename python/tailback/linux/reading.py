"""Reads the settings of a discipline from a line of `tc`; `words.py` writes such lines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tailback import _core
from tailback.linux import law, units
from tailback.linux.forms import PROFILE, Form, TcWord, forms
from tailback.linux.units import TcError
from tailback.linux.words import linux_defaults

#: Words before the discipline that have a value.
_PLACES = ("dev", "parent", "handle")


def read(line: str) -> tuple[str, dict[str, Any]]:
    """The simulator's name of the discipline of a line of `tc`, and its settings as a scenario has them.

    The settings are those of the line, and Linux's defaults for parameters with other defaults in the simulator. Words
    before the kind, such as `tc qdisc replace dev eth0 root`, may be left out. Raises `TcError`.
    """
    words = _discipline(line.split())
    if not words:
        raise TcError(f"{line.strip()!r} names no discipline; write one such as fq_codel limit 1000")
    return of_words(words[0], words[1:])


#: Words of `tc` without a counterpart here, and how many values each has: tc-cake(8), tc-sfq(8) and so on.
_OTHERS = """
cake: autorate-ingress=0 fwmark=1 hosts=0 srchost=0 dsthost=0 no-split-gso=0 diffserv8=0 diffserv-llt=0 precedence=0
cake: via-ethernet=0 no-sce=0 sce=0 sce-thresh=1
sfq: quantum=1 depth=1 flows=1 headdrop=0 redflowlimit=1 min=1 max=1 avpkt=1 burst=1 probability=1 ecn=0 harddrop=0
red: nodrop=0 qevent=3
pie: bytemode=0 nobytemode=0
fq_pie: bytemode=0 nobytemode=0
fq_codel: ce_threshold_selector=1
"""


@functools.cache
def _others(kind: str) -> Mapping[str, int]:
    rows = [row.partition(": ")[2].split() for row in _OTHERS.split("\n") if row.partition(": ")[0] == kind]
    return {name: int(many) for row in rows for name, _, many in [word.partition("=") for word in row]}


def of_words(kind: str, rest: Sequence[str], left: list[str] | None = None) -> tuple[str, dict[str, Any]]:
    """The name and settings of a discipline from its kind and the words behind it. Words of `tc` that have no
    counterpart here are put into `left`; without `left` they are refused."""
    all_forms = forms()
    of_kind = [f for f in all_forms if kind in f.kinds and set(f.always) <= set(rest)]
    if not of_kind:
        kinds = sorted({k for f in all_forms for k in f.kinds})
        raise TcError(f"{kind!r} is no discipline of Linux with a model here; {_near(kind, kinds)}")
    # A form that has all words of the line is chosen. A form with fixed words, as adaptive RED has, takes the rest.
    plain = [f for f in of_kind if not f.always]
    chosen = plain[0] if plain and _knows(plain[0], rest) else max(of_kind, key=lambda f: len(f.always))
    return chosen.discipline, _Reader(chosen, kind, left).settings(list(rest))


def _knows(form: Form, words: Sequence[str]) -> bool:
    """Whether the form also has the fixed words of the other forms."""
    own_words = {*(w for option in form.options for _, w in option.words), *(option.word for option in form.options)}
    return all(w in own_words for other in forms() if other.kind == form.kind for w in other.always if w in words)


def _discipline(words: list[str]) -> list[str]:
    """The words from the kind on."""
    if words[:1] == ["tc"]:
        words = words[1:]
    if words[:1] == ["qdisc"]:
        words = words[1:]
        if words[:1] and words[0] in ("add", "replace", "change"):
            words = words[1:]
        elif words:
            raise TcError(f"{words[0]!r} sets nothing up; write add, replace or change")
    while words:
        if words[0] in _PLACES:
            if len(words) < 2:
                raise TcError(f"{words[0]} has no value; write one such as {words[0]} 1:1")
            words = words[2:]
        elif words[0] == "root":
            words = words[1:]
        else:
            break
    return words


def _near(word: str, known: Sequence[str]) -> str:
    close_words = get_close_matches(word, known, 1)
    return f"did you mean {close_words[0]!r}?" if close_words else f"there are {', '.join(sorted(known))}"


class _Reader:
    def __init__(self, form: Form, kind: str, left_out: list[str] | None = None) -> None:
        self.form = form
        self.kind = kind
        self.left_out = left_out
        self.valued: dict[str, TcWord] = {}
        self.flags: dict[str, tuple[TcWord, str]] = {}
        for option in form.options:
            if option.value in ("flag", "choice"):
                for value, word in option.words:
                    if word:
                        self.flags.setdefault(word, (option, value))
            else:
                self.valued.setdefault(option.word, option)
        self.presets = {preset["word"]: preset for preset in form.presets}

    def settings(self, words: list[str]) -> dict[str, Any]:
        raw: dict[str, str] = {}
        settings_read: dict[str, Any] = {}
        words_left = [word for word in words if word not in self.form.always]
        while words_left:
            word = words_left.pop(0)
            if word in self.valued:
                if not words_left:
                    raise TcError(f"{self.kind}: {word} has no value; give one after it")
                raw[word] = words_left.pop(0)
                if (option := self.valued[word]).value == "bytes":
                    self.store(settings_read, option, raw[word])
            elif word in self.flags:
                option, value = self.flags[word]
                if option.parameter:
                    settings_read[option.parameter] = value == "true" if option.value == "flag" else value
                if option.parameter == PROFILE:
                    # The last word counts: a profile replaces the settings of earlier words.
                    for other_word in [w for w in raw if self.valued[w].parameter in self.form.of_profile(value)]:
                        del raw[other_word]
            elif word in self.presets:
                self.lay(settings_read, self.presets[word])
            elif self.left_out is not None and word in (option_counts := _others(self.kind)):
                argument_count = option_counts[word]
                self.left_out.append(" ".join([word, *words_left[:argument_count]]))
                words_left = words_left[argument_count:]
            else:
                known_words = [*self.valued, *self.flags, *self.presets]
                raise TcError(f"{self.kind}: tc's {word!r} has no counterpart here; {_near(word, known_words)}")
        self.work_out(raw)
        for word, text in raw.items():
            if self.valued[word].value not in ("bytes", "burst"):
                self.store(settings_read, self.valued[word], text, raw)
        if "burst" in raw:
            settings_read["weight"] = self.weight(raw)
        return {**self.understood(settings_read), **settings_read}

    def work_out(self, raw: dict[str, str]) -> None:
        """The values of RED that `tc` computes if they are not given, in whole numbers (tc-red(8)): `max` is a quarter
        of the limit, `min` a third of `max` (or `max` is three times `min`), and the burst is (2 min + max) / (3
        avpkt)."""
        if "burst" not in self.valued:
            return
        for word in ("limit", "avpkt"):
            if word not in raw:
                raise TcError(f"{self.kind}: {word} is missing; tc asks for it")
        limit, size = units.size(raw["limit"]), units.size(raw["avpkt"])
        if not size:
            raise TcError(f"{self.kind}: avpkt {raw['avpkt']}: give the bytes of a mean packet, such as 1000")
        if "max" not in raw:
            raw["max"] = str(3 * units.size(raw["min"]) if "min" in raw else limit // 4)
        raw.setdefault("min", str(units.size(raw["max"]) // 3))
        min_bytes, max_bytes = units.size(raw["min"]), units.size(raw["max"])
        size = 1 if self.valued["min"].value == "packets" else size
        raw.setdefault("burst", str((2 * min_bytes + max_bytes) // (3 * size)))

    def store(self, values: dict[str, Any], option: TcWord, text: str, raw: Mapping[str, str] | None = None) -> None:
        if not option.parameter:
            units.rate(text)
            return
        if option.value == "round-trip":
            t = units.time(text)
            values |= {"interval": law.seconds(t), "target": law.seconds(t / 20)}
            return
        if option.value == "rate" and units.rate(text) < 8:
            # In whole bytes a second the rate is 0, which means no limit.
            return
        values[option.parameter] = self.value(option, text, raw or {})
        values |= dict.fromkeys(option.also, values[option.parameter])

    def value(self, option: TcWord, text: str, raw: Mapping[str, str]) -> Any:
        match option.value:
            case "packets":
                return f"{self.count(option, text)} packets"
            case "size":
                unit = "B" if self.kind == self.form.in_bytes else " packets"
                return f"{units.size(text) if unit == 'B' else self.count(option, text)}{unit}"
            case "bytes":
                return f"{units.size(text)}B"
            case "bytes-of-packets":
                amount, packet = units.size(text), self.mean_packet(raw)
                return f"{amount // packet} packets" if packet and amount % packet == 0 else f"{amount}B"
            case "time":
                return law.seconds(units.time(text))
            case "seconds":
                return f"{self.count(option, text)}s"
            case "rate":
                return units.scenario_rate(units.rate(text))
            case "times":
                return self.count(option, text) / option.times
            case "percent":
                return self.count(option, text) / 100
            case "number":
                return self.number(option, text)
        return self.count(option, text)

    def number(self, option: TcWord, text: str) -> float:
        try:
            return float(text)
        except ValueError as e:
            raise TcError(f"{self.kind}: {option.word} {text}: give a number") from e

    def count(self, option: TcWord, text: str) -> int:
        if not units.is_whole(text):
            raise TcError(f"{self.kind}: {option.word} {text[:40]}: give a whole number")
        return int(text)

    def mean_packet(self, raw: Mapping[str, str]) -> int:
        return units.size(raw["avpkt"]) if "avpkt" in raw else 0

    def weight(self, raw: Mapping[str, str]) -> float:
        burst = self.count(self.valued["burst"], raw["burst"])
        packet = self.mean_packet(raw)
        min_bytes = units.size(raw["min"])
        exponent = law.exponent_of_burst(
            min_bytes if self.valued["min"].value == "packets" else min_bytes / packet, burst
        )
        if exponent is None:
            raise TcError(f"{self.kind}: burst {burst} is less than min is in packets; give a larger one")
        return 2.0**-exponent

    def lay(self, values: dict[str, Any], preset: Mapping[str, Any]) -> None:
        for parameter, value in preset["values"]:
            if preset["adds"]:
                value = f"{_core.parse_bytes(values.get(parameter, '0B')) + _core.parse_bytes(value)}B"
            values[parameter] = value

    def understood(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Adds Linux's defaults for parameters with other defaults in the simulator, and the flags that have a word for
        one of their values only."""
        understood_settings: dict[str, Any] = {}
        for option in self.form.options:
            silent = [value for value, word in option.words if not word and option.value == "flag"]
            if silent and option.parameter and (not option.only_with or values.get(option.only_with)):
                understood_settings[option.parameter] = silent[0] == "true"
        return {**understood_settings, **linux_defaults(self.form)}
