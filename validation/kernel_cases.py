"""The drawn cases of kernel_losses.py: what an application writes, and what the path does to each copy of a segment.

A copy is named by its segment's number and by how often that was sent before, so that a case means the same for two
senders whose segments come in another order.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

#: What this bench can ask a kernel for, if it has it.
CONTROLS = ("reno", "cubic", "bbr")
#: No copy beyond these is lost, so that each case ends.
MOST_COPIES = 3
#: The most segments of a case.
MOST_SEGMENTS = 60


class Copy(msgspec.Struct, array_like=True, frozen=True):
    """The `copy`-th time, from 1, that segment `number`, from 1, is sent."""

    number: int
    copy: int


class Late(msgspec.Struct, array_like=True, frozen=True):
    """A copy that arrives so much later."""

    number: int
    copy: int
    by_us: int


class Write(msgspec.Struct, array_like=True, frozen=True):
    """The application writes `segments`, a time after the write before, or after all of that is acknowledged."""

    after_all: bool
    wait_us: int
    segments: int


class Case(msgspec.Struct, frozen=True):
    """A connection and its path. `lost_acks` names an acknowledgement by the copy that made the receiver send it."""

    seed: int
    number: int
    kind: str
    control: str
    sack: bool
    stamps: bool
    delayed: bool
    window: int
    rtt_us: int
    writes: list[Write]
    lost: list[Copy]
    lost_acks: list[Copy]
    late: list[Late]

    @property
    def segments(self) -> int:
        return sum(w.segments for w in self.writes)

    @property
    def options(self) -> str:
        """Such as `cubic sack stamps delayed`."""
        words = {"sack": self.sack, "stamps": self.stamps, "delayed": self.delayed}
        return " ".join([self.control, *(word if on else f"no-{word}" for word, on in words.items())])


class Damage(msgspec.Struct):
    """What becomes of the copies of a case."""

    lost: list[Copy] = []
    lost_acks: list[Copy] = []
    late: list[Late] = []


def copies(segments: int) -> list[Copy]:
    return [Copy(n, c) for n in range(1, segments + 1) for c in range(1, MOST_COPIES + 1)]


def chosen(rng: random.Random, segments: int, share: float) -> list[Copy]:
    return [c for c in copies(segments) if rng.random() < share]


def few(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    count = min(segments, rng.randint(1, 5))
    return Damage([Copy(n, 1) for n in sorted(rng.sample(range(1, segments + 1), count))])


def run(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    """Some in a row."""
    length = min(segments, rng.randint(2, 12))
    first = rng.randint(1, segments - length + 1)
    return Damage([Copy(n, 1) for n in range(first, first + length)])


def tail(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    """The last ones, and of some the probe or the repair too."""
    length = min(segments, rng.randint(1, 5))
    lost = [Copy(n, 1) for n in range(segments - length + 1, segments + 1)]
    if rng.random() < 0.4:
        lost.append(Copy(rng.choice((segments, segments - length + 1)), 2))
    return Damage(lost)


def again(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    """Repairs are lost too."""
    count = min(segments, rng.randint(1, 4))
    numbers = sorted(rng.sample(range(1, segments + 1), count))
    return Damage([Copy(n, c) for n in numbers for c in range(1, rng.choice((2, 3, 3, MOST_COPIES + 1)))])


def light(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    return Damage(chosen(rng, segments, rng.uniform(0.02, 0.06)))


def heavy(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    return Damage(chosen(rng, segments, rng.uniform(0.10, 0.25)))


def acks(rng: random.Random, segments: int, _rtt_us: int) -> Damage:
    lost = chosen(rng, segments, rng.choice((0.0, rng.uniform(0.01, 0.08))))
    return Damage(lost, chosen(rng, segments, rng.uniform(0.05, 0.4)))


def reordered(rng: random.Random, segments: int, rtt_us: int) -> Damage:
    """Some are late by up to 0.8 round trips, and in half of the cases some are lost."""
    most = rng.uniform(0.05, 0.8)
    late = [
        Late(c.number, c.copy, round(rng.uniform(0.02, most) * rtt_us))
        for c in chosen(rng, segments, rng.uniform(0.03, 0.3))
    ]
    return Damage(chosen(rng, segments, rng.choice((0.0, 0.05))), [], late)


def mixed(rng: random.Random, segments: int, rtt_us: int) -> Damage:
    late = reordered(rng, segments, rtt_us).late
    share = rng.uniform(0.02, 0.12)
    return Damage(chosen(rng, segments, share), chosen(rng, segments, rng.uniform(0.0, 0.2)), late)


#: Kinds of damage by their names.
KINDS: dict[str, Callable[[random.Random, int, int], Damage]] = {
    "few": few,
    "run": run,
    "tail": tail,
    "again": again,
    "2-6%": light,
    "10-25%": heavy,
    "acks": acks,
    "reordered": reordered,
    "mixed": mixed,
}


def written(rng: random.Random) -> list[Write]:
    """Everything at once; bursts in a row; or requests on a connection that was kept, after a rest."""
    total = rng.choice((rng.randint(1, 10), rng.randint(5, 30), rng.randint(10, MOST_SEGMENTS)))
    shape = rng.choice(("once", "bursts", "kept"))
    parts = 1 if shape == "once" else min(total, rng.randint(2, 5 if shape == "bursts" else 3))
    cuts = sorted(rng.sample(range(1, total), parts - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    writes = [Write(False, round(rng.uniform(0, 20_000)), sizes[0])]
    for size in sizes[1:]:
        wait = rng.uniform(1, 150) if shape == "bursts" else 10 ** rng.uniform(1.5, 3.4)
        writes.append(Write(shape == "kept", round(1000 * wait), size))
    return writes


def draw(seed: int, number: int, controls: tuple[str, ...], stamps: bool | None) -> Case:
    """Case `number` of a seed; `stamps` decides for all cases whether they have time stamps, None draws it."""
    rng = random.Random(f"{seed} {number}")
    kind = rng.choice(list(KINDS))
    writes = written(rng)
    rtt_us = round(rng.uniform(20_000, 100_000))
    drawn_stamps = rng.random() < 0.5
    damage = KINDS[kind](rng, sum(w.segments for w in writes), rtt_us)
    return Case(
        seed=seed,
        number=number,
        kind=kind,
        control=controls[number % len(controls)],
        sack=rng.random() < 0.75,
        stamps=drawn_stamps if stamps is None else stamps,
        delayed=rng.random() < 0.5,
        window=rng.choice((10, 10, 10, 2, 4, 20)),
        rtt_us=rtt_us,
        writes=writes,
        lost=damage.lost,
        lost_acks=damage.lost_acks,
        late=damage.late,
    )
