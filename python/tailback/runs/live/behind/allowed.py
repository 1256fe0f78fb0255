"""The reason why this machine does not let a user have namespaces, and the one command that allows them."""

from __future__ import annotations

import os
from pathlib import Path

_SYS = Path("/proc/sys")
#: The settings that forbid namespaces, each with the forbidding value and the command that changes it.
_SETTINGS = (
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
    ("user/max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=10000"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
)
_CONTAINER = (
    "--cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined"
)


def in_container() -> bool:
    """Whether this process seems to be in a container."""
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        return True
    # systemd and podman set this variable, with a name in small letters.
    return bool(os.environ.get("container") or os.environ.get("KUBERNETES_SERVICE_HOST"))  # noqa: SIM112


def remedy() -> str:
    """The command that would allow namespaces, as far as the cause can be seen."""
    for name, value, command in _SETTINGS:
        try:
            is_so = (_SYS / name).read_text(encoding="ascii").strip() == value
        except OSError:
            continue
        if is_so:
            return f"run with sudo, or allow them: {command}"
    if in_container():
        return f"this is a container; start it with: docker run {_CONTAINER}"
    return "run with sudo; `tailback doctor` says what this machine allows"


def tun_remedy() -> str:
    """The command that would allow a TUN device."""
    if Path("/dev/net/tun").exists():
        return "let all users have it, as most systems do: chmod 666 /dev/net/tun"
    return f"start the container with: docker run {_CONTAINER}" if in_container() else "load the module: modprobe tun"
