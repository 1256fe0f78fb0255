"""Mutated texts of every kind that the readers of `tc` know: a reading or one message, and bounded memory.

`python tests/python/test_linux_mutated.py 5000 SEED` does the same for more of them.
"""

from __future__ import annotations

import sys
import time
import tomllib
import tracemalloc
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tailback.readers import fireqos, sqm, tc, wondershaper
from tailback.readers.given import Given
from tailback.readers.queues import candidates
from tailback.readers.reading import ReadError, Reading

TEXTS = Path(__file__).parents[1].joinpath("reference/tc")
#: What is mutated, beside the pastes and the outputs.
OTHERS = (
    "config queue 'eth1'\n\toption enabled '1'\n\toption interface 'eth1'\n\toption download '85000'\n"
    "\toption upload '10000'\n\toption qdisc 'fq_codel'\n\toption script 'simple.qos'\n\toption linklayer 'atm'\n"
    "\toption overhead '44'\n\toption itarget 'auto'\n\toption iqdisc_opts 'quantum 300'\n",
    "sqm.eth1=queue\nsqm.eth1.interface='wan'\nsqm.eth1.download='9000'\nsqm.eth1.qdisc='cake'\n"
    "sqm.eth1.script='layer_cake.qos'\n",
    "wondershaper -a eth0 -d 8192 -u 1024\n",
    "IFACE=eth0\nDSPEED=2048\nUSPEED=512\n",
    'S="12000kbit"\ninterface eth2 world bidirectional adsl local pppoe-llc input rate $S output rate 800kbit\n'
    "  class voip commit 100kbit pfifo\n    match udp ports 5060\n  class default max 90%\n",
    "cake bandwidth 20mbit docsis ack-filter\n",
)
READERS = (sqm, fireqos, wondershaper, tc)
#: What a mutation puts in.
BITS = (
    "\0", "\x1b[31m", "\ufeff", "\u202e", "$(", "$((", "))", "${", "`", "'", '"', "\\\n", "|", "||", "&&", "#", ";",
    "99999999999999999999", "-1", "1e999", "nan", "%", "0x", ":", "1:", "ffff:", "tc ", "qdisc ", "class ", "htb ",
    "rate ", "bandwidth ", " root", " dev", "parent 1:1 ", "[", "]", "{", "}", "\r", "\t", "\u00a0", "🐢",
)  # fmt: skip
#: No text of a few kilobytes needs more: seconds of a read, and bytes that Python holds meanwhile.
MOST_S, MOST_BYTES = 2.0, 64_000_000


def originals() -> list[str]:
    found = [*OTHERS]
    for name, table in (("pastes.toml", "paste"), ("outputs.toml", "output")):
        found += [one["text"] for one in tomllib.loads((TEXTS / name).read_text())[table]]
    return found


def mutated(rng: Random, text: str) -> str:
    """The text with a few changes of signs, words or lines."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(8):
            case 0:
                text = text[:at] + text[at + rng.randint(1, 20) :]
            case 1:
                text = text[:at] + rng.choice(BITS) + text[at:]
            case 2:
                words = text.split(" ")
                i, j = rng.randrange(len(words)), rng.randrange(len(words))
                words[i], words[j] = words[j], words[i]
                text = " ".join(words)
            case 3:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
            case 4:
                text = text[:at] + text[at : at + 200] * rng.randint(2, 30) + text[at:]
            case 5:
                text = text[:at] + chr(rng.randrange(1, 0x3000)) + text[at + 1 :]
            case 6:
                text = text.replace(rng.choice("0123456789"), rng.choice(("", "0", "99999999999", "-", "e")))
            case _:
                text = text[:at] + rng.choice(BITS) * rng.randint(2, 400) + text[at:]
        text = text[:60_000]
    return text


def outcome(text: str) -> str:
    """The kind of its reading, "message", or "other" for a text that no reader knows. Anything else raises."""
    given = Given("text", text.encode(errors="surrogatepass"))
    reader = next((r for r in READERS if r.recognises(given)), None)
    if reader is None:
        return "other"
    begun = time.monotonic()
    try:
        reading = reader.read(given)
        assert isinstance(reading, Reading)
        reading.as_dict()
        if any(side.queue for side in reading.data.sides):
            candidates(reading)
        if reading.written is not None:
            reading.written.text()
    except ReadError as e:
        assert str(e).strip() and "\n" not in str(e) and len(str(e)) < 4000, str(e)[:500]
        return "message"
    finally:
        assert time.monotonic() - begun < MOST_S, text[:500]
    return reading.kind


def run(many: int, seed: int) -> tuple[Counter[str], int]:
    rng, texts, found = Random(seed), originals(), Counter[str]()
    tracemalloc.start()
    for i in range(many):
        text = mutated(rng, texts[i % len(texts)])
        try:
            found[outcome(text)] += 1
        except BaseException:
            print(repr(text[:3000]))
            raise
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


def test_a_few_mutated_texts() -> None:
    assert sum(run(40, 2)[0].values()) == 40


@pytest.mark.slow
def test_a_mutated_text_is_read_or_refused_in_a_sentence() -> None:
    found, peak = run(500, 1)
    assert sum(found.values()) == 500 and found["message"] > 20 and found["tc"] > 25 and found["tc-show"] > 20
    assert peak < MOST_BYTES


if __name__ == "__main__":
    kinds, most = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{sum(kinds.values())} texts: {dict(kinds)}; at most {most / 1e6:.1f} MB")
