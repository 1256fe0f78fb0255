"""Writes the settings of a discipline as words of `tc`; `reading.py` reads them.

Both use the declared rows (`forms.py`). A word is written for every given parameter, and for every other parameter
whose default here is not Linux's, so that a line sets up the simulated discipline. A remark names the settings for
which `tc` has no word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.linux import law, units
from tailback.linux.forms import PROFILE, Form, TcWord
from tailback.linux.law import Path
from tailback.linux.units import TcError

#: The limit that is written for an unlimited queue, in packets and in bytes.
UNLIMITED_PACKETS, UNLIMITED_BYTES = 1_000_000, 1_000_000_000


@dataclass(frozen=True)
class Written:
    """A discipline in words of `tc`, with remarks on settings that have no word."""

    kind: str
    words: tuple[str, ...]
    #: Sentences on settings that have no word, and on differences of Linux's discipline.
    remarks: tuple[str, ...]
    #: Given parameters for which there is no word.
    unsaid: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return " ".join((self.kind, *self.words))


class _NoWordError(ValueError):
    """A value that `tc` cannot express; the message names the possible values."""


def write(
    form: Form,
    settings: Mapping[str, Any],
    path: Path | None = None,
    *,
    ecn: bool | None = None,
    as_linux: bool = False,
    behind: Sequence[str] = (),
) -> Written:
    """The words for these settings.

    `path` is the line, for rates and for sizes in packets. `ecn` is whether the network marks, if the settings do not
    have this. With `as_linux`, parameters that are not given have Linux's defaults and not the simulator's. `behind` is
    the words that come last, such as those of a kind of line.
    """
    return _Writer(form, settings, path, ecn, as_linux).written(tuple(behind))


def linux_defaults(form: Form) -> dict[str, Any]:
    """Linux's defaults for the parameters that have another default in the simulator."""
    writer = _Writer(form, {}, None, None, False)
    options_to_write = [o for o in form.options if o.unsaid == "is" and not writer.is_understood(o)]
    return {
        o.parameter: int(o.default) if o.default.isdigit() else o.default
        for o in options_to_write
        if o.default != "none"
    }


class _Writer:
    def __init__(
        self, form: Form, settings: Mapping[str, Any], path: Path | None, ecn: bool | None, as_linux: bool
    ) -> None:
        self.form = form
        self.given = {k: v for k, v in settings.items() if k not in ("kind", "name", "class")}
        self.path = path
        self.ecn = ecn
        self.as_linux = as_linux
        self.remarks: list[str] = []
        self.unsaid: list[str] = []

    def value(self, parameter: str) -> Any:
        """The value of a parameter: the given one, the network's, or the default."""
        if parameter in self.given:
            return self.given[parameter]
        if parameter == "ecn" and self.ecn is not None:
            return self.ecn
        return self.form.defaults.get(parameter)

    def written(self, behind: tuple[str, ...]) -> Written:
        words: list[str] = list(self.form.always)
        written_words: set[str] = set()
        asked_words = {o.word for o in self.form.options if self.asked(o)}
        # A profile is written first, because `tc` takes the last of two words for one value.
        for option in sorted(self.form.options, key=lambda o: o.parameter != PROFILE):
            asked_parameters = self.asked(option)
            if option.word and option.word in written_words:
                for parameter in asked_parameters:
                    self.leave_out(parameter, f"{option.word} says another parameter")
                continue
            if option.word in asked_words and not asked_parameters:
                continue
            try:
                text = self.word(option)
            except TcError:
                raise
            except (ValueError, TypeError) as e:
                for parameter in asked_parameters or [option.parameter]:
                    self.leave_out(parameter, str(e) if isinstance(e, _NoWordError) else "")
                continue
            if text is not None:
                words += text.split()
                written_words |= {option.word} - {""}
        self.what_is_left()
        remarks = tuple(filter(None, dict.fromkeys((*self.remarks, self.form.differs))))
        return Written(self.kind(), (*words, *behind), remarks, tuple(self.unsaid))

    def asked(self, option: TcWord) -> list[str]:
        """The given parameters that this word sets."""
        return [p for p in (option.parameter, *option.also) if p in self.given]

    def leave_out(self, parameter: str, why: str = "") -> None:
        if parameter and parameter not in self.unsaid:
            self.unsaid.append(parameter)
            self.remarks.append(f"tc cannot say {parameter} = {self.value(parameter)}{why and f' ({why})'}.")

    def kind(self) -> str:
        try:
            counts_bytes = _size(self.value("buffer"))[1] == "bytes"
        except _NoWordError:
            counts_bytes = False
        return self.form.in_bytes if self.form.in_bytes and counts_bytes else self.form.kind

    def word(self, option: TcWord) -> str | None:
        """The word with its value; None if it is not needed."""
        if option.value not in _WRITE:
            raise TcError(
                f"{self.form.discipline}.linux: there is no value {option.value!r}; there are {', '.join(_WRITE)}"
            )
        if not option.parameter:
            if option.value != "rate" or self.path is None:
                return None
            return f"{option.word} {units.rate_text(self.path.rate_bps)}"
        if option.only_with and not _is_true(self.value(option.only_with)):
            return None
        is_asked, value = bool(self.asked(option)), self.value(option.parameter)
        if not is_asked and (self.is_understood(option) or (value is None and not self.can_work_out(option))):
            return None
        if option.also and option.value != "round-trip":
            differing_parameters = [p for p in option.also if self.value(p) != value]
            if differing_parameters and not is_asked:
                return None
            if differing_parameters:
                raise _NoWordError(f"{option.word} also sets {', '.join(differing_parameters)}, and the values differ")
        if value is not None and option.unsaid == "is" and option.default == str(value) == "none":
            return None
        text = _WRITE[option.value](self, option, value)
        if option.most and int(text) > option.most:
            raise _NoWordError(f"at most {option.most} for tc's {option.word}")
        return text if option.value in ("flag", "choice") else f"{option.word} {text}"

    def is_understood(self, option: TcWord) -> bool:
        """Whether Linux has the wanted value without the word."""
        if option.unsaid == "device":
            return True
        if option.unsaid != "is":
            return False
        if self.as_linux:
            return True
        value = self.value(option.parameter)
        if value is None or option.default in ("", "none"):
            return (value is None) == (option.default in ("", "none"))
        if str(value) == option.default:
            return True
        try:
            write = _WRITE[option.value]
            return write(self, option, value) == write(self, option, option.default)
        except _NoWordError:
            return False

    def can_work_out(self, option: TcWord) -> bool:
        """Whether a value that was not given can be computed from the line."""
        return self.path is not None and option.parameter in ("min_threshold", "max_threshold", "mean_packet")

    def what_is_left(self) -> None:
        """Adds remarks on given parameters that have no word, and on values that Linux has in another form."""
        built_in = {b["parameter"]: b for b in self.form.built_in}
        with_word = {p for option in self.form.options for p in (option.parameter, *option.also)}
        for parameter, value in self.given.items():
            is_default = str(value) == str(self.form.defaults.get(parameter))
            if parameter not in {*with_word, *built_in} and not is_default:
                self.leave_out(parameter)
        for parameter, built_in_row in built_in.items():
            value = self.value(parameter)
            if value is not None and str(value).lower() != built_in_row["value"]:
                self.remarks.append(built_in_row["differs"])
                if parameter in self.given:
                    self.unsaid.append(parameter)

    # Values

    def packets(self, option: TcWord, value: Any) -> str:
        amount, unit = _size(value)
        if unit == "bytes":
            raise _NoWordError("it counts packets; give a number of packets")
        return str(UNLIMITED_PACKETS if amount is None else amount)

    def size(self, option: TcWord, value: Any) -> str:
        amount, unit = _size(value)
        return str((UNLIMITED_BYTES if unit == "bytes" else UNLIMITED_PACKETS) if amount is None else amount)

    def bytes_of_packets(self, option: TcWord, value: Any) -> str:
        if value is None:
            counts_bytes = _size(self.value("buffer"))[1] == "bytes"
            return str(round(self.threshold(option.parameter) * (self.mean_packet if counts_bytes else self.packet)))
        amount, unit = _size(value)
        if amount is None:
            return str(UNLIMITED_BYTES)
        return str(amount * self.packet if unit == "packets" else amount)

    @property
    def packet(self) -> int:
        """Bytes of the largest packet."""
        if self.path is not None:
            return self.path.packet_bytes
        return _bytes(self.value("mean_packet") or "1500B")

    @property
    def mean_packet(self) -> int:
        """Bytes of the mean packet of RED."""
        return _bytes(self.value("mean_packet") or self.packet)

    def threshold(self, parameter: str) -> float:
        """The threshold in packets of a RED that computes its thresholds from the line."""
        if self.path is None:
            raise _NoWordError("it follows from the line")
        amount, unit = _size(self.value("buffer"))
        room = math.inf if amount is None else amount / (self.mean_packet if unit == "bytes" else 1)
        target = self.value("delay_target")
        thresholds = law.automatic_thresholds(
            self.path.rate_bps, self.mean_packet, room, None if target is None else _time(target)
        )
        return thresholds[parameter == "max_threshold"]

    def packets_or_threshold(self, option: TcWord, value: Any) -> str:
        return str(round(self.threshold(option.parameter))) if value is None else self.packets(option, value)

    def bytes(self, option: TcWord, value: Any) -> str:
        return str(self.packet if value is None else _bytes(value))

    def time(self, option: TcWord, value: Any) -> str:
        return units.time_text(_time(value))

    def seconds(self, option: TcWord, value: Any) -> str:
        return _whole(_time(value), "whole seconds")

    def rate(self, option: TcWord, value: Any) -> str:
        return units.rate_text(_rate(value))

    def whole(self, option: TcWord, value: Any) -> str:
        return _whole(option.times * float(value), "a whole number" if option.times == 1 else f"1/{option.times}")

    def power_of_two(self, option: TcWord, value: Any) -> str:
        if math.log2(int(value)) % 1:
            raise _NoWordError("a power of two")
        return str(int(value))

    def number(self, option: TcWord, value: Any) -> str:
        return f"{float(value):g}"

    def percent(self, option: TcWord, value: Any) -> str:
        return _whole(100 * float(value), "whole per cent")

    def burst(self, option: TcWord, value: Any) -> str:
        weight, mean = float(value), int(self.bytes(option, self.value("mean_packet")))
        if "weight" not in self.given and self.value("weight_rule") == "rate" and self.path is not None:
            weight = law.weight(Path(self.path.rate_bps, mean, self.path.rtt_s))
        if weight <= 0:
            raise _NoWordError("an average that moves")
        min_option = next(o for o in self.form.options if o.word == "min")
        least = int(_WRITE[min_option.value](self, min_option, self.value(min_option.parameter)))
        packets, exponent = law.burst(least if min_option.value == "packets" else least / mean, weight)
        if abs(2.0**-exponent / weight - 1) > 1e-6:
            self.remarks.append(
                f"Linux's weight is a power of two, which follows from burst: {2.0**-exponent:.4g}, not {weight:.4g}."
            )
        return str(packets)

    def round_trip(self, option: TcWord, value: Any) -> str:
        target, interval_s = (_time(self.value(p)) for p in ("target", "interval"))
        base = law.base_interval(target, interval_s, self.path)
        if base is None:
            raise _NoWordError("Linux's cake takes target and interval from rtt")
        return units.time_text(base)

    def choice(self, option: TcWord, value: Any) -> str:
        words = dict(option.words)
        name = str(value).lower() if option.value == "flag" else str(value)
        if name not in words:
            raise _NoWordError(f"it can say {', '.join(words)}")
        return words[name]


_WRITE: Mapping[str, Callable[[_Writer, TcWord, Any], str]] = {
    "packets": _Writer.packets_or_threshold,
    "size": _Writer.size,
    "bytes": _Writer.bytes,
    "bytes-of-packets": _Writer.bytes_of_packets,
    "time": _Writer.time,
    "seconds": _Writer.seconds,
    "rate": _Writer.rate,
    "whole": _Writer.whole,
    "times": _Writer.whole,
    "power-of-two": _Writer.power_of_two,
    "number": _Writer.number,
    "percent": _Writer.percent,
    "burst": _Writer.burst,
    "round-trip": _Writer.round_trip,
    "flag": _Writer.choice,
    "choice": _Writer.choice,
}


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


def _size(value: Any) -> tuple[int | None, str]:
    amount, unit = _quantity(_core.parse_size, value, "a number of packets or bytes")
    return None if amount is None else int(amount), unit


def _bytes(value: Any) -> int:
    return int(_quantity(_core.parse_bytes, value, "a number of bytes"))


def _time(value: Any) -> float:
    return float(_quantity(_core.parse_time, value, "a time"))


def _rate(value: Any) -> float:
    return float(_quantity(_core.parse_rate, value, "a rate"))


def _quantity(parse: Callable[[str], Any], value: Any, what: str) -> Any:
    try:
        return parse(str(value))
    except ValueError as e:
        raise _NoWordError(what) from e


def _whole(number: float, what: str) -> str:
    if not math.isfinite(number) or abs(number - round(number)) > 1e-6 * max(1.0, abs(number)):
        raise _NoWordError(what)
    return str(round(number))
