"""Writes sent segments in the form of a script, and compares them with the expected ones.

A host with segmentation offload sends larger segments than those on a wire. An expected segment is therefore compared
with a row of segments that carry the same bytes: flags, acknowledgement and options with the first of them, PSH and FIN
with the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tailback.apps.conformance.packetdrill.script import Packet

#: The order in which a script writes flags; PSH stands for itself.
_LETTERS = "SFREWAP."


@dataclass(frozen=True)
class SentPacket:
    """A segment that a subject has sent. Numbers are relative to the first of their direction, as in a script."""

    at_ns: int
    flags: str
    seq: int
    payload: int
    ack: int | None
    ecn: str
    #: The window in the header; None from a subject without windows.
    window: int | None = None
    stamps: tuple[int, int] | None = None
    sack: tuple[tuple[int, int], ...] = ()
    mss: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    #: The option of accurate ECN: its fields by name, in its order.
    counts: tuple[tuple[str, int], ...] | None = None

    @property
    def end(self) -> int:
        return self.seq + self.payload


@dataclass(frozen=True)
class Compares:
    """The fields that a subject has and that can be compared."""

    push: bool = False
    window: bool = False
    #: The options of a SYN.
    syn_options: bool = False
    #: The window scale of this host, which is one of the options of a SYN.
    scale: bool = False


def flags_of(flags: Iterable[str], push: bool) -> str:
    """Flags in the order of a script; `-` for no flags."""
    letters = [c for c in _LETTERS if c in flags and (push or c != "P")]
    return "".join(letters) or "-"


def shown(first: SentPacket, payload: int, flags: str, push: bool) -> str:
    """A segment, or several in a row as one, in the words of a script."""
    ack = f" ack {first.ack}" if first.ack is not None else ""
    ecn = f"[{first.ecn}] " if first.ecn in ("ect0", "ect1", "ce") else ""
    words = [" ".join(["sack", *(f"{a}:{b}" for a, b in first.sack)])] if first.sack else []
    if first.counts is not None:
        words.append(" ".join(["ECN", *(f"{name} {value}" for name, value in first.counts)]))
    options = f" <{','.join(words)}>" if words else ""
    text = f"{ecn}{flags_of(flags, push)} {first.seq}:{first.seq + payload}({payload}){ack}{options}"
    return text


def runs(sent: Sequence[SentPacket], push: bool) -> list[tuple[str, int]]:
    """The sent segments in the words of a script, with their times; consecutive segments count as one."""
    in_a_row: list[list[SentPacket]] = []
    for segment in sent:
        last_packet = in_a_row[-1][-1] if in_a_row else None
        row = (
            last_packet
            and last_packet.payload
            and segment.payload
            and segment.seq == last_packet.end
            and segment.at_ns - last_packet.at_ns < 1_000_000
        )
        if row and segment.ack == last_packet.ack and segment.ecn == last_packet.ecn:  # type: ignore[union-attr]
            in_a_row[-1].append(segment)
        else:
            in_a_row.append([segment])
    rows = []
    for row_of in in_a_row:
        payload = sum(segment.payload for segment in row_of)
        flags = row_of[0].flags + (row_of[-1].flags if len(row_of) > 1 else "")
        rows.append((shown(row_of[0], payload, flags, push), row_of[0].at_ns))
    return rows


def difference(want: Packet, pieces: Sequence[SentPacket], compares: Compares) -> str:
    """The difference between one expected segment and the sent segments with the same bytes; empty if they are
    equal."""
    first_piece, last_piece = pieces[0], pieces[-1]
    flags_sent = set(first_piece.flags) - {"P", "F"} | set(last_piece.flags) & {"P", "F"}
    wanted_flags = set(want.flags)
    if not compares.push:
        flags_sent, wanted_flags = flags_sent - {"P"}, wanted_flags - {"P"}
    if flags_sent != wanted_flags:
        extra_flags, missing_flags = (
            flags_of(flags_sent - wanted_flags, True),
            flags_of(wanted_flags - flags_sent, True),
        )
        return ", ".join(
            [f"it has {extra_flags} in addition"] * (flags_sent > wanted_flags or extra_flags != "-")
            + [f"{missing_flags} is missing"] * (missing_flags != "-")
        )
    if want.ack is not None and want.ack != first_piece.ack:
        return f"it acknowledges {first_piece.ack}"
    if want.ecn and want.ecn != first_piece.ecn and not (want.ecn == "ect01" and first_piece.ecn in ("ect0", "ect1")):
        return f"its ECN field is {first_piece.ecn}"
    if compares.window and want.window is not None and want.window != first_piece.window:
        return f"its window is {first_piece.window}"
    return "" if want.any_options else _options(want, first_piece, compares)


def _options(want: Packet, first: SentPacket, compares: Compares) -> str:
    if want.has("S") and not compares.syn_options:
        return ""
    if (want.stamps is None) != (first.stamps is None):
        return "it has a time stamp" if first.stamps else "it has no time stamp"
    if want.has("S"):
        for name, wanted_option, sent_option in (
            ("mss", want.mss, first.mss),
            ("wscale", want.scale, first.scale),
            ("sackOK", want.sack_permitted, first.sack_permitted),
        ):
            if wanted_option != sent_option and (
                name != "wscale" or compares.scale or wanted_option is None or sent_option is None
            ):
                return f"its {name} is {sent_option}"
        return ""
    if tuple(tuple(b) for b in want.sack) != first.sack:
        blocks = " ".join(f"{a}:{b}" for a, b in first.sack)
        return f"it reports {blocks or 'nothing'}"
    wanted_counts = None if want.counts is None else tuple((name, value) for name, value in want.counts)
    if wanted_counts != first.counts:
        counts_text = ", ".join(f"{name} {value}" for name, value in first.counts or ())
        return (
            f"its option of accurate ECN says {counts_text or 'nothing'}"
            if first.counts is not None
            else ("it has no option of accurate ECN")
        )
    return ""
