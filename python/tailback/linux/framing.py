"""What a packet takes on a home line: a row for each kind of line, in the words of `cake`, `htb`, SQM and a scenario.

A line adds headers to an IP packet (`overhead`), has a smallest packet (`mpu`), and may cut packets into cells or
codes. A shaper that does not count them lets small packets fill the modem's buffer.

* `plain`: the packet and its headers, at least `mpu`.
* `atm`: cells of 53 B that carry 48, the last one padded (ITU-T I.361; AAL5 in ITU-T I.363.5).
* `ptm`: one more byte for each 64 begun (64/65 octets, IEEE 802.3 section 61.3, ITU-T G.992.3 annex N and G.993.2).
  As `cake` counts it: tc-cake(8).

`overhead` counts from the IP packet, as `cake` does. `htb` and tables of sizes (`stab`) count from the packet as the
device has it, with its Ethernet header (tc-stab(8)), so that they get `overhead` less that header.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

#: Bytes of the Ethernet header: two addresses and a type. A device for PPP has no header at this place.
ETHERNET_HEADER = 14
#: PPPoE takes 6 B and PPP's protocol 2 (RFC 2516 sections 4 and 7).
PPPOE = 8
#: A tag of IEEE 802.1Q.
VLAN = 4


class FramingError(ValueError):
    """A line that is not known; the message names the option, its value, and what to write instead."""


@dataclass(frozen=True)
class Framing:
    """What a packet takes on a line."""

    link: str
    title: str
    #: Bytes that an IP packet gains.
    overhead: int
    #: Bytes of the smallest packet on the line, `overhead` included; 0 where there is none.
    mpu: int
    #: "plain", "atm" or "ptm".
    cells: str
    #: What `cake` is told.
    cake: str
    #: Where the numbers are from.
    source: str
    pppoe: bool = False
    vlan: bool = False

    def on_wire(self, ip_bytes: int) -> int:
        """Bytes of the line's rate that an IP packet takes."""
        length = max(ip_bytes + self.overhead, self.mpu)
        if self.cells == "atm":
            return 53 * -(-length // 48)
        if self.cells == "ptm":
            return length + -(-length // 64)
        return length

    def share_of_ip(self, ip_bytes: int = 1500) -> float:
        """The part of the line's rate that is left for IP packets of this size."""
        return ip_bytes / self.on_wire(ip_bytes)

    @property
    def device_header(self) -> int:
        """Bytes of a packet's header that the device on which a shaper is put counts by itself: 14 on Ethernet, nothing
        on a device for PPP, which is where a shaper belongs with PPPoE."""
        return 0 if self.pppoe else ETHERNET_HEADER

    @property
    def device_overhead(self) -> int:
        """`overhead` for `htb` and for tables of sizes, which count from the packet as the device has it."""
        return self.overhead - self.device_header

    @property
    def linklayer(self) -> str:
        """The link layer of `htb`, of tables of sizes and of SQM, which know cells and nothing of `ptm`."""
        return "atm" if self.cells == "atm" else "ethernet"

    @property
    def rate_factor(self) -> float:
        """What is left of a rate where the shaper does not know the line's code: 64 of 65 bytes under `ptm`."""
        return 64 / 65 if self.cells == "ptm" else 1.0

    def shaped(self, ip_bytes: int) -> int:
        """Bytes that an IP packet takes of a rate that `rate_factor` has lowered."""
        return max(ip_bytes + self.overhead, self.mpu) if self.cells == "ptm" else self.on_wire(ip_bytes)

    @property
    def htb(self) -> str:
        """What a class of `htb` is told."""
        mpu = f" mpu {self.mpu}" if self.mpu else ""
        return f"overhead {self.device_overhead}{mpu} linklayer {self.linklayer}"

    def simulated(self) -> dict[str, str]:
        """As a scenario takes it, for a link and for `cake`."""
        return {"overhead": f"{self.overhead}B", "mpu": f"{self.mpu}B", "framing": self.cells}


#: Lines without PPPoE and VLAN. The words for `cake` say the same as the numbers; a test reads them back from `tc`.
_LINES = (
    Framing(
        "docsis",
        "cable (DOCSIS)",
        18,
        64,
        "plain",
        "docsis",
        "the cable head-end shapes by Ethernet frames with their check, and without preamble: 14 + 4 B, at least 64 B "
        "(tc-cake(8); CM-SP-MULPIv3.1, rate shaping of a service flow)",
    ),
    Framing(
        "vdsl",
        "VDSL2 (PTM)",
        22,
        0,
        "ptm",
        "bridged-ptm",
        "an Ethernet frame with its check, 14 + 4 B, and 4 B of PTM: two bytes of start and end, a check of two "
        "(tc-cake(8); IEEE 802.3 section 61.3; ITU-T G.993.2)",
    ),
    Framing(
        "adsl",
        "ADSL (ATM)",
        32,
        0,
        "atm",
        "bridged-llcsnap",
        "an Ethernet header of 14 B, LLC and SNAP with padding 10 B, and the trailer of AAL5 8 B, in cells "
        "(tc-stab(8); RFC 2684 section 5.2; ITU-T G.992.3)",
    ),
    Framing(
        "fibre",
        "fibre",
        38,
        84,
        "plain",
        "ethernet",
        "an Ethernet frame with its check, preamble and gap: 14 + 4 + 8 + 12 B, at least 84 B (IEEE 802.3; "
        "tc-cake(8)); a passive optical network sends no preamble and no gap (ITU-T G.984.3), so that this is safe",
    ),
    Framing(
        "ethernet",
        "Ethernet",
        38,
        84,
        "plain",
        "ethernet",
        "an Ethernet frame with its check, preamble and gap: 14 + 4 + 8 + 12 B, at least 84 B (IEEE 802.3; tc-cake(8))",
    ),
    Framing(
        "unknown",
        "a line of unknown kind",
        48,
        0,
        "atm",
        "conservative",
        "more than any common line adds (tc-cake(8)); with PPPoE and VLAN too",
    ),
)
#: The kinds of lines that can be asked for.
LINKS = tuple(row.link for row in _LINES)

#: With PPPoE two lines have a word of their own; the others are told the number.
_PPPOE_WORDS = {"vdsl": "pppoe-ptm", "adsl": "pppoe-llcsnap"}
_CELL_WORDS = {"plain": "noatm", "atm": "atm", "ptm": "ptm"}


def framing(link: str, *, pppoe: bool = False, vlan: bool = False) -> Framing:
    """What a packet takes on a line. Raises `FramingError`."""
    row = next((row for row in _LINES if row.link == link), None)
    if row is None:
        near = get_close_matches(link, LINKS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"lines are {', '.join(LINKS)}"
        raise FramingError(f"link = {link}: there is no line {link!r}; {hint}")
    row = replace(row, pppoe=pppoe, vlan=vlan)
    if link == "unknown":
        return row
    if pppoe:
        row = replace(row, overhead=row.overhead + PPPOE, source=f"{row.source}; PPPoE takes {PPPOE} B (RFC 2516)")
        row = replace(row, cake=_PPPOE_WORDS.get(link) or _numbers(row))
    if vlan:
        row = replace(
            row,
            overhead=row.overhead + VLAN,
            # Behind the other words, as it adds to what they set.
            cake=f"{row.cake} ether-vlan",
            source=f"{row.source}; a VLAN tag takes {VLAN} B (IEEE 802.1Q)",
        )
    return row


def _numbers(row: Framing) -> str:
    mpu = f" mpu {row.mpu}" if row.mpu else ""
    return f"overhead {row.overhead}{mpu} {_CELL_WORDS[row.cells]}"
