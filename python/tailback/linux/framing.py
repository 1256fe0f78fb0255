"""The bytes that a packet takes on a home line. Each kind of line has a row, with the words of `cake`, `htb`, SQM and a
scenario.

A line adds headers to an IP packet (`overhead`) and has a smallest packet (`mpu`). A line may also cut packets into
cells or add bytes of a code. A shaper that does not count these bytes lets small packets fill the modem's buffer.

* `plain`: the packet and its headers, but at least `mpu` bytes.
* `atm`: cells of 53 B that carry 48 B each; the last cell is padded (ITU-T I.361; AAL5 in ITU-T I.363.5).
* `ptm`: the code adds one byte to every 64 bytes or part of 64 (64/65 octets, IEEE 802.3 section 61.3, ITU-T G.992.3
  annex N and G.993.2). `cake` counts it in the same way: tc-cake(8).

`overhead` counts from the IP packet, as in `cake`. `htb` and size tables (`stab`) count from the device's packet, which
includes its Ethernet header (tc-stab(8)). `htb` and size tables therefore get `overhead` less that header.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

#: Bytes of the Ethernet header: two addresses and a type. A PPP device has no such header.
ETHERNET_HEADER = 14
#: PPPoE takes 6 B and PPP's protocol 2 (RFC 2516 sections 4 and 7).
PPPOE = 8
#: A tag of IEEE 802.1Q.
VLAN = 4


class FramingError(ValueError):
    """An unknown line. The message names the option and its value, and says what to write instead."""


@dataclass(frozen=True)
class Framing:
    """The bytes that a line adds to a packet."""

    link: str
    title: str
    #: Bytes that an IP packet gains.
    overhead: int
    #: Bytes of the smallest packet on the line, `overhead` included; 0 if the line has no smallest packet.
    mpu: int
    #: "plain", "atm" or "ptm".
    cells: str
    #: The words for `cake`.
    cake: str
    #: The source of the numbers.
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
        """Bytes of header that the shaper's device counts by itself: 14 on Ethernet, 0 on a PPP device. With PPPoE the
        shaper belongs on the PPP device."""
        return 0 if self.pppoe else ETHERNET_HEADER

    @property
    def device_overhead(self) -> int:
        """`overhead` for `htb` and for size tables, which count from the device's packet."""
        return self.overhead - self.device_header

    @property
    def linklayer(self) -> str:
        """The link layer as `htb`, size tables and SQM name it. These three support the cells of `atm`, but not
        `ptm`."""
        return "atm" if self.cells == "atm" else "ethernet"

    @property
    def rate_factor(self) -> float:
        """The share of the rate that a shaper may use if it does not count the line's code: 64 of 65 bytes under
        `ptm`."""
        return 64 / 65 if self.cells == "ptm" else 1.0

    def shaped(self, ip_bytes: int) -> int:
        """Bytes that an IP packet takes of a rate that `rate_factor` has lowered."""
        return max(ip_bytes + self.overhead, self.mpu) if self.cells == "ptm" else self.on_wire(ip_bytes)

    @property
    def htb(self) -> str:
        """The words for a class of `htb`."""
        mpu = f" mpu {self.mpu}" if self.mpu else ""
        return f"overhead {self.device_overhead}{mpu} linklayer {self.linklayer}"

    def simulated(self) -> dict[str, str]:
        """The keys of a scenario, for a link and for `cake`."""
        return {"overhead": f"{self.overhead}B", "mpu": f"{self.mpu}B", "framing": self.cells}


#: Lines without PPPoE and VLAN. The words for `cake` say the same as the numbers; a test sets them and reads the
#: numbers back from `tc`.
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
#: The kinds of lines that an option can name.
LINKS = tuple(row.link for row in _LINES)

#: Two lines have their own word for PPPoE in `cake`; the others need the number.
_PPPOE_WORDS = {"vdsl": "pppoe-ptm", "adsl": "pppoe-llcsnap"}
_CELL_WORDS = {"plain": "noatm", "atm": "atm", "ptm": "ptm"}


def framing(link: str, *, pppoe: bool = False, vlan: bool = False) -> Framing:
    """The framing of a line, by its name. Raises `FramingError`."""
    row = next((row for row in _LINES if row.link == link), None)
    if row is None:
        nearest = get_close_matches(link, LINKS, 1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"lines are {', '.join(LINKS)}"
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
            # `ether-vlan` adds to the overhead of the other words, so it follows them.
            cake=f"{row.cake} ether-vlan",
            source=f"{row.source}; a VLAN tag takes {VLAN} B (IEEE 802.1Q)",
        )
    return row


def _numbers(row: Framing) -> str:
    mpu = f" mpu {row.mpu}" if row.mpu else ""
    return f"overhead {row.overhead}{mpu} {_CELL_WORDS[row.cells]}"
