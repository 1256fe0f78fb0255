"""For tests of lines for `tc`: a network namespace of their own, what `tc` says of each line, and what it sends to the
kernel.

`tc` reads a line and sends it; the kernel takes it, or refuses it where it lacks a module. A line that `tc` cannot read
fails with other words.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

#: What a kernel without the module says of a line that `tc` has read.
LACKS_MODULE = "Error: Specified qdisc kind is unknown."
TAKEN = "taken"
#: Devices as a home router has them. TUN is everywhere; a kernel may lack dummy devices.
DEVICES = """\
(ip tuntap add WAN mode tun || ip link add WAN type dummy) && ip link set WAN up || exit 3
"""
IFB = "ip link add ifb4wan type ifb && ip link set ifb4wan up || exit 3\n"


@functools.cache
def enter() -> tuple[str, ...]:
    """How a process gets a namespace of its own; nothing where it cannot."""
    if not shutil.which("tc") or not shutil.which("ip") or not shutil.which("unshare"):
        return ()
    for words in (("unshare", "-n"), ("unshare", "-rn")):
        made = subprocess.run([*words, "sh", "-c", DEVICES + IFB], capture_output=True)
        if made.returncode == 0:
            return words
    return ()


#: The kernel is known to have every kind of queue: then nothing is left out, and nothing may be refused.
ALL_KINDS = os.environ.get("TAILBACK_KINDS") == "all"
needs_tc = pytest.mark.skipif(not enter() and not ALL_KINDS, reason="no tc, or no right to make a network namespace")


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in a namespace of its own."""
    words = [*enter(), "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def said_of(lines: Iterable[str], folder: Path, before: str = "") -> dict[str, str]:
    """What is said of each line, all in one namespace: `TAKEN`, or the last words of the refusal."""
    lines = list(dict.fromkeys(lines))
    assert all(line.startswith("tc ") for line in lines)
    batch = folder / "lines.tc"
    # The last line is one that fails: if nothing is said of it, an earlier one has ended the whole batch.
    batch.write_text("".join(line.removeprefix("tc ") + "\n" for line in [*lines, "tc qdisc end"]))
    done = shell(f"{DEVICES}{IFB}{before}exec tc -batch {batch} -force")
    assert done.returncode == 1, done
    said: dict[str, str] = dict.fromkeys(lines, TAKEN)
    words: list[str] = []
    for line in done.stderr.splitlines():
        if line.startswith("Command failed "):
            number = int(line.rpartition(":")[2])
            if number > len(lines):
                return said
            # The reason is in the first line, unless a note stands before it; a list of words may follow.
            said[lines[number - 1]] = next((w for w in words if not w.startswith(("RED: ", "CHOKE: "))), "")
            words = []
        else:
            words.append(line)
    raise AssertionError(f"tc ended before the last line: {words}")


# What is sent

_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
  int file = open(getenv("SENT"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  for (size_t i = 0; i < message->msg_iovlen; i++)
    if (write(file, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len) < 0) abort();
  close(file);
  return next(socket, message, flags);
}
"""
#: Options of `cake` by their numbers in linux/pkt_sched.h.
_CAKE = {2: "rate", 3: "diffserv", 4: "cells", 5: "flows", 6: "overhead", 7: "rtt", 11: "nat", 13: "wash", 14: "mpu"}
_CAKE |= {15: "ingress", 16: "ack-filter"}
_NEW_QDISC, _OPTIONS = 36, 2


@dataclass(frozen=True)
class Listener:
    """Hears what `tc` sends."""

    library: Path
    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Listener:
        source, library = folder / "sent.c", folder / "sent.so"
        source.write_text(_SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return cls(library, folder)

    def cake(self, words: Sequence[str]) -> list[dict[str, int]]:
        """What the kernel is told by each of these words behind `cake`; the kernel need not have it."""
        sent, batch = self.folder / "sent", self.folder / "cake.tc"
        sent.unlink(missing_ok=True)
        batch.write_text("".join(f"qdisc replace dev lo root cake {w}\n" for w in words))
        shell(f"exec tc -batch {batch} -force", LD_PRELOAD=str(self.library), SENT=str(sent))
        found = [options for kind, options in _messages(sent.read_bytes()) if kind == _NEW_QDISC]
        assert len(found) == len(words)
        return found


def _messages(data: bytes) -> list[tuple[int, dict[str, int]]]:
    """Kind and options of each message: linux/netlink.h, linux/rtnetlink.h."""
    found, at = [], 0
    while at < len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        options: dict[str, int] = {}
        for number, value in _attributes(data[at + 36 : at + length]) if kind == _NEW_QDISC else ():
            if number == _OPTIONS:
                options = {
                    _CAKE[n]: int.from_bytes(v, "little", signed=True) for n, v in _attributes(value) if n in _CAKE
                }
        found.append((kind, options))
        at += (length + 3) & ~3
    return found


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at + 4 <= len(data):
        length, number = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        found.append((number & 0x3FFF, data[at + 4 : at + length]))
        at += (length + 3) & ~3
    return found


# What is sent, read by strace: for every kind of queue


def _traces() -> bool:
    words = ["unshare", "-Urn", "strace", "-e", "trace=sendmsg", "tc", "qdisc", "show", "dev", "lo"]
    if not all(shutil.which(tool) for tool in ("unshare", "strace", "tc")):
        return False
    return subprocess.run(words, capture_output=True).returncode == 0


needs_strace = pytest.mark.skipif(not _traces(), reason="no tc, no strace, or no right to make a network namespace")
_SENT = re.compile(
    r'TCA_KIND\}, "[^"]*"(?:\.\.\.)?\](?:, \[\{nla_len=\d+, nla_type=(?:NLA_F_NESTED\|)?TCA_OPTIONS\}, "([^"]*)")?'
)


def options_sent(lines: Sequence[str]) -> list[dict[int, bytes]]:
    """The options that `tc` sends for each of these disciplines, by their numbers in linux/pkt_sched.h: words from the
    kind on. The kernel need not have it. Options without numbers, as those of `pfifo`, are under 0."""
    with tempfile.TemporaryDirectory() as folder:
        batch, trace = Path(folder, "batch.tc"), Path(folder, "trace")
        batch.write_text("".join(f"qdisc replace dev lo root {line}\n" for line in lines))
        words = ["unshare", "-Urn", "strace", "-o", trace, "-e", "trace=sendmsg", "-x", "-s", "8192"]
        done = subprocess.run([*words, "tc", "-batch", batch, "-force"], capture_output=True, text=True, timeout=120)
        sent = _SENT.findall(trace.read_text())
    wrong = [line for line in done.stderr.splitlines() if re.match(r"What is|Illegal|Unknown|Usage|RTNETLINK", line)]
    assert not wrong, wrong
    noted = [line for line in done.stderr.splitlines() if "kind is unknown" not in line and "failed" not in line]
    assert len(sent) == len(lines), (len(sent), noted)
    return [_by_number(bytes.fromhex(text.replace("\\x", ""))) for text in sent]


def _by_number(options: bytes) -> dict[int, bytes]:
    if len(options) < 8:
        return {0: options} if options else {}
    numbered = dict(_attributes(options))
    whole = sum((len(value) + 7) & ~3 for value in numbered.values()) == (len(options) + 3) & ~3
    return numbered if whole else {0: options}
