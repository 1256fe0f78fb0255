"""The process in a namespace: it makes its network and its device, hands the device to the gateway, and has the
connections.

The agent exchanges messages with the gateway over a socket; each message is a JSON document. The first message of the
gateway has the settings of the network, and the agent answers with the device. The second message has the time at which
to begin. The last message says that the run is over, and the agent answers with the data of its kernel. The agent ends
when the gateway ends in any way: the kernel kills the agent, and the socket closes. The agent's network ends with the
agent.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
from dataclasses import asdict
from functools import partial
from typing import Any

from tailback import _core
from tailback.runs.live import interfaces, iperf, router, tcp_info
from tailback.runs.live.router import Refused, ip
from tailback.runs.live.sources import Loop, Sink, Source, Work

DEVICE = "tailback0"


def _network(config: dict[str, Any]) -> None:
    """A new network namespace, or the one that the user has named."""
    if config.get("stay"):
        return
    if path := config.get("join"):
        try:
            _core.join_network(path)
        except OSError as e:
            raise Refused(f"{path} cannot be entered ({e.strerror or e}); run as root") from e
        return
    try:
        try:
            _core.own_network(False)
        except PermissionError:
            # Without privilege the process becomes the root of a user namespace, which has its own network.
            _core.own_network(True)
    except OSError as e:
        is_full = e.errno in (errno.ENOSPC, errno.EUSERS)
        reason = "the limit of namespaces is reached" if is_full else e.strerror or str(e)
        raise Refused(
            f"a network namespace is not allowed here ({reason}); run as root, or see `tailback doctor`"
        ) from e


def _device() -> int:
    try:
        return _core.make_tun(DEVICE)
    except FileNotFoundError:
        raise Refused("/dev/net/tun is missing; load the module: modprobe tun") from None
    except OSError as e:
        if e.errno == errno.EBUSY:
            raise Refused(
                f"there is a {DEVICE} already: another box of tailback runs in this network; end it first, or name "
                "another namespace"
            ) from e
        raise Refused(f"a TUN device cannot be made ({e.strerror or e}); see `tailback doctor`") from e


def _set(sysctls: dict[str, str], refused: list[str]) -> None:
    for name, value in sysctls.items():
        try:
            with open(f"/proc/sys/{name}", "w", encoding="ascii") as f:
                f.write(value)
        except OSError as e:
            refused.append(f"{name.replace('/', '.')} could not be set to {value or 'nothing'}: {e.strerror}")


def make(config: dict[str, Any]) -> tuple[int, list[str]]:
    """Makes the network of this side. Returns the device's descriptor, and the settings that the kernel refused."""
    _network(config)
    device = _device()
    refused_settings: list[str] = []
    ipv6 = config["ipv6"]
    if config.get("kernel"):
        router.make(config, DEVICE, partial(_set, refused=refused_settings))
        return device, refused_settings
    if ipv6 and not os.path.isdir("/proc/sys/net/ipv6"):
        raise Refused("this kernel has IPv6 switched off; leave --ipv6 out")
    if config.get("orders"):
        # With `orders`, later messages of the gateway make the rest.
        ip("link", "set", "lo", "up")
        return device, refused_settings
    if not ipv6 and "join" not in config:
        _set({"net/ipv6/conf/all/disable_ipv6": "1"}, [])
    _set(config["sysctls"], refused_settings)
    if "join" not in config:
        ip("link", "set", "lo", "up")
    # If the kernel has its own queue here, that queue must never drop packets.
    ip("link", "set", DEVICE, "mtu", str(config["mtu"]), "txqueuelen", "20000", "up")
    for group in config["groups"]:
        own_address, far_address = group["own"], group["other"]
        ip("addr", "add", f"{own_address}/{128 if ipv6 else 32}", "dev", DEVICE, *(["nodad"] if ipv6 else []))
        attributes = ["mtu", str(group["mtu"])] + group["attributes"]
        ip("route", "add", far_address, "dev", DEVICE, "src", own_address, *attributes)
    return device, refused_settings


def counters() -> dict[str, int]:
    """This kernel's counters in this namespace, by name."""
    counts: dict[str, int] = {}
    for path in ("/proc/self/net/netstat", "/proc/self/net/snmp"):
        with open(path, encoding="ascii") as f:
            lines = f.read().splitlines()
        for names, counts_text in zip(lines[::2], lines[1::2], strict=False):
            kind = names.split(":")[0]
            counts |= {f"{kind}.{k}": int(v) for k, v in zip(names.split()[1:], counts_text.split()[1:], strict=False)}
    return counts


def lost() -> int:
    """Packets that found no room before the device, without the drops of the kernel's own queue there."""
    with open("/proc/self/net/dev", encoding="ascii") as f:
        for line in f:
            name, _, counts_text = line.partition(":")
            if name.strip() == DEVICE:
                return int(counts_text.split()[11])
    return 0


class Channel:
    """Sends and receives documents over a socket."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, document: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        message = json.dumps(document).encode()
        if descriptors:
            socket.send_fds(self.end, [len(message).to_bytes(8, "little")], list(descriptors))
            self.end.sendall(message)
        else:
            self.end.sendall(len(message).to_bytes(8, "little") + message)

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Raises EOFError when the other end is gone."""
        head, descriptors, _, _ = socket.recv_fds(self.end, 8, 2)
        if len(head) < 8:
            raise EOFError
        want, message = int.from_bytes(head, "little"), b""
        while len(message) < want:
            chunk = self.end.recv(min(1 << 20, want - len(message)))
            if not chunk:
                raise EOFError
            message += chunk
        return json.loads(message), descriptors


def take(config: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """An interface of the user: its descriptor, and its properties."""
    _network(config)
    name = config["interface"]
    try:
        interface = interfaces.usable(name)
        return _core.open_interface(name), asdict(interface)
    except interfaces.Unfit as e:
        raise Refused(str(e)) from e
    except PermissionError:
        raise Refused(f"what passes {name} may not be read and written by this user; run as root") from None
    except OSError as e:
        raise Refused(f"{name} cannot be opened ({e.strerror or e}); packet sockets of Linux 4.20 are needed") from e


def _obey(channel: Channel, order: dict[str, Any]) -> None:
    """Run commands in this network, change its settings, or open listening sockets in it for another process."""
    try:
        for words, given in order.get("commands", []):
            router.command(*words, given=given)
    except Refused as e:
        channel.send({"refused": str(e)})
        return
    refused_settings: list[str] = []
    _set(order.get("sysctls", {}), refused_settings)
    listeners = []
    for address in order.get("listen", []):
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            listener = socket.socket(socket.AF_INET, kind)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, order["port"]))
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listeners.append(listener)
    channel.send(
        {"done": True, "refused_settings": refused_settings}, tuple(listener.fileno() for listener in listeners)
    )
    for listener in listeners:
        listener.close()


def serve(channel: Channel) -> None:
    import resource

    config, _ = channel.receive()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        if "interface" in config:
            device, descriptors = take(config)
            channel.send({"ready": True, "refused_settings": [], "interface": descriptors}, (device,))
            os.close(device)
            channel.receive()
            return
        device, refused_settings = make(config)
        loop = Loop()
        works: list[Work] = [] if config["role"] == "none" else [Source(config, loop), Sink(config, loop)]
    except (Refused, iperf.IperfError) as e:
        channel.send({"refused": str(e)})
        return
    channel.send({"ready": True, "refused_settings": refused_settings, "tcp_info": tcp_info.LENGTH}, (device,))
    if not config.get("kernel"):
        # With a queue of the kernel the device stays open, because this queue is read at the end.
        os.close(device)
    if not works:
        while (order := channel.receive()[0]).get("order"):
            _obey(channel, order)
        return
    # A sender that is late for lack of a processor shows the load of the machine, and not the network.
    with contextlib.suppress(OSError):
        os.nice(-10)
    go, _ = channel.receive()
    counters_before = counters()
    loop.begin_ns = go["begin_ns"]
    for work in works:
        work.start()
    loop.run(channel.end)
    channel.receive()
    counters_after = counters()
    counter_growth = {k: v - counters_before.get(k, 0) for k, v in counters_after.items()}
    flows, receiver_rows = (work.report() for work in works)
    queues = router.inside(router.queues) if config["kernel"] else []
    lost_packets = router.inside(lost) if config["kernel"] else lost()
    answer = {"flows": flows, "received": receiver_rows, "queues": queues, "counters": counter_growth}
    channel.send(answer | {"lost": lost_packets, "cpu_s": time.process_time()})


def main() -> None:
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    try:
        serve(channel)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The gateway has ended. The gateway has reported the reason if it could.
        sys.exit(1)


if __name__ == "__main__":
    main()
