"""Reads captures (pcap and pcapng) as traffic: sizes and times of the packets of a flow.

Formats: draft-ietf-opsawg-pcap (microseconds and nanoseconds, both byte orders) and draft-ietf-opsawg-pcapng. Links:
Ethernet with VLAN tags, raw IP, both Linux cooked captures, BSD's loopback. A reading has no addresses and no contents;
hosts become numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailback.readers.captures.packets import frames
from tailback.readers.captures.parsed import Packet, packet
from tailback.readers.given import Given
from tailback.readers.measured.measurement import amount
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written

KIND = "capture"
_MOST_LISTED = 20
#: The most packets that a scenario lists; a longer list would take too much memory.
_MOST_WRITTEN = 200_000
#: For the line of a written scenario: the time that its buffer holds, its smallest buffer, and the shortest duration of
#: a flow.
_BUFFER_S, _LEAST_BUFFER_BYTES, _SHORTEST_S = 0.1, 65_535, 1e-3
#: The largest write in bytes; a larger one is cut.
_MOST_WRITE = 65_535


@dataclass
class Flow:
    """The packets of one direction between two ports: times in nanoseconds since the first packet of the capture, and
    bytes of the IP packets. TCP also has the new bytes of payload, and the packets that end a write (PSH)."""

    protocol: str
    source: int
    destination: int
    times_ns: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    payload: list[int] = field(default_factory=list)
    pushed: list[bool] = field(default_factory=list)
    #: The next new byte of TCP; a byte before it was sent again.
    next: int | None = None
    again: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.sizes)

    def add(self, at_ns: int, found: Packet) -> None:
        self.times_ns.append(at_ns)
        self.sizes.append(found.length)
        self.payload.append(self._new(found))
        self.pushed.append(found.push)

    def _new(self, found: Packet) -> int:
        if found.sequence is None:
            return found.payload
        begin = found.sequence + found.syn
        if self.next is None:
            self.next = begin
        # Sequence numbers wrap at 2^32.
        bytes_beyond = (begin + found.payload - self.next) % (1 << 32)
        if found.payload == 0 or bytes_beyond >= 1 << 31 or bytes_beyond == 0:
            self.again += found.payload > 0
            return 0
        self.next = (self.next + bytes_beyond) % (1 << 32)
        self.again += bytes_beyond < found.payload
        return min(bytes_beyond, found.payload)

    def writes(self) -> tuple[list[int], list[int]]:
        """Times and bytes of the application's writes. A write is the segments up to one with PSH, at the time of its
        first segment."""
        times, sizes, open_bytes = [], [], 0
        for at, new_bytes, push in zip(self.times_ns, self.payload, self.pushed, strict=True):
            if new_bytes and not open_bytes:
                times.append(at)
                sizes.append(0)
            if new_bytes:
                open_bytes += new_bytes
                sizes[-1] = open_bytes
            if push:
                open_bytes = 0
        return times, sizes


@dataclass(frozen=True)
class Capture:
    """The flows, the largest first, and the chosen flow."""

    flows: tuple[Flow, ...]
    chosen: Flow
    number: int


def recognises(given: Given) -> bool:
    return given.is_capture


def read(given: Given) -> Reading:
    notes = Notes()
    flows, count, length = _flows(given, notes)
    if not flows:
        raise ReadError("the capture has no TCP or UDP packets", "capture IP packets of a flow", name=given.name)
    flows_by_size = sorted(flows, key=lambda f: -f.bytes)
    wished_flow = given.wishes.flow
    if wished_flow > len(flows_by_size):
        raise ReadError(f"there is no flow {wished_flow}", f"--flow takes 1 to {len(flows_by_size)}", name=given.name)
    notes.say("packets", f"{count}, in {amount(length / 1e9, 's')}")
    for i, f in enumerate(flows_by_size[:_MOST_LISTED], 1):
        notes.say(
            f"flow {i}",
            f"{f.protocol}, host {f.source} to host {f.destination}: "
            f"{len(f.sizes)} packets, {amount(float(f.bytes), 'bytes')}",
        )
    if len(flows_by_size) > _MOST_LISTED:
        notes.leave(
            f"{len(flows_by_size) - _MOST_LISTED} smaller flows", "the list is cut; --flow takes their numbers too"
        )
    chosen_flow = flows_by_size[(wished_flow or 1) - 1]
    notes.say(
        "chosen",
        f"flow {wished_flow or 1}" + ("" if wished_flow else ", assumed: the largest flow; --flow names another"),
    )
    if chosen_flow.again:
        notes.say("sent again", f"{chosen_flow.again} segments of the flow, wholly or in part")
    times, sizes = chosen_flow.writes() if given.wishes.writes else (chosen_flow.times_ns, chosen_flow.sizes)
    if not times:
        raise ReadError("this flow carries no data", "name another flow with --flow", name=given.name)
    notes.say(
        "replayed as",
        f"{len(times)} writes of an application, {amount(float(sum(sizes)), 'bytes')}"
        if given.wishes.writes
        else f"{len(times)} datagrams, {sum(sizes)} B of IP packets; --writes takes the data",
    )
    notes.leave("addresses, ports and contents", "they are not kept")
    if len(times) > _MOST_WRITTEN:
        notes.leave("the written form", f"the flow has more than {_MOST_WRITTEN:,} packets: cut the capture")
    writes = given.wishes.writes
    scenario_file = Written("a scenario that replays this flow", lambda: scenario(times, sizes, writes))
    steps = (
        Next("tailback read FILE --write replay.toml", "write a scenario that replays this flow (--flow N: another)"),
        Next("tailback run replay.toml", "run it"),
    )
    capture = Capture(tuple(flows_by_size), chosen_flow, wished_flow or 1)
    return Reading(
        KIND,
        f"a capture of {count} packets, {len(flows_by_size)} flows",
        tuple(notes.understood),
        notes.left,
        steps,
        capture,
        scenario_file if len(times) <= _MOST_WRITTEN else None,
    )


def _flows(given: Given, notes: Notes) -> tuple[list[Flow], int, int]:
    """The flows, the number of all packets, and the length of the capture in nanoseconds."""
    flows: dict[tuple[bytes, bytes, int, bytes], Flow] = {}
    hosts: dict[bytes, int] = {}
    first_ns, last_ns, count = None, 0, 0
    for frame in frames(given, notes):
        count += 1
        first_ns = frame.at_ns if first_ns is None else first_ns
        last_ns = max(last_ns, frame.at_ns)
        parsed_frame = packet(frame)
        if isinstance(parsed_frame, str):
            notes.leave(parsed_frame, "only first fragments and whole packets of TCP and UDP are replayed", 0)
            continue
        if frame.at_ns < first_ns:
            raise ReadError(
                f"packet {count} is earlier than the first one", "sort the capture: reordercap", name=given.name
            )
        key = (parsed_frame.source, parsed_frame.destination, parsed_frame.protocol, parsed_frame.ports)
        flow = flows.get(key)
        if flow is None:
            source = hosts.setdefault(parsed_frame.source, len(hosts) + 1)
            destination = hosts.setdefault(parsed_frame.destination, len(hosts) + 1)
            flow = flows[key] = Flow("TCP" if parsed_frame.protocol == 6 else "UDP", source, destination)
        if flow.times_ns and frame.at_ns - first_ns < flow.times_ns[-1]:
            raise ReadError(
                f"packet {count} is earlier than the one before it", "sort the capture: reordercap", name=given.name
            )
        flow.add(frame.at_ns - first_ns, parsed_frame)
    return list(flows.values()), count, last_ns - (first_ns or 0)


def scenario(times: list[int], sizes: list[int], writes: bool) -> str:
    """A scenario that sends the packets as datagrams, or the writes over TCP. The line of the scenario is assumed,
    since the capture does not give one."""
    times_ns, bytes_ = [], []
    for t, size in zip(times, sizes, strict=True):
        while size > 0:
            times_ns.append(t - times[0])
            bytes_.append(min(size, _MOST_WRITE))
            size -= _MOST_WRITE
    length = times_ns[-1] / 1e9 + 1
    rate = max(1e6, 2 * 8 * sum(bytes_) / max(times_ns[-1] / 1e9, _SHORTEST_S))
    buffer = max(_LEAST_BUFFER_BYTES, rate * _BUFFER_S / 8)
    toml_lines = [
        "# A flow of a capture. assumed: the line, which a capture does not give; it is twice as fast as the flow on "
        "average.",
        f'duration = "{length:.6f}s"',
        "",
        "[link.bottleneck]",
        'from = "left"',
        'to = "right"',
        f'rate = "{rate:.0f}bps"',
        'delay = "10ms"',
        f'queue = {{ kind = "droptail", buffer = "{buffer:.0f}B" }}',
        "",
        "[flows.replayed]",
        'transport = "tcp"' if writes else 'transport = "udp"',
        f'traffic = {{ kind = "instants", at = [{", ".join(_chunks(times_ns, "ns"))}] }}',
        f'sizes = {{ kind = "listed", bytes = [{", ".join(_chunks(bytes_, "B"))}] }}',
        "",
    ]
    return "\n".join(toml_lines)


def _chunks(values: list[int], unit: str) -> list[str]:
    return [f'"{v}{unit}"' for v in values]
