"""The memory to map flows to queues by a table of all flows or by Bloom-filter groups, and the error rate of a filter.

    ptr(x) = ceil(log2(x) / 8)                        bytes that hold a number below x
    a queue a flow     n (13 + 2 ptr(n))              13 = five-tuple; two links of a hash chain
    groups             G ceil((m + c) / 8) + 2 K ptr(K)
    complete           + G ptr(K) + 2 G               queue and packet count of each group, which balancing needs
    missed flows       0.6185^(m/e), e flows in a group, with the best number of hash functions
    m for a rate r     ceil(e ln(1/r) / (ln 2)^2)     9.585 bits a flow at 1 %
    c                  max(1, ceil(log2(3 e + 1)))

Source: A. Kantawala and J. S. Turner, WUCSE-2005-11, chapter 5. The total of this source leaves out the terms that
"complete" adds.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

#: Source and destination address, two ports, protocol.
FIVE_TUPLE = 4 + 4 + 2 + 2 + 1


def pointer_bytes(x: int) -> int:
    """Bytes that hold a number below x."""
    return math.ceil(math.log2(x) / 8) if x > 1 else 0


def filter_bits(flows: float, rate: float = 0.01) -> int:
    """Bits of a filter of so many flows that misses at most this share of flows."""
    return max(1, math.ceil(flows * math.log(1 / rate) / math.log(2) ** 2))


def counter_bits(flows: float) -> int:
    """Bits of a counter that counts to three times so many flows."""
    return max(1, math.ceil(math.log2(3 * flows + 1)))


def missed(bits_per_flow: float) -> float:
    """The share of flows that a filter misses, with the best number of hash functions."""
    return float(0.6185**bits_per_flow)


@dataclass(frozen=True)
class MapMemory:
    """Bytes to map `flows` to `queues` through `groups`, and bytes to map each flow to its own queue."""

    flows: int
    groups: int
    queues: int
    #: bits of a group's filter and counter
    filter_bits: int
    counter_bits: int
    per_flow_bytes: int
    groups_bytes: int
    queues_bytes: int
    #: the queue of each group, and its count of stored packets
    table_bytes: int

    @property
    def published_bytes(self) -> int:
        return self.groups_bytes + self.queues_bytes

    @property
    def complete_bytes(self) -> int:
        return self.published_bytes + self.table_bytes

    def as_dict(self) -> dict[str, int | float]:
        totals = {k: getattr(self, k) for k in ("published_bytes", "complete_bytes")}
        ratios = {k.replace("bytes", "ratio"): self.per_flow_bytes / v for k, v in totals.items()}
        return asdict(self) | totals | ratios


def memory(flows: int, groups: int, queues: int, bits: int | None = None, counter: int | None = None) -> MapMemory:
    """The result of the formulas above. Unless given, the filter is for 1 %, and the counter for three times the mean
    flows of a group."""
    for name, n in (("flows", flows), ("groups", groups), ("queues", queues)):
        if n < 1:
            raise ValueError(f"there are {n} {name}; give at least 1")
    e = flows / groups
    m, c = bits or filter_bits(e), counter or counter_bits(e)
    return MapMemory(
        flows=flows,
        groups=groups,
        queues=queues,
        filter_bits=m,
        counter_bits=c,
        per_flow_bytes=flows * (FIVE_TUPLE + 2 * pointer_bytes(flows)),
        groups_bytes=groups * math.ceil((m + c) / 8),
        queues_bytes=queues * 2 * pointer_bytes(queues),
        table_bytes=groups * (pointer_bytes(queues) + 2),
    )
