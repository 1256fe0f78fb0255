"""Wrong values for `wrong_calls.py`, by what a parameter takes, and arguments that fit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tailback as tb

LINE = """\
name = "small"
duration = "100ms"
interval = "20ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms", queue = { kind = "codel", buffer = "40 packets" } }
[flows.bulk]
count = 2
start = { kind = "uniform", to = "5ms" }
[record.queue]
link = "bottleneck"
probes = ["queue"]
every = "10ms"
"""


class Silent:
    """A transport that sends nothing."""

    def __init__(self, pair: Any, *, gap: float = 1.0) -> None: ...

    def receive(self, data: bytes, ecn: int, now: float) -> None: ...

    def transmit(self, now: float) -> None: ...


class OfMine:
    """An object of the caller's."""


#: Wrong values by what an annotation says: the first that matches. The kinds are what people write.
TYPES: list[tuple[str, dict[str, Any]]] = [
    (r"bool( \| None)?", {"a text for a switch": "yes", "a number for a switch": 2, "a list for a switch": [True]}),
    (r"int( \| None)?", {"a text for a count": "3", "a float for a count": 1.5, "a list for a count": [1]}),
    (
        r"float( \| None)?",
        {"a text for a number": "0.5", "a list for a number": [0.5], "a dict for a number": {"a": 1}},
    ),
    (
        r"(str|Literal\[.*\])( \| None)?",
        {
            "a number for a text": 5,
            "a list for a text": ["x"],
            "a dict for a text": {"a": 1},
            "bytes for a text": b"x",
            "an object for a text": OfMine(),
        },
    ),
    (
        r"(Sequence|Iterable|list)\[.*\]( \| None)?|Numbers( \| None)?",
        {
            "a text for a list": "codel",
            "a number for a list": 5,
            "a switch for a list": True,
            "a dict for a list": {"a": 1},
            "an object for a list": OfMine(),
        },
    ),
    (
        r"(Mapping|dict)\[.*\]( \| None)?",
        {
            "a text for a dict": "codel",
            "a number for a dict": 5,
            "a list for a dict": [1],
            "an object for a dict": OfMine(),
        },
    ),
    (r"(str \| )?(os\.PathLike\[str\]|Path)( \| None)?.*", {"a number for a path": 5, "a list for a path": ["x"]}),
    (r"Progress", {"a text for a function": "yes", "a number for a function": 5}),
    (r"tuple\[.*\]( \| None)?", {"a text for a pair": "ab", "a number for a pair": 5, "a pair that is short": (1,)}),
    (r"(int|str|bool) \| .*|QueueGiven", {"a float": 1.5, "an object": OfMine()}),
]
#: Of what the extension has no annotations for: parameters by name.
EXTENSION = {
    "text": "str",
    "column": "str",
    "name": "str",
    "field": "str",
    "what": "str",
    "ecn": "str",
    "path": "os.PathLike[str]",
    "dir": "os.PathLike[str]",
    "bytes": "int",
    "flow": "int",
    "dscp": "int",
    "sequence": "int",
    "label": "int",
    "index": "int",
    "data": "bool",
    "retransmission": "bool",
    "until": "float",
    "now": "float",
    "acked": "int",
    "key": "str | int",
    "packet": "Packet",
}
#: Parameters whose texts are of a vocabulary or a unit, by function and parameter or by the latter alone.
UNKNOWN = {
    "tb.queue.kind": "codle",
    "tb.Queue.kind": "codle",
    "tb.drive.queue": "codle",
    "tb.congestion.control": "cubik",
    "tb.stack.transport": "quic",
    "tb.rate_control.control": "gccc",
    "tb.drive_congestion.control": "cubik",
    "tb.drive_rate_control.control": "gccc",
    "DrivenRateControl.probe.name": "quene",
    "tb.dumbbell.queue": "codle",
    "tb.parking_lot.queue": "codle",
    "tb.leaf_spine.queue": "codle",
    "tb.fat_tree.queue": "codle",
    "tb.star.queue": "codle",
    "tb.describe.name": "codle",
    "tb.mark.conditioner": "trtc",
    "tb.compare.columns": ["utilization"],
    "tb.compare_points.axis": "queu",
    "tb.compare_points.against": "codle",
    "tb.compare_points.columns": ["goodputs"],
    "tb.compare_queues.queues": ["codel", "codle"],
    "tb.compare_queues.senders": ["cubik"],
    "tb.compare_queues.traffic": ["bulks"],
    "tb.compare_queues.fabric": "leafspine",
    "tb.home_line.queues": ["codle"],
    "tb.home_line.traffic": ["bulks"],
    "tb.home_line.link": "dls",
    "tb.home_line.sender": "cubik",
    "tb.home_line.varies": "wobble",
    "tb.load_sweep.source": "nothing.toml",
    "tb.run.source": "nothing.toml",
    "tb.load_scenario.source": "nothing.toml",
    "tb.load_result.dir": "nowhere",
    "tb.read_results.dir": "nowhere",
    "tb.read_parquet.path": "nowhere.parquet",
    "tb.Plan.product.base": "nothing.toml",
    "Network.sessions.kind": "wbe",
    "Network.link.queue": "codle",
    "Result.plot.what": "quene",
    "plots.plot.what": "quene",
    "plots.over.metric": "links.utilization",
    "plots.over.x": "rat",
    "plots.over.y": "rat",
    "plots.over.by": "rat",
    "plots.spread.metric": "flow.goodput_bps",
    "plots.boxes.metric": "flows.goodputs",
    "plots.delays.what": "sojurn",
    "plots.on.style": "pape",
    "plots.save.kinds": ["pngg"],
    "plots.curves.y": "shard",
    "gym.CongestionEnv.action": "pace",
    "gym.QueueEnv.port": "b",
    "gym.CongestionVectorEnv.action": "pace",
    "gym.QueueVectorEnv.port": "b",
    "gym.policy.save.action": "pace",
    "gym.policy.load.file": "nothing.json",
    "Table.to_list.column": "goodputs",
    "Table.__getitem__.key": "goodputs",
    "DrivenQueue.probe.name": "quene",
    "DrivenControl.congestion.what": "los",
    "Packet.key.field": "flwo",
    "tb.Packet.ecn": "ect9",
    "tb.packet.ecn": "ect9",
    "lab.notebook.view.beside": "codle",
    "lab.tours.find.name": "bloat",
    "Plan.execute.others": "besides",
    "overrides": ["nothing.here=1"],
    "rate": "fast",
    "bottleneck": "fast",
    "rtt": "fast",
    "delay": "fast",
    "access": "fast",
    "down": "fast",
    "up": "fast",
    "modem": "fast",
    "share": "much",
    "packet": "big",
    "buffer": "big",
    "interval": "often",
    "duration": "long",
    "warmup": "long",
    "text": "fast",
}
#: Numbers that are out of range.
BEYOND = {
    "seed": -1,
    "replications": 0,
    "jobs": -1,
    "hops": 0,
    "flows": -3,
    "hosts": 0,
    "transfers": -1,
    "num_envs": 0,
    "threads": -2,
    "width": -4,
    "bytes": -1,
    "dscp": 99,
    "delay_weight": float("nan"),
    "loss_weight": float("inf"),
    "shard": (3, 2),
    "tb.Wait.until": float("nan"),
    "confidence": 2.0,
    "t_quantile.p": 1.5,
}
#: What a parameter that takes several kinds takes never.
NEVER = {
    "source": 5,
    "base": [1],
    "results": 5,
    "result": "codel",
    "a": 5,
    "b": "codel",
    "queue": 5,
    "control": 5,
    "conditioner": 5,
    "packets": [5],
    "points": [5],
    "axes": {"flows.bulk.count": 5},
    "scenarios": 5,
    "scenario": 5,
    "action": [0.5, "x"],
    "actions": [0.5],
    "options": {"scenario": "x"},
    "packet": 5,
    "key": 1.5,
    "client": 5,
    "senders": [5],
    "adapt": "gccc",
    "queues": [5],
    "tcp": {"congestion": 5},
    "document": {"durations": "1s"},
    "layers": [5],
    "tb.load_sweep.source": {"scenario": LINE, "axes": {}},
    "tb.run.source": {**tomllib.loads(LINE), "durations": "1s"},
}
#: Keys that there are not, for what takes any, and for links and groups with a value that they cannot have.
KEYS = {
    "Table.where": {"nam": "bottleneck"},
    "Network.link": {"rate": "fast"},
    "Network.flows": {"count": "many"},
    "Network.record": {"every": 5},
    "Network.change": {"at": "soon"},
    "Network.sessions": {"kidn": 1},
    "tb.queue": {"target": "soon"},
    "tb.congestion": {"gain": 1},
    "tb.stack": {"gain": 1},
    "tb.rate_control": {"xref": "soon"},
    "tb.dumbbell": {"conditioner": "trtc"},
    "Network.set": {"duration": "long"},
    "Network.switch": {"alpha": "much"},
    "tb.Queue": {"bufer": 1},
}
#: What these give is right, or the kind of a value is no mistake there: any object is taken for a name of its own.
FITS = {
    ("table flows", "sizes", "a key with a value that does not fit"),
}


class World:
    """What calls are made with: small results, and files of them."""

    def __init__(self, folder: Path) -> None:
        from tailback.show import plots

        self.folder = folder
        self.result, self.other = tb.run(LINE, replications=2), tb.run(LINE, seed=1, duration="90ms", replications=2)
        self.plan = tb.Plan.product(LINE, {"queue": ("topology.queue.kind", ["droptail", "codel"])}, replications=2)
        self.results = self.plan.execute()
        self.result.save(folder / "A")
        self.figure = plots.series([("queue", [0.0, 1.0], [2.0, 3.0])], "queue (packets)")
        plots.series([("a", [0], [1])], "y")
        rates = {"paths": ["topology.rate"], "values": ["5Mbps", "10Mbps"]}
        self.sweep_of = {"scenario": tomllib.loads(LINE), "axis": {"rate": rates}}

    def net(self) -> tb.Network:
        return tb.dumbbell(flows=2, bottleneck="5Mbps", rtt="10ms", queue="codel").set(duration="50ms")

    def given(self) -> dict[str, Any]:
        """Arguments that fit, by function and parameter or by the latter alone."""
        from tailback.show import plots

        one, field = plots.Curve("codel", "CoDel", [1.0, 2.0], [3.0, 4.0]), [[1.0, 2.0]]
        sizes = plots.Completions("web", [1e3], [0.1], [("small", 0.0, 1e6)])
        import numpy as np

        return {
            "source": tomllib.loads(LINE),
            "base": LINE,
            "axes": {"flows.bulk.count": [1, 2]},
            "points": [({"n": "1"}, LINE)],
            "tb.Plan.explicit.points": [({"n": "1"}, ["flows.bulk.count=1"])],
            "a": self.result,
            "b": self.other,
            "tb.load_sweep.source": self.sweep_of,
            "tb.load_result.dir": self.folder / "A",
            "tb.read_results.dir": self.folder / "A",
            "tb.read_parquet.path": self.folder / "A" / "links.parquet",
            "tb.compare_points.axis": "queue",
            "tb.compare_points.against": "droptail",
            "kind": "codel",
            "Network.sessions.kind": "web",
            "tb.compare_points.results": self.results,
            "result": self.result,
            "results": self.results,
            "metric": "links.utilisation",
            "x": "queue",
            "rate": "5Mbps",
            "rtt": "20ms",
            "flows": 2,
            "tb.home_line.down": "10Mbps",
            "tb.home_line.up": "5Mbps",
            "tb.home_line.rtt": "20ms",
            "down": "10Mbps",
            "up": "2Mbps",
            "queue": "codel",
            "control": "reno",
            "hops": 2,
            "text": "5Mbps",
            "tb.parse_time.text": "5ms",
            "tb.parse_size.text": "5KB",
            "tb.parse_bytes.text": "5KB",
            "tb.parse_level.text": "5KB",
            "conditioner": {"kind": "token-bucket", "rate": "8Mbps", "depth": "1000B"},
            "packets": [(0.0, 1000)],
            "until": 1.0,
            "node": "left",
            "dir": "made",
            "folder": "made",
            "column": "name",
            "key": "name",
            "stats.t_cdf.t": 1.0,
            "df": 3,
            "p": 0.7,
            "values": [1.0, 2.0],
            "scenario": self.net(),
            "stats.paired.a": [1.0, 2.0],
            "stats.paired.b": [2.0, 4.0],
            "file": "policy.json",
            "interval_s": 0.02,
            "layers": [([[0.0] * 7], [0.1])],
            "gym.policy.act.layers": [{"weights": [[1.0]], "biases": [0.0]}],
            "seen": [1.0],
            "action": [0.0],
            "actions": [[0.0], [0.0]],
            "name": "bulk2",
            "lab.tours.find.name": "red-average",
            "field": "flow",
            "what": "sojourn",
            "DrivenControl.congestion.what": "loss",
            "tb.rate_control.control": "nada",
            "tb.drive_rate_control.control": "nada",
            "DrivenRateControl.feedback.packets": [(0, 1240, 0.02, 0.05)],
            "DrivenRateControl.feedback.rtt": 0.05,
            "DrivenRateControl.probe.name": "queueing",
            "number": 0,
            "tb.stack.transport": Silent,
            "now": 0.1,
            "DrivenControl.sent.seq": 0,
            "tb.fat_tree.k": 4,
            "tb.fat_tree.delay": "1us",
            "tb.leaf_spine.delay": "1us",
            "tb.star.delay": "1us",
            "tb.star.hosts": 4,
            "tb.leaf_spine.leaves": 2,
            "tb.leaf_spine.spines": 2,
            "tb.leaf_spine.hosts": 4,
            "acked": 1000,
            "packet": tb.packet(),
            "DrivenQueue.probe.name": "count",
            "title": "A title",
            "xlabel": "time (s)",
            "ylabel": "queue",
            "label": "CoDel",
            "fig": self.figure,
            "stem": "made",
            "t": [0.0, 1.0],
            "kinds": ["png"],
            "plots.queue_against_time.queue": [1.0, 2.0],
            "names": ["codel"],
            "width": 6.0,
            "height": 3.0,
            "n": 2,
            "plots.on.width": 3.5,
            "Result.summary.width": 80,
            "why": "no data",
            "ax": self.figure.axes[0],
            "place": "outside right center",
            "handles": {},
            "classes": ["small"],
            "index": 0,
            "fair_share": 1.0,
            "panels": [plots.Panel([one])],
            "plots.heat.panels": [plots.Field("codel", np.array(field))],
            "plots.heat.x": ("rate", ["1", "2"]),
            "y": None,
            "plots.heat.y": ("rtt", ["1"]),
            "plots.curves.y": "own",
            "plots.completions.panels": [sizes],
            "lines": [("codel", [0.0, 1.0], [1.0, 2.0])],
            "plots.goodputs_by_kind.panels": [("a", {"bulk": [1.0, 2.0]})],
            "groups": [("codel", "CoDel", [1.0, 2.0])],
            "plots.distributions.lines": [("codel", "CoDel", [1.0, 2.0])],
            "spans": [("load", 0.0, 1.0)],
            "plots.cumulative.lines": [plots.Cumulative("codel", "CoDel", [1.0, 2.0], [0.5, 1.0])],
            "rows": [("load", {"codel": (1.0, 0.1)})],
            "plots.spans.rows": [("codel", 1.0, 2.0, 3.0)],
            "plots.shares.rows": [("codel", [[1.0]])],
            "tour": None,
            "plots.delays.results": self.result,
            "as_curve.points": [(1.0, 2.0, 0.1)],
            "plots.as_curve.points": [(1.0, 2.0, 0.1)],
            "plots.as_curve.name": "codel",
            "bytes": 1500,
            "tb.compare_queues.queues": ["droptail", "codel"],
            "tb.describe.name": "codel",
            "measure": "loss",
            "Sweep.plan.replications": [1, 1],
            "DrivenQueue.enqueue.now": 0.0,
            "send": print,
            "Plan.execute.dir": "made",
            "Sweep.execute.dir": "made",
        }


#: Values that a parameter of a model cannot have, by its kind in the declaration.
DECLARED = {
    "time": ["soon", 5, "-1s", [1]],
    "rate": ["fast", 5, "-1bps"],
    "size": ["big", {"a": 1}],
    "level": ["big", {"a": 1}],
    "bytes": ["big", -5, "5 packets"],
    "count": ["many", -(10**9), 1.5],
    "choice": ["nosuch", 5],
    "number": ["much", {"a": 1}],
    "flag": ["yes", 3],
    "model": ["codle", 5],
}
