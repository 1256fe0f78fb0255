"""Lines for `tc` and `ip` that any queue of Linux needs: one class of `htb` around a discipline, and a device for what
comes in."""

from __future__ import annotations

#: Bytes of a largest Ethernet packet as Linux counts it.
FULL_PACKET = 1514


def intermediate(device: str, ifb: str) -> tuple[str, str, str, str]:
    """What comes in by a device passes through an intermediate device (IFB), where it can wait."""
    redirect = f"action mirred egress redirect dev {ifb}"
    return (
        f"ip link add {ifb} type ifb",
        f"ip link set {ifb} up",
        f"tc qdisc add dev {device} handle ffff: ingress",
        f"tc filter add dev {device} parent ffff: protocol all u32 match u32 0 0 {redirect}",
    )


def htb(device: str, rate: str, burst: int, counted: str, leaf: str) -> tuple[str, str, str]:
    """One class with a discipline in it. `counted`: what it is told of the line's headers."""
    shape = f"rate {rate} ceil {rate} burst {burst} cburst {burst} quantum {FULL_PACKET} {counted}".rstrip()
    return (
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class replace dev {device} parent 1: classid 1:1 htb {shape}",
        f"tc qdisc replace dev {device} parent 1:1 {leaf}",
    )
