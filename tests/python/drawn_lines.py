"""For tests of `tc`: drawn settings of every kind, and the line that says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tailback.linux import law, write
from tailback.linux.forms import Form, TcWord, forms
from tailback.linux.law import Path

PATH = Path(20e6, 1500, 0.03)
#: Forms whose words are all in this machine's `tc`: those within cake share their words with it.
ROWS: Mapping[str, Form] = {
    f.discipline: f for f in forms() if not (f.shapes and f.always) and f.first[:4] not in ("6.17", "6.18")
}
#: Choices of one word are one value.
_SAME = {"destination": "source"}


@dataclass(frozen=True)
class Drawn:
    """A command of `tc` on the device lo, and what was drawn for it, by the names that a reader gives."""

    command: str
    #: Of a row: the discipline. Otherwise empty.
    discipline: str
    settings: dict[str, Any]


def _of_row(rng: Random, option: TcWord) -> Any:
    match option.value:
        case "flag":
            return rng.random() < 0.5
        case "choice":
            one = rng.choice([v for v, _ in option.words])
            return _SAME.get(one, one)
        case "packets" | "bytes-of-packets":
            return f"{rng.randint(2, 60_000)} packets"
        case "size":
            return rng.choice([f"{rng.randint(2, 60_000)} packets", f"{rng.randint(1, 2_000_000)}B"])
        case "bytes":
            return f"{rng.randint(0, option.most) if option.most == 256 else rng.randint(1, 2_000_000)}B"
        case "time":
            return law.seconds(rng.randint(1, 10_000_000) * 1e-6)
        case "seconds":
            return f"{rng.randint(1, 10_000)}s"
        case "rate":
            return f"{rng.randint(10_000, 10**10)}bps"
        case "times":
            return rng.randint(1, 32) / 16
        case "power-of-two":
            return 2 ** rng.randint(1, 15)
        case "number":
            return rng.randint(10, 999) / 1000
        case "percent":
            # tc takes neither nothing nor all.
            return rng.randint(1, 99) / 100
    return rng.randint(1, 60_000)


def row(rng: Random, there: Form) -> Drawn:
    """Some of the parameters that `tc` has words for."""
    made: dict[str, Any] = {}
    words: set[str] = set()
    for option in there.options:
        skip = not option.parameter or option.value in ("burst", "round-trip") or (option.word or "-") in words
        words.add(option.word)
        if not skip and (option.unsaid == "needed" or rng.random() < 0.5):
            made |= dict.fromkeys((option.parameter, *option.also), _of_row(rng, option))
    if "min_threshold" in made:
        low = rng.randint(2, 5000)
        made["buffer"] = f"{rng.randint(3 * low, 100_000)} packets"
        made |= {"min_threshold": f"{low} packets", "max_threshold": f"{3 * low} packets", "mean_packet": "1500B"}
        made["weight"] = 2.0 ** -law.burst(low, 2.0 ** -rng.randint(1, 20))[1]
    written = write(there, made, PATH, ecn=made.get("ecn", False))
    return Drawn(f"qdisc replace dev lo root {written.text}", there.discipline, made)


def _rate(rng: Random) -> tuple[str, float]:
    """A rate in one of the units, and its bits a second, a multiple of a byte."""
    unit, bits = rng.choice([("kbit", 1e3), ("mbit", 1e6), ("Mbit", 1e6), ("kbps", 8e3), ("mbps", 8e6), ("bps", 8.0)])
    number = rng.randint(1, 900) * (1000 if unit == "bps" else 1)
    return f"{number}{unit}", number * bits


def _size(rng: Random) -> tuple[str, int]:
    unit, factor = rng.choice([("", 1), ("b", 1), ("k", 1024), ("kb", 1024)])
    number = rng.randint(2000, 90_000) if factor == 1 else rng.randint(2, 90)
    return f"{number}{unit}", number * factor


def _line(rng: Random) -> tuple[list[str], dict[str, Any]]:
    """Headers of a line."""
    words: list[str] = []
    made: dict[str, Any] = {}
    if rng.random() < 0.5:
        made["overhead"], made["mpu"] = rng.randint(0, 60), rng.randint(0, 96)
        layer = rng.choice(["ethernet", "atm", "adsl"])
        made["linklayer"] = "ethernet" if layer == "ethernet" else "atm"
        words = ["overhead", str(made["overhead"]), "mpu", str(made["mpu"]), "linklayer", layer]
    return words, made


def tbf(rng: Random) -> Drawn:
    (rate, bits), (burst, size) = _rate(rng), _size(rng)
    words, made = _line(rng)
    said = ["rate", rate, rng.choice(["burst", "buffer", "maxburst"]), burst]
    made |= {"rate": bits, "burst": size}
    if rng.random() < 0.5:
        limit, made["limit"] = _size(rng)
        said += ["limit", limit]
    else:
        ms = rng.randint(1, 900)
        said += ["latency", f"{ms}ms"]
        made["latency"] = ms * 1e-3
    return Drawn(f"qdisc replace dev lo root handle 1: tbf {' '.join([*said, *words])}", "", made)


def htb(rng: Random) -> Drawn:
    default = rng.randint(1, 0xFFFF)
    made: dict[str, Any] = {"default": default}
    more = []
    if rng.random() < 0.5:
        made["r2q"] = rng.randint(1, 50)
        more = ["r2q", str(made["r2q"])]
    return Drawn(f"qdisc replace dev lo root handle 1: htb default {default:x} {' '.join(more)}".rstrip(), "", made)


def htb_class(rng: Random) -> Drawn:
    rate, bits = _rate(rng)
    words, made = _line(rng)
    said = ["rate", rate]
    made["rate"] = bits
    if rng.random() < 0.5:
        ceil, made["ceil"] = _rate(rng)
        said += ["ceil", ceil]
    for name in ("burst", "cburst"):
        if rng.random() < 0.5:
            size, made[name] = _size(rng)
            said += [name, size]
    if rng.random() < 0.5:
        made["prio"] = rng.randint(0, 7)
        said += ["prio", str(made["prio"])]
    if rng.random() < 0.5:
        made["quantum"] = rng.randint(1500, 60_000)
        said += ["quantum", str(made["quantum"])]
    rng.shuffle(words_of := [said[i : i + 2] for i in range(0, len(said), 2)])
    flat = [w for pair in words_of for w in pair]
    return Drawn(
        f"class replace dev lo parent 1: classid 1:{rng.randint(1, 0xFFFF):x} htb {' '.join([*flat, *words])}", "", made
    )


def prio(rng: Random) -> Drawn:
    bands = rng.randint(3, 8)
    made: dict[str, Any] = {"bands": bands}
    words = ["bands", str(bands)]
    if rng.random() < 0.5:
        made["priomap"] = [rng.randint(0, bands - 1) for _ in range(16)]
        words += ["priomap", *map(str, made["priomap"])]
    return Drawn(f"qdisc replace dev lo root handle 1: prio {' '.join(words)}", "", made)


def stab(rng: Random) -> Drawn:
    made = {"overhead": str(rng.randint(-10, 60)), "mpu": str(rng.randint(0, 96)), "mtu": "2047", "tsize": "128"}
    made["linklayer"] = rng.choice(["ethernet", "atm", "adsl"])
    words = [w for pair in made.items() for w in pair]
    default = rng.randint(1, 99)
    return Drawn(
        f"qdisc replace dev lo root handle 1: stab {' '.join(words)} htb default {default:x}", "", {"default": default}
    )


def _percent(rng: Random) -> tuple[str, float]:
    share = rng.randint(1, 9999) / 100
    return rng.choice([f"{share:g}%", f"{share:g}"]), share / 100


def netem(rng: Random) -> Drawn:
    words: list[str] = []
    made: dict[str, Any] = {}

    def share(name: str) -> None:
        nonlocal words
        text, made[name] = _percent(rng)
        words += [name, text]
        if rng.random() < 0.3:
            text, made[f"{name}_correlation"] = _percent(rng)
            words.append(text)

    us = rng.randint(1, 2_000_000)
    words += [rng.choice(["delay", "latency"]), f"{us}us" if us % 1000 else f"{us // 1000}ms"]
    made["delay_s"] = us * 1e-6
    if rng.random() < 0.5:
        us = rng.randint(1, 50_000)
        words.append(str(us))
        made["jitter_s"] = us * 1e-6
    if rng.random() < 0.4:
        share("loss")
    elif rng.random() < 0.5:
        four = [_percent(rng) for _ in range(4)]
        words += ["loss", "gemodel", *[text for text, _ in four]]
        made["gemodel"] = tuple(value for _, value in four)
    for name in ("duplicate", "corrupt", "reorder"):
        if rng.random() < 0.3:
            share(name)
    if rng.random() < 0.5:
        made["limit"] = rng.randint(1, 100_000)
        words += ["limit", str(made["limit"])]
    if rng.random() < 0.5:
        text, made["rate_bps"] = _rate(rng)
        words += ["rate", text]
    return Drawn(f"qdisc replace dev lo root netem {' '.join(words)}", "", made)


KINDS: tuple[Callable[[Random], Drawn], ...] = (
    tbf, htb, htb_class, prio, stab, netem, *[lambda rng, f=f: row(rng, f) for f in ROWS.values()],
)  # fmt: skip


def draw(seed: int, many: int) -> list[Drawn]:
    """So many lines, of the kinds in turn."""
    rng = Random(seed)
    return [KINDS[i % len(KINDS)](rng) for i in range(many)]
