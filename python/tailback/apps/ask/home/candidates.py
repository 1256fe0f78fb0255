"""The candidates at home in front of the line: no shaper, or a shaper with a discipline, as set up in production.

Unlike in an experiment, the disciplines do not have equal buffers. Each has its default buffer of Linux. Parameters
that depend on the line follow the published guideline of the discipline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.apps.ask.given import LinkError, own_name
from tailback.apps.ask.home.line import HomeLine, Share
from tailback.core.scenario import own_file
from tailback.linux import law, words
from tailback.linux.forms import Form, form, form_of_class, models, shaping
from tailback.linux.framing import Framing
from tailback.linux.law import Path, Setting
from tailback.linux.shaper import ACK_SHARE, CARD_PACKETS, IFB_PACKETS, Setup, acks_share, burst_bytes
from tailback.linux.units import TcError

#: The present state of most homes: the modem without a shaper.
MODEM = "modem"
#: The disciplines that are compared by default.
DEFAULT = ("cake", "fq-codel")
#: The user's present queue, as pasted.
MINE = "mine"
#: The first default discipline with a rate that follows the line (`follow.py`).
FOLLOWER = "cake-autorate"


@dataclass(frozen=True)
class HomeCandidate:
    """A candidate in front of the line."""

    #: The title on the page.
    name: str
    #: The name of the discipline in `tailback describe`; empty without a shaper.
    kind: str
    #: Parameters of the discipline for upload and download, without those of the shaper.
    up: Mapping[str, Any] = field(default_factory=dict)
    down: Mapping[str, Any] = field(default_factory=dict)
    #: The reason for each parameter.
    why: Mapping[str, str] = field(default_factory=dict)
    #: Parameters that are Linux's defaults.
    silent: frozenset[str] = frozenset()
    #: Makes the discipline, if it is written in Python.
    maker: Callable[[], Any] | None = None
    #: The form in Linux of a discipline that is written in Python.
    own_form: Form | None = None
    #: Whether the rate of the shaper follows that of the line.
    follows: bool = False
    #: The pasted queues, up and down, each with its own rate; None for a direction without one.
    pasted: tuple[Any, Any] | None = None

    @property
    def shapes(self) -> bool:
        return bool(self.kind) or self.pasted is not None

    def queues(self, line: HomeLine, share: Share) -> tuple[Any, Any]:
        """The queues of the shaper, up and down, as a scenario takes them; None for no shaper."""
        if self.pasted is not None:
            return self.pasted
        if not self.shapes:
            return None, None
        if self.follows:
            return {"kind": self.kind, **self.up}, {"kind": self.kind, **self.down}
        rates_and_parameters = ((share.up * line.up_bps, self.up), (share.down * line.down_bps, self.down))
        up, down = (self._queue(line.framing, rate, own) for rate, own in rates_and_parameters)
        return up, down

    def _queue(self, framing: Framing, rate_bps: float, own: Mapping[str, Any]) -> dict[str, Any]:
        table = {"kind": self.kind, **own}
        if rate := shaping(self.kind):
            return {"kind": self.kind, rate: f"{rate_bps:.0f}bps", **framing.simulated(), **own}
        # `htb` does not count the code of PTM, so it gets a rate without the code's bytes.
        framing_keys = framing.simulated() | ({"framing": "plain"} if framing.cells == "ptm" else {})
        rate_bps *= framing.rate_factor
        burst = f"{burst_bytes(rate_bps, framing)}B"
        return {"kind": "htb", "rate": f"{rate_bps:.0f}bps", "burst": burst, **framing_keys, "queue": table}


def candidate(given: object, line: HomeLine) -> HomeCandidate:
    """A discipline by name, as a table, or as `FILE.py:CLASS`. Raises `LinkError`."""
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return _table(given, line)
    if callable(given):
        return _made(given, getattr(given, "__name__", type(given).__name__))
    if isinstance(given, str) and ".py:" in given:
        path, _, name = given.rpartition(":")
        return _made(loaded(path, name), name)
    kind = own_name(given)
    return today() if given == MODEM else _shaped(kind, line)


def today() -> HomeCandidate:
    return HomeCandidate(MODEM, "")


def chosen(
    given: Sequence[object] | None, line: HomeLine, mine: HomeCandidate | None = None
) -> dict[str, HomeCandidate]:
    """All candidates by name: the modem alone, the user's present queue, and the requested disciplines. Raises
    `LinkError`."""
    by_name = {MODEM: today(), **({} if mine is None else {mine.name: mine})}
    for queue in given if given is not None else DEFAULT:
        entrant = today() if queue == MODEM else candidate(queue, line)
        if entrant.name in by_name and entrant.name != MODEM:
            raise LinkError(
                f"queue = {entrant.name} is given twice; give one of the two another name: {{ kind = ..., name = ... }}"
            )
        by_name[entrant.name] = entrant
    if len(by_name) < 2:
        raise LinkError("queue: name at least one discipline beside the modem, such as cake")
    if line.varies is not None and given is None:
        by_name[FOLLOWER] = follower(line)
    return by_name


def follower(line: HomeLine) -> HomeCandidate:
    """The first default discipline, with a rate that follows the line."""
    base = _shaped(DEFAULT[0], line)
    why = {**base.why, "rate": "it follows the line's rate, which it estimates from pings"}
    return HomeCandidate(FOLLOWER, base.kind, base.up, base.down, why, base.silent, follows=True)


def setup(c: HomeCandidate, line: HomeLine) -> Setup | None:
    """The setup for the lines to paste; None if there are no lines."""
    if not c.kind or (c.maker is not None and c.own_form is None):
        return None
    down, up = ({k: v for k, v in own.items() if k not in c.silent} for own in (c.down, c.up))
    name = c.kind if c.own_form is None else c.name
    return Setup(name, *line.shaped, line.framing, down, up, line.packet, line.rtt_s, line.ecn, own_form=c.own_form)


def _shaped(kind: str, line: HomeLine) -> HomeCandidate:
    """A discipline behind a shaper, with Linux's defaults and the parameters that depend on the line."""
    linux_form = form(kind)
    if linux_form is not None and linux_form.shapes and shaping(kind):
        return _itself(kind, line)
    down, up = (
        _behind(kind, linux_form, line, *of) for of in zip(line.shaped, (IFB_PACKETS, CARD_PACKETS), strict=True)
    )
    silent = {s.name for s in up if s.why in (_LINUX, _DEVICE)}
    why = {s.name: s.why for s in (*down, *up)}
    return HomeCandidate(kind, kind, _table_of(up), _table_of(down), why, frozenset(silent))


_LINUX = "Linux's default"
_DEVICE = "what a device's queue holds"


def _table_of(settings: Sequence[Setting]) -> dict[str, Any]:
    return {s.name: s.value for s in settings}


def _behind(kind: str, there: Form | None, line: HomeLine, rate_bps: float, device: int) -> list[Setting]:
    """The settings of a discipline below a class of `htb`, on a device with a queue of this many packets."""
    framing = line.framing
    path = Path(rate_bps * framing.rate_factor, framing.shaped(line.packet), line.rtt_s)
    model = models()[kind]
    if there is None or there.shapes:
        has_buffer = any(p["name"] == "buffer" for p in model["parameters"])
        buffer = [Setting("buffer", f"{CARD_PACKETS} packets", _DEVICE)] if has_buffer else []
        return [*buffer, *law.settings(model["law"], path, CARD_PACKETS)]
    follows = [s for s in law.settings(model["law"], path) if str(s.value) != str(there.defaults.get(s.name))]
    if (model["law"] or {}).get("name") == "sojourn" and there.has("quantum") and path.rate_bps < law.FAST_BPS:
        follows.append(Setting("quantum", f"{law.SMALL_QUANTUM}B", "small packets go before large ones"))
    settings = [Setting(name, value, _LINUX) for name, value in words.linux_defaults(there).items()]
    unsaid = {option.parameter: option.unsaid for option in there.options}
    if unsaid.get("buffer") == "device":
        settings.append(Setting("buffer", f"{device} packets", _DEVICE))
    elif unsaid.get("buffer") == "needed":
        limit = law.RED_LIMIT * law.thresholds(path, None)[1]
        settings.append(Setting("buffer", f"{limit} packets", "four times max_threshold"))
    return [*settings, *follows]


def _itself(kind: str, line: HomeLine) -> HomeCandidate:
    """A discipline that shapes by itself, as `cake` does."""
    interval = law.settings(models()[kind]["law"], Path(line.shaped[1], line.packet, line.rtt_s), shapes=True)
    of_both_ways: dict[str, Any] = {"tins": "diffserv4", "translated": "neither"}
    reasons = {
        "isolation": "hosts at home share the line first, then their flows; nat makes cake see these hosts",
        "tins": "four classes; the call is marked EF and has one before the transfers",
        "ingress": "packets dropped in the download direction have already used the line",
    }
    if law.interval(line.rtt_s)[0] != law.INTERVAL_S:
        of_both_ways |= _table_of(interval)
        reasons |= {s.name: "the round trip differs much from the 100 ms that cake expects" for s in interval}
    up = {**of_both_ways, "isolation": "dual-src"}
    share = acks_share(line.framing, *line.shaped)
    if share >= ACK_SHARE:
        up["ack_filter"] = "conservative"
        reasons["ack_filter"] = f"ACKs of a full download would take {share:.0%} of the upload"
    return HomeCandidate(kind, kind, up, {**of_both_ways, "isolation": "dual-dst", "ingress": True}, reasons)


#: Flow isolation without hosts, which does not depend on address translation.
_NO_HOSTS = ("flows", "flowblind")


def _table(table: Mapping[str, Any], line: HomeLine) -> HomeCandidate:
    """A discipline with the user's parameters; other parameters are as for a name without a table. A value is for both
    directions, so the parameters cannot include the shaper's rate."""
    kind = own_name(table.get("kind", ""))
    own = {k: v for k, v in table.items() if k not in ("kind", "name")}
    if (rate := shaping(kind)) in own:
        raise LinkError(
            f"queue = {kind}: {rate} = {own[rate]} would hold both directions; the shaper's rates are --share of "
            f"--down and of --up: leave {rate} out"
        )
    base = _shaped(kind, line)
    excluded_keys = {"translated"} if own.get("isolation") in _NO_HOSTS else set()
    if own.keys() & {"rtt", "profile", "target", "interval"}:
        excluded_keys |= {"rtt"}
    up, down = ({**{k: v for k, v in of.items() if k not in excluded_keys}, **own} for of in (base.up, base.down))
    why = {k: v for k, v in base.why.items() if k not in own} | dict.fromkeys(own, "as asked for")
    return HomeCandidate(str(table.get("name", kind)), kind, up, down, why, base.silent - own.keys())


def _made(maker: Callable[[], Any], name: str) -> HomeCandidate:
    from tailback.runs.builder import class_name

    own = {"class": class_name(maker)}
    try:
        own_form = form_of_class(maker, name)
    except TcError as e:
        raise LinkError(f"queue = {name}: {e}") from e
    return HomeCandidate(name, "python", own, own, {}, maker=maker, own_form=own_form)


def loaded(path: str, name: str) -> Callable[[], Any]:
    """The class of a Python file. Raises `LinkError`."""
    try:
        maker: Callable[[], Any] = own_file.loaded(path, name)
    except own_file.FileError as e:
        raise LinkError(f"queue = {path}:{name}: {e}") from e
    return maker
