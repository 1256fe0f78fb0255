"""Scenarios written in Python: the same structure as TOML, checked by the same reader.

    net = tb.dumbbell(flows=100, bottleneck="500Mbps", rtt="100ms", queue=tb.queue("qsdrr", buffer="1000 packets"))
    net.flows("mice", count=10, traffic={"kind": "transfer", "size": "100KB"}, start=["5s", "10s"])
    net.record(link="bottleneck", probes=["queue"], every="10ms")
    result = net.run(duration="100s", replications=5)

A queue may also be a discipline written in Python: a class, or any function without arguments that makes one.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tailback import _core
from tailback.core.scenario import controls
from tailback.core.scenario.controls import RATE
from tailback.core.scenario.names import check_names
from tailback.core.scenario.read import load_scenario, read
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.core.text.given import MOST_COUNTED, count
from tailback.runs.campaign.progress import Progress

if TYPE_CHECKING:
    from tailback.runs.result import Result


#: The forms of a queue: a name, a table, `tb.queue(...)`, or a callable that makes a discipline written in Python.
QueueGiven: TypeAlias = "str | Mapping[str, Any] | Queue | Callable[[], Any]"


class Queue:
    """A discipline of the reference (`tailback describe`) and its parameters.

    >>> codel = tb.Queue("codel", buffer="100 packets", target="10ms")
    >>> codel.to_dict()
    {'kind': 'codel', 'buffer': '100 packets', 'target': '10ms'}
    >>> codel.drive(rate="5Mbps").backlog()
    (0, 0)
    """

    @checked
    def __init__(self, kind: str, **params: Any) -> None:
        self.kind = kind
        self.params = params
        if not any(callable(p) for p in params.values()):
            around = {"kind": "dumbbell", "rate": "10Mbps", "delay": "1ms", "queue": _plain(self.to_dict())}
            check_names({"topology": around, "flows": {"bulk": {}}}, "topology.queue", f'queue("{kind}")')

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.params}

    def __repr__(self) -> str:
        return f"queue({', '.join([repr(self.kind), *(f'{k}={v!r}' for k, v in self.params.items())])})"

    @checked
    def drive(self, *, rate: str = "10Mbps", seed: int = 1) -> _core.DrivenQueue:
        """The discipline itself, to be driven by hand; see `tailback.drive`."""
        return drive(self, rate=rate, seed=seed)


def queue(kind: str, **params: Any) -> Queue:
    """A discipline with its parameters, which `tailback describe red` lists for RED.

    A shaper takes the discipline in it, which may be a class of your own: `tb.queue("htb", rate="19Mbps", queue=Mine)`.

    >>> tb.queue("red", buffer="1000 packets", min_threshold="20%")
    queue('red', buffer='1000 packets', min_threshold='20%')
    """
    return Queue(kind, **params)


@checked
def drive(queue: QueueGiven, *, rate: str = "10Mbps", seed: int = 1) -> _core.DrivenQueue:
    """A discipline with a clock and a line, driven one call at a time.

        q = tb.drive(tb.queue("codel", buffer="100 packets"), rate="10Mbps")
        q.enqueue(tb.packet(flow=1, ecn=True), now=0.0)
        p = q.dequeue(now=0.010)        # a packet, tb.Wait(t) or None
        q.backlog(), q.drops, q.marks, q.probe("dropping")

    `queue` is a name, `tb.queue(...)`, or a class of your own. The object belongs to the thread that calls `drive`; in
    other threads it raises RuntimeError.

    >>> q = tb.drive(tb.queue("droptail", buffer="2 packets"), rate="12Mbps")
    >>> for flow in (1, 2, 3):
    ...     q.enqueue(tb.packet(flow=flow), now=0.0)
    >>> q.dequeue(now=0.0).flow
    1
    >>> [drop[0].flow for drop in q.drops]
    [3]
    """
    seed = check.seed(seed)
    net = dumbbell(bottleneck=rate, queue=queue)._with(duration="1s")
    scenario = read(net if net.queues else net.to_dict(), name="queue")
    return _core.DrivenQueue(scenario, seed, net.queues.get("bottleneck"))


@checked
def drive_congestion(control: Any, *, tcp: Mapping[str, Any] | None = None, seed: int = 1) -> _core.DrivenControl:
    """A congestion control driven by hand, one call at a time, as a connection would drive it.

    `control` is a class of your own, `tb.congestion(...)`, `"FILE.py:CLASS"`, or the name of a built-in one; `tcp` has
    other parameters of the connection. Times are in seconds, and amounts in bytes. Each call returns the window after
    the call.

    >>> reno = tb.drive_congestion("reno", tcp={"payload": "1000B", "initial_window": "2 packets"})
    >>> reno.ack(now=0.1, acked=1000), reno.ack(now=0.1, acked=1000)
    (3000.0, 4000.0)
    >>> reno.congestion(now=0.2, what="loss"), reno.ssthresh
    (2000.0, 2000.0)
    """
    seed = check.seed(seed)
    if "congestion" in (tcp or {}):
        raise ValueError("tcp has `congestion` as well as `control`; leave it out of tcp")
    net = dumbbell(tcp={**(tcp or {}), "congestion": control})._with(duration="1s")
    return _core.DrivenControl(read(net, name="congestion"), seed)


@checked
def drive_rate_control(control: Any, *, rtp: Mapping[str, Any] | None = None) -> _core.DrivenRateControl:
    """A rate control of media driven by hand, one call at a time, as a sender of `rtp` would drive it.

    `control` is a class of your own, `tb.rate_control(...)`, `"FILE.py:CLASS"`, or the name of a built-in one; `rtp`
    has other parameters, such as `max_rate`. Times are in seconds, sizes in bytes, and rates in bit/s on the wire. Each
    call returns the target after the call. A packet of a report is (number, bytes, sent, received), with an optional
    fifth value: whether it was marked.

    >>> nada = tb.drive_rate_control("nada", rtp={"max_rate": "2Mbps"})
    >>> nada.feedback(now=0.1, packets=[(0, 1240, 0.03, 0.05), (1, 1240, 0.06, 0.08)], rtt=0.04)
    300000.0
    >>> nada.pacing, nada.window, nada.probe("queueing")
    (300000.0, None, 0.0)
    """
    if RATE.key in (rtp or {}):
        raise ValueError(f"rtp has `{RATE.key}` as well as `control`; leave it out of rtp")
    media = {RATE.transport: {**(rtp or {}), RATE.key: control}}
    return _core.DrivenRateControl(read(dumbbell(flows={"media": media})._with(duration="1s"), name=RATE.family))


@checked
def mark(
    conditioner: str | Mapping[str, Any],
    packets: Iterable[Sequence[float]],
    *,
    rate: str = "100Mbps",
    seed: int = 1,
) -> list[int | None]:
    """The DiffServ code point with which each packet leaves a conditioner; None for a dropped packet.

        tb.mark({"kind": "trtcm", ...}, [(0.0, 1000), (0.001, 1000)])          # seconds and bytes
        tb.mark({"kind": "trtcm", "mode": "aware", ...}, [(0.0, 1000, 12)])    # and the code point it came with

    AF11 is 10, AF12 is 12, AF13 is 14. All packets are of one flow.

    >>> meter = {"kind": "token-bucket", "rate": "8Mbps", "depth": "1000B"}
    >>> tb.mark(meter, [(0.0, 1000), (0.0001, 1000), (0.001, 1000)])
    [10, 12, 10]
    """
    seed = check.seed(seed)
    rows = [_row(i, p) for i, p in enumerate(check.several("packets", packets, "(0.0, 1000)"))]
    net = dumbbell(bottleneck=rate, queue="droptail").link("bottleneck", conditioner=conditioner)
    scenario = load_scenario(net._with(duration="1s").to_dict(), name="conditioner")
    came = [int(r[2]) for r in rows if len(r) > 2]
    if came and len(came) < len(rows):
        raise ValueError("some packets say with which code point they come and some do not")
    return _core.mark(scenario, [r[0] for r in rows], [int(r[1]) for r in rows], came, seed)


def _row(i: int, given: Any) -> tuple[float, ...]:
    """The arrival time and the length of a packet, and perhaps its code point."""
    try:
        row = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        row = ()
    if not 2 <= len(row) <= 3 or not all(x >= 0 for x in row) or any(x % 1 for x in row[1:]) or row[2:] > (63,):
        raise ValueError(
            f"packets[{i}] = {check.shown(given)}; give seconds and bytes, such as (0.001, 1000), and perhaps the code "
            "point with which it comes, 0 to 63"
        )
    return row


def class_name(make: Callable[[], Any]) -> str:
    """The name of the maker of a discipline written in Python, for messages and stored scenarios."""
    if isinstance(make, functools.partial):
        return class_name(make.func)
    maker = make if hasattr(make, "__qualname__") else type(make)
    return f"{maker.__module__}.{maker.__qualname__}"


@checked
def packet(*, flow: int = 0, bytes: int = 1500, ecn: bool | str = False, **rest: Any) -> _core.Packet:
    """A packet for a discipline that is driven by hand. `ecn` is true for a capable one, or "ect0", "ect1", "ce".

    >>> p = tb.packet(flow=3, bytes=1000, ecn=True)
    >>> p.flow, p.bytes, p.ecn
    (3, 1000, 'ect0')
    """
    flow, bytes = count("flow", flow, 0, 2**32 - 1), count("bytes", bytes, 1, 65_535)
    word = ecn if isinstance(ecn, str) else "ect0" if ecn else "not-ect"
    return _core.Packet(flow=flow, bytes=bytes, ecn=word, **rest)


class Network:
    """A scenario under construction; every method that adds something returns the network itself.

    >>> net = tb.Network().link("slow", "a", "b", rate="10Mbps", delay="5ms", queue="codel")
    >>> net = net.flows("bulk", "a", "b", count=2).record(link="slow", probes=["queue"], every="10ms")
    >>> result = net.run(duration="2s")
    >>> result.groups["flows"].tolist()
    [2]
    """

    @checked
    def __init__(self, document: Mapping[str, Any] | None = None) -> None:
        self.document: dict[str, Any] = _plain(document or {})
        for key in self.document:
            check_names(self.document, key)
        # Makers of disciplines written in Python, by port.
        self.queues: dict[str, Callable[[], Any]] = {}

    @checked
    def link(
        self, name: str, from_: str | None = None, to: str | None = None, queue: Any = None, **params: Any
    ) -> Network:
        """Add a link from node `from_` to node `to`, or change a link that the topology has made."""
        own = _ends(from_, to)
        if queue is not None:
            own["queue"] = self._queue(name, queue)
        if "reverse_queue" in params:
            params["reverse_queue"] = self._queue(f"{name}.reverse", params["reverse_queue"])
        return self._put("link", name, own | _plain(params))

    @checked
    def switch(self, node: str, **params: Any) -> Network:
        """Let all ports of a node share one memory, with the parameters of the scenario's `[switch.NAME]`.

        >>> net = tb.network().link("port", "tor", "a", rate="1Gbps", delay="25us", queue="droptail")
        >>> net.switch("tor", buffer="4MB", alpha=0.25).document["switch"]
        {'tor': {'buffer': '4MB', 'alpha': 0.25}}
        """
        return self._put("switch", node, _plain(params))

    @checked
    def flows(self, name: str, from_: str | None = None, to: str | None = None, **params: Any) -> Network:
        """Add a group of flows, with the parameters of the scenario's `[flows.NAME]`."""
        return self._put("flows", name, _ends(from_, to) | _plain(params))

    @checked
    def sessions(self, name: str, kind: str, from_: str | None = None, to: str | None = None, **params: Any) -> Network:
        """Add clients that open connections during the run, with the parameters of `[sessions.NAME]`.

        `kind` names the behaviour of the clients; see `tailback describe session`. Data go from `from_` to `to`.
        """
        return self._put("sessions", name, {"kind": kind} | _ends(from_, to) | _plain(params))

    @checked
    def workload(self, name: str, **params: Any) -> Network:
        """Add flows among many hosts, with the parameters of `[workload.NAME]`.

        net.workload("search", sizes="web-search", load=0.5, tcp={"congestion": "dctcp", "ecn": "on"})
        """
        return self._put("workload", name, _plain(params))

    @checked
    def record(self, name: str | None = None, **params: Any) -> Network:
        """Record probes of a link or of a group of flows, with the parameters of `[record.NAME]`."""
        return self._add("record", name, params)

    @checked
    def change(self, name: str | None = None, **params: Any) -> Network:
        """Change a link or a group of flows during the run, with the parameters of `[change.NAME]`.

            net.change(link="bottleneck", rate=["5Mbps", "20Mbps"], at=["10s", "20s"])
            net.change(link="bottleneck", trace="lte.csv")

        The key `from` of the table is `from_` here.
        """
        if "from_" in params:
            params["from"] = params.pop("from_")
        return self._add("change", name, params)

    def _add(self, family: str, name: str | None, params: dict[str, Any]) -> Network:
        tables = self.document.setdefault(family, {})
        if name is None:
            name = base = str(params.get("link") or params.get("flows") or family).replace(".", "-")
            n = 1
            while name in tables:
                n += 1
                name = f"{base}-{n}"
        tables.pop(name, None)
        return self._put(family, name, _plain(params))

    def _put(self, family: str, name: str, own: dict[str, Any]) -> Network:
        """Write into a table. An unknown key or name is refused, and nothing is written."""
        tables = self.document.setdefault(family, {})
        before = tables.get(name)
        tables[name] = {**(before or {}), **own}
        around = {k: v for k, v in self.document.items() if k in ("profile", "topology", "link")}
        try:
            check_names({**around, family: {name: tables[name]}}, f"{family}.{name}")
        except _core.ScenarioError:
            del tables[name]
            if before is not None:
                tables[name] = before
            raise
        return self

    def set(self, **top: Any) -> Network:
        """Set keys at the top level of a scenario: `duration`, `warmup`, `seed`, `interval`, `log_drops`, `marking`,
        `end`, `paths`, `name`."""
        settings = _plain(top)
        for key, value in settings.items():
            check_names({key: value}, key)
        self.document.update(settings)
        return self

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a dict. Raises TypeError with a queue written in Python, which no scenario can hold."""
        for port, own_queue in self.queues.items():
            name = class_name(own_queue).rpartition(".")[2]
            raise TypeError(
                f"the queue at {port} is written in Python ({name}), and no scenario can hold it: run the network "
                "(net.run(), tb.run(net), tb.Plan.product(net, ...)), or name a queue of the reference"
            )
        return copy.deepcopy(self.document)

    def to_toml(self) -> str:
        """The scenario as TOML, once it is complete. Raises TypeError with a queue written in Python."""
        return self.load().toml

    def load(self) -> _core.Scenario:
        """The scenario, checked. Raises `tailback.ScenarioError`, and TypeError with a queue written in Python."""
        return load_scenario(self.to_dict(), name=str(self.document.get("name", "network")))

    @checked
    def run(
        self,
        *,
        duration: str | None = None,
        seed: int | None = None,
        replications: int = 1,
        warmup: str | None = None,
        jobs: int = 0,
        out: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        queues_key: str | None = None,
    ) -> Result:
        """Run the network with `replications` seeds from `seed` on, and return a `tailback.Result`."""
        from tailback.runs.result import run

        net = self._with(duration=duration, warmup=warmup, seed=seed)
        return run(
            read(net, name=str(self.document.get("name", "network"))),
            replications=replications,
            jobs=jobs,
            out=out,
            progress=progress,
            queues=self.queues or None,
            queues_key=queues_key,
        )

    def _with(self, **top: Any) -> Network:
        net = Network(self.document)
        net.queues = dict(self.queues)
        return net.set(**{k: v for k, v in top.items() if v is not None})

    def _queue(self, port: str, given: Any) -> Any:
        """The document's entry for a queue. Stores the maker of a queue in Python, also of one in a shaper."""
        self.queues.pop(port, None)
        if isinstance(given, Queue):
            given = given.to_dict()
        if isinstance(given, Mapping) and "queue" in given:
            own = {k: v for k, v in given.items() if k != "queue"}
            return {**_plain(own), "queue": self._queue(port, given["queue"])}
        if isinstance(given, (str, Mapping)):
            return _plain(given)
        if callable(given):
            self.queues[port] = given
            return {"kind": "python", "class": class_name(given)}
        raise TypeError(
            "a queue is a name, tb.queue(...), or a class of your own (not an object of it: each run makes a new one), "
            f"not {type(given).__name__}: {check.shown(given)}"
        )

    def __repr__(self) -> str:
        texts = [
            f"{k} {', '.join(self.document[k])}"
            for k in ("link", "switch", "flows", "sessions", "workload", "change", "record")
            if self.document.get(k)
        ]
        topology = self.document.get("topology")
        kind = topology.get("kind", "network") if isinstance(topology, Mapping) else "network"
        return f"<Network {kind}: {'; '.join(texts) or 'empty'}>"


@checked
def dumbbell(
    *,
    flows: int | Mapping[str, Any] = 1,
    bottleneck: str = "10Mbps",
    rtt: str | list[str] | None = None,
    queue: QueueGiven = "droptail",
    delay: str | None = None,
    access: str | list[str] | None = None,
    tcp: Mapping[str, Any] | None = None,
    **link: Any,
) -> Network:
    """One link named `bottleneck`, and flows through it.

    `flows` is the number of bulk flows, or a dict of groups by name. `rtt` is the round trip of the flows with empty
    queues. With `access` (a rate) each flow has a private link. A single `rtt` without `access` and `delay` is the
    round trip of the bottleneck itself. Otherwise the part that `delay` leaves is the delay of private links. Other
    parameters go to the link.

    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue=tb.queue("codel", buffer="100 packets"))
    >>> result = net.run(duration="5s")
    >>> bool(result.links["utilisation"][0] > 0.8)
    True
    """
    of_flows = {"rtt": rtt, "access_rate": access, "tcp": tcp}
    link |= {"rate": bottleneck, "queue": queue, "delay": delay}
    return _topology({"kind": "dumbbell"}, ["bottleneck"], flows=flows, of_flows=of_flows, link=link)


@checked
def parking_lot(
    hops: int,
    *,
    flows: int | Mapping[str, Any] = 1,
    rate: str = "10Mbps",
    rtt: str | list[str] | None = None,
    queue: QueueGiven = "droptail",
    delay: str | None = None,
    access: str | list[str] | None = None,
    tcp: Mapping[str, Any] | None = None,
    **link: Any,
) -> Network:
    """A chain of equal links `hop1` .. `hopN` between nodes `r0` .. `rN`. By default flows cross the whole chain.

    The parameters are those of `dumbbell`. Cross traffic is added with `flows`, as below.

    >>> net = tb.parking_lot(2, flows=2, rate="10Mbps", rtt="40ms", queue="droptail")
    >>> net = net.flows("cross", from_="r0", to="r1", count=2)
    >>> net.run(duration="2s").groups["group"].tolist()
    ['bulk', 'cross']
    """
    of_flows = {"rtt": rtt, "access_rate": access, "tcp": tcp}
    link |= {"rate": rate, "queue": queue, "delay": delay}
    hops = count("hops", hops, 1, MOST_COUNTED)
    ports = [f"hop{i}" for i in range(1, hops + 1)]
    return _topology({"kind": "parking-lot", "hops": hops}, ports, flows=flows, of_flows=of_flows, link=link)


@checked
def star(hosts: int, *, rate: str, delay: str, queue: QueueGiven, **params: Any) -> Network:
    """One switch, `hub`, linked to hosts `host1`, ...; other parameters as in `tailback describe star`.

    >>> net = tb.star(4, rate="1Gbps", delay="10us", queue="droptail").flows("bulk", "host1", "host2")
    >>> net.run(duration="10ms").groups["group"].tolist()
    ['bulk']
    """
    return _fabric("star", hosts=hosts, rate=rate, delay=delay, queue=queue, **params)


@checked
def leaf_spine(
    leaves: int, spines: int, hosts: int, *, rate: str, delay: str, queue: QueueGiven, **params: Any
) -> Network:
    """Switches `leaf1`, ... and `spine1`, ..., and `hosts` hosts at each leaf; other parameters as in
    `tailback describe leaf-spine`.

    >>> net = tb.leaf_spine(2, 2, 4, rate="10Gbps", delay="1us", queue=tb.queue("droptail", buffer="100 packets"))
    >>> net = net.set(paths="flow").workload("search", sizes="web-search", load=0.5, flows=20)
    >>> int(net.run(duration="20ms").slowdowns["count"][0])
    20
    """
    keys = {"leaves": leaves, "spines": spines, "hosts": hosts, "rate": rate, "delay": delay, "queue": queue}
    return _fabric("leaf-spine", **keys, **params)


@checked
def fat_tree(k: int, *, rate: str, delay: str, queue: QueueGiven, **params: Any) -> Network:
    """Three layers of switches with `k` ports each, and k*k*k/4 hosts; other parameters as in
    `tailback describe fat-tree`.

    >>> net = tb.fat_tree(4, rate="10Gbps", delay="1us", queue="droptail").set(paths="flow")
    >>> net.flows("bulk", "host1", "host16").document["topology"]["k"]
    4
    """
    return _fabric("fat-tree", k=k, rate=rate, delay=delay, queue=queue, **params)


def _fabric(kind: str, **params: Any) -> Network:
    net = Network()
    for key in ("queue", "host_queue"):
        if callable(params.get(key)):
            raise TypeError(
                f"{key} of a {kind} stands for many ports: name a queue, and give a class of your own to single links "
                'with net.link("host1", queue=...)'
            )
    net.document["topology"] = _plain({"kind": kind, **params})
    check_names(net.document, "topology")
    return net


@checked
def network(document: Mapping[str, Any] | None = None) -> Network:
    """A network from a dict of the scenario's structure, or an empty one to add links and flows to.

    >>> net = tb.network({"duration": "2s"}).link("slow", "a", "b", rate="10Mbps", delay="5ms", queue="droptail")
    >>> net.flows("bulk", "a", "b").document["duration"]
    '2s'
    """
    return Network(document)


def _topology(
    topology: dict[str, Any],
    ports: Sequence[str],
    *,
    flows: int | Mapping[str, Any],
    of_flows: dict[str, Any],
    link: dict[str, Any],
) -> Network:
    """A network of a named topology with equal links, which are called `ports`."""
    net = Network()
    queue, delay = link.pop("queue"), link.pop("delay")
    spec = None
    for port in ports:
        spec = net._queue(port, queue)
    if isinstance(spec, str):
        spec = {"kind": spec}
    rtt = of_flows["rtt"]
    if delay is None:
        # A single `rtt` is the round trip of the links themselves.
        single = isinstance(rtt, str) and of_flows["access_rate"] is None
        delay = f"{_core.parse_time(rtt) / 2 / len(ports) * 1e6:.12g}us" if single else "0s"
        if single:
            of_flows = {**of_flows, "rtt": None}
    if "reverse_queue" in link:
        back = link["reverse_queue"]
        for port in ports:
            link["reverse_queue"] = net._queue(f"{port}.reverse", back)
    rate = link.pop("rate")
    net.document["topology"] = _plain({**topology, "rate": rate, "delay": delay, "queue": spec, **link})
    check_names(net.document, "topology")
    common = {k: v for k, v in of_flows.items() if v is not None}
    groups = flows if isinstance(flows, Mapping) else {"bulk": {"count": count("flows", flows, 1, MOST_COUNTED)}}
    for name, own in groups.items():
        net.flows(name, **{**common, **own})
    return net


def _ends(from_: str | None, to: str | None) -> dict[str, Any]:
    return {key: node for key, node in (("from", from_), ("to", to)) if node is not None}


def _plain(value: Any, key: str = "") -> Any:
    """The value of a key as dicts, lists and scalars; a class of congestion controls by its name."""
    if hasattr(value, "to_dict") and not isinstance(value, type):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {str(k): _plain(v, str(k)) for k, v in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(v, key) for v in value]
    if isinstance(value, type):
        return controls.named(key, value)
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        # A numpy scalar.
        return value.item()
    return value
