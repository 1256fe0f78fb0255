"""A fabric beside another simulator: slowdowns by size of the same list of flows.

The other program is run by the reader, and prints a line for each flow: `source destination bytes start finish`, hosts
by number and times in seconds, the finish being when the last byte is at the receiver, or below 0 of a flow that was
not done. Ours is a folder of results of a fat-tree of `k` whose workload has `list = ...` with the same flows. Times
are divided by the ideal: delays, and all packets back to back, stored and forwarded by each link of the path. The other
program is taken to send whole packets, so the last packet of its ideal is whole; ours is as short as it is. Several
pairs are taken together, and single pairs are further apart. Quantiles are over flows that were done.

    python validation/fabric_beside.py --k 4 --rate 10Gbps --delay 1us OTHER FOLDER [OTHER FOLDER ...]

How near they are: docs/fabric.md, "Beside htsim".
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tailback import _core
from tailback.core.results.stored import read_results

#: Payload of a packet, and what it has beside.
PAYLOAD, HEADERS = 1460, 40
#: Classes of sizes, bytes.
CLASSES = ((0, 1e4), (1e4, 1e5), (1e5, 1e6), (1e6, 1e7), (1e7, np.inf))
#: Quantiles, and how near they are to be.
QUANTILES, NEAR = (0.5, 0.99), 0.15


def hops(k: int, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Links between two hosts of a fat-tree: at one edge, in one pod, apart."""
    half = k // 2
    edge, pod = source // half == destination // half, source // half**2 == destination // half**2
    return np.where(edge, 2, np.where(pod, 4, 6))


def ideal(wire: np.ndarray, links: np.ndarray, rate: float, delay: float) -> np.ndarray:
    """Seconds for so many bytes over links of one rate."""
    first = np.minimum(wire, PAYLOAD + HEADERS)
    return links * delay + 8 * (wire + (links - 1) * first) / rate


def pair(other: Path, folder: Path, k: int, rate: float, delay: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes, slowdowns of the other program, and ours; NaN of flows that were not done."""
    source, destination, size, start, finish = np.loadtxt(other, unpack=True)
    transfers = read_results(folder).transfers
    order = np.argsort(np.asarray(transfers["asked_s"]), kind="stable")
    theirs = np.argsort(start, kind="stable")
    if not np.array_equal(np.asarray(transfers["bytes"], float)[order], size[theirs]):
        raise SystemExit(f"{folder} has other flows than {other}")
    links = hops(k, source.astype(int), destination.astype(int))[theirs]
    packets = np.ceil(size[theirs] / PAYLOAD)
    took = (finish - start)[theirs]
    took[finish[theirs] < 0] = np.nan
    whole = packets * (PAYLOAD + HEADERS)
    ours = np.asarray(transfers["completion_s"], float)[order] / ideal(
        size[theirs] + packets * HEADERS, links, rate, delay
    )
    return size[theirs], took / ideal(whole, links, rate, delay), ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--rate", required=True)
    parser.add_argument("--delay", required=True)
    parser.add_argument("pairs", nargs="+", type=Path, metavar="OTHER FOLDER")
    a = parser.parse_args()
    if len(a.pairs) % 2:
        parser.error("give pairs: what the other program printed, and a folder of results")
    rate, delay = _core.parse_rate(a.rate), _core.parse_time(a.delay)
    made = [pair(a.pairs[i], a.pairs[i + 1], a.k, rate, delay) for i in range(0, len(a.pairs), 2)]
    size, theirs, ours = (np.concatenate(part) for part in zip(*made, strict=True))
    print(f"{'bytes':>14} {'flows':>7}  quantile   other    ours  ours/other")
    far = 0
    for low, high in CLASSES:
        mine = (size > low) & (size <= high)
        for q in QUANTILES:
            one, other = np.nanquantile(theirs[mine], q), np.nanquantile(ours[mine], q)
            near = abs(other / one - 1) <= NEAR
            far += not near
            name = f"to {high:g}" if high < np.inf else f"over {low:g}"
            print(
                f"{name:>14} {mine.sum():7}  {q:8g} {one:8.2f} {other:7.2f} {other / one:8.2f}{'' if near else '  far'}"
            )
    print(f"not done: other {np.isnan(theirs).sum()}, ours {np.isnan(ours).sum()}")
    print(f"{far} of {len(CLASSES) * len(QUANTILES)} are further apart than {NEAR:.0%}")


if __name__ == "__main__":
    main()
