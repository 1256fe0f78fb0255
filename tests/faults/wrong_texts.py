"""Wrong tours, sweep plans and options for `wrong_calls.py`: documents that fit, in which one thing is made wrong."""

from __future__ import annotations

import contextlib
import copy
import random
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import drawn

#: Plans that fit; each is small.
PLANS = [
    """
scenario = "small.toml"
name = "two"
replications = 2
seed = 3
set = ["duration=40ms"]
then = ["flows.bulk.count=1"]
compare = { axis = "queue", against = "droptail" }
zip = [["rate", "load"]]
[axis.queue]
title = "Queue"
paths = ["topology.queue.kind"]
values = ["droptail", "codel"]
[axis.rate]
paths = ["topology.rate"]
unit = "Mbps"
values = { from = 2, to = 8, count = 3, scale = "log", whole = true }
[axis.load]
paths = ["flows.bulk.count"]
values = [1, 2, 3]
""",
    """
scenario = "small.toml"
at = [{ where = { queue = "codel" }, set = ["topology.queue.target=6ms"] }]
[axis.queue]
paths = ["topology.queue.kind"]
values = { plain = "droptail", controlled = "codel", codel = "codel" }
[axis.line.set]
dsl = { "topology.rate" = "2Mbps", "topology.delay" = "2ms" }
fibre = ["topology.rate=8Mbps"]
[axis.buffer]
by = "queue"
paths = ["topology.queue.buffer"]
unit = "packets"
values = { plain = 20, controlled = [20, 40], codel = { from = 10, to = 40, step = 10 } }
[[case]]
labels = { load = "high" }
set = ["flows.bulk.count=2"]
[[case]]
labels = { load = "low" }
set = ["flows.bulk.count=1"]
""",
    """
scenario = "small.toml"
[axis.rate]
paths = ["topology.rate"]
unit = "Mbps"
values = { from = 2, to = 8, step = 2 }
[stop]
metric = "links.utilisation"
where = { name = "bottleneck" }
half_width = 0.5
at_least = 3
at_most = 4
""",
    """
scenario = "small.toml"
[design]
kind = "latin-hypercube"
points = 4
seed = 1
[axis.rate]
paths = ["topology.rate"]
unit = "Mbps"
values = { from = 1, to = 9, scale = "log" }
[axis.load]
paths = ["flows.bulk.count"]
values = { from = 1, to = 5, whole = true }
""",
]
#: Tables whose keys a user names, as patterns of paths: `*` is one key.
OWN_KEYS = [
    "results",
    "results.*.where",
    "axis",
    "axis.*.set",
    "axis.*.values",
    "axis.*.set.*",
    "at.*.where",
    "case.*.labels",
    "stop.where",
    "scenario.flows",
    "scenario.link",
    "scenario.record",
    "scenario.topology.queue",
]
#: Texts of a vocabulary, by the last key, and what is not in it.
WORDS = {
    "kind": "codle",
    "table": "flow",
    "column": "goodputs",
    "run": "third",
    "of": "average",
    "scale": "square",
    "axis": "quene",
    "against": "nothing",
    "metric": "links.utilization",
    "by": "quene",
    "beside": "codle",
    "congestion": "cubik",
    "paths": ["topology.rat"],
    "zip": [["rate", "lod"]],
    "scenario": "nothing.toml",
    "claims": ["wait_of_nothing > 2"],
    "fails": ["link.bottleneck.queue.buffer=many"],
    "where": {"nothing": "x"},
    "set": ["topology.nothing=1"],
    "then": ["topology.nothing=1"],
}
#: Numbers and amounts out of range, by the last key.
BEYOND = {
    "replications": 0,
    "seed": -1,
    "count": -1,
    "step": 0,
    "points": 0,
    "at_least": 1,
    "at_most": 0,
    "half_width": -0.5,
    "duration": "-1s",
    "warmup": "900s",
    "rate": "0bps",
    "delay": "-1ms",
    "buffer": "many",
    "interval": "0s",
    "between": [5, 1],
    "to": -7,
    "rtt": "-5ms",
    "max_probability": 4.0,
    "weight": 3.0,
    "min_threshold": "high",
}
#: What is added to a document that fits: it contradicts what is there.
EXCLUDED: dict[str, list[tuple[int, dict[str, Any], str]]] = {
    "plan": [
        (0, {"stop": {"metric": "links.utilisation", "half_width": 0.1}}, "replications"),
        (0, {"axis.rate.values.step": 2}, "step"),
        (0, {"axis.queue.by": "rate"}, "by"),
        (0, {"axis.other": {"paths": ["topology.rate"], "values": ["1Mbps"]}}, "topology.rate"),
        (0, {"design": {"kind": "sobol", "points": 4}}, "design"),
        (1, {"axis.load": {"paths": ["flows.bulk.start.to"], "values": ["1ms"]}}, "load"),
        (1, {"zip": [["queue", "buffer"]]}, "zip"),
        (2, {"stop.relative": 0.1}, "relative"),
        (2, {"replications": 2}, "replications"),
        (3, {"axis.rate.values.count": 3, "axis.load.values.count": 3}, "design"),
    ],
    "tour": [
        (0, {"choices": "no right one"}, "choices"),
        (0, {"choices": "two right ones"}, "choices"),
        (0, {"fails_because": ""}, "fails_because"),
    ],
}


#: Kinds of mistakes that nothing makes right. What else is taken happens to be right, and is not counted.
NEVER_RIGHT = {
    "a wrong key",
    "a wrong type",
    "an unknown name",
    "a false claim",
    "no claim",
    "what contradicts",
    "an unknown option",
    "an unknown choice",
    "an unknown path",
    "a text for a number",
    "no amount",
    "a file that is not there",
    "options that exclude one another",
    "out of range",
}


class WrongText(NamedTuple):
    """A line with something wrong, files that it names, and what a message may name."""

    args: list[str]
    kind: str
    names: list[str]
    files: Mapping[str, str] = {}
    given: str | None = None


def tours() -> list[dict[str, Any]]:
    import tailback

    folder = Path(tailback.__file__).parent / "apps" / "lab" / "tours"
    return [tomllib.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.toml"))]


def written(document: Mapping[str, Any]) -> str:
    from tailback.core.scenario.read import as_toml

    return "".join(f"{k} = {as_toml(v)}\n" for k, v in document.items())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every key of a document, with its value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key), inner
        yield from places(inner, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def is_own(path: tuple[Any, ...]) -> bool:
    """Whether the keys of the table at this path are the user's."""
    for pattern in OWN_KEYS:
        parts = pattern.split(".")
        if len(parts) == len(path) and all(p in ("*", str(k)) for p, k in zip(parts, path, strict=True)):
            return True
    return False


def other_type(value: Any, key: str, rng: random.Random) -> Any:
    """A value of another type; none that a scenario would take for the same."""
    if key in ("values", "scenario"):
        # A table is one, too.
        return rng.choice([5, True])
    if isinstance(value, bool):
        return rng.choice(["yes", 3, [True]])
    if isinstance(value, int | float):
        return rng.choice(["many", [value, value], {"kind": 1}])
    if isinstance(value, str):
        return rng.choice([[5], 5, {"no": 1}, True])
    if isinstance(value, list):
        return rng.choice([5, {"no": 1}, True])
    return rng.choice([5, "codel-and-more", True])


def mutations(document: dict[str, Any], rng: random.Random) -> Iterator[tuple[dict[str, Any], str, list[str]]]:
    """The document with one thing wrong, of which kind it is, and what a message may name."""
    for path, value in places(document):
        key = str(path[-1])
        parent = path[:-1]
        around = [str(k) for k in path if isinstance(k, str)][-1:]

        def put(new: Any, name: str | None = None, path: Any = path, parent: Any = parent) -> dict[str, Any]:
            made = copy.deepcopy(document)
            table = at(made, parent)
            if name is None:
                table[path[-1]] = new
            else:
                made_anew = {name if k == path[-1] else k: v for k, v in table.items()}
                table.clear()
                table.update(made_anew)
            return made

        if isinstance(path[-1], str) and not is_own(parent):
            wrong = key[:-1] + "x" + key[-1] if len(key) > 2 else key + "x"
            yield put(value, wrong), "a wrong key", [wrong, key]
        # Any text is a label, and labels and values of a user's own may be numbers.
        if not is_own(parent) and "labels" not in parent and "values" not in parent:
            new = other_type(value, key, rng)
            yield put(new), "a wrong type", [*around, shown(new)]
        if isinstance(value, str) and "where" in parent:
            yield put("nobody"), "an unknown name", ["nobody", "where"]
        if key in WORDS and isinstance(value, type(WORDS[key])):
            yield put(WORDS[key]), "an unknown name", [*words(WORDS[key])]
        beyond = BEYOND.get(key)
        if beyond is not None and all(isinstance(value, t) == isinstance(beyond, t) for t in (int | float, list)):
            yield put(beyond), "out of range", [key, *words(beyond)]


def words(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for x in value:
            yield from words(x)
    elif isinstance(value, dict):
        for k in value:
            yield str(k)
    else:
        text = str(value)
        yield text
        yield from (x for x in text.replace("=", " ").replace(".", " ").split() if len(x) > 3)


def short(value: str) -> Iterator[str]:
    """A number as messages have it."""
    with contextlib.suppress(ValueError):
        yield f"{float(value):g}"


def shown(value: Any) -> str:
    return str(value)


def false_claims(tour: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, list[str]]]:
    for i, claim in enumerate(tour["claims"]):
        turned = claim.translate(str.maketrans("<>", "><"))
        yield {**tour, "claims": [*tour["claims"][:i], turned, *tour["claims"][i + 1 :]]}, "a false claim", [turned]
        no_claim = claim.replace(">", ">=").replace("<", "<=")
        yield {**tour, "claims": [no_claim]}, "no claim", [no_claim]


def contradictions(what: str, documents: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, list[str]]]:
    for number, added, name in EXCLUDED[what]:
        made = copy.deepcopy(documents[number])
        for path, value in added.items():
            if path == "choices":
                for i, choice in enumerate(made["choices"]):
                    choice["right"] = value.startswith("two") and i < 2
                continue
            *parent, last = path.split(".")
            at(made, tuple(parent))[last] = value
        yield made, "what contradicts", [name]


def documents(rng: random.Random) -> dict[str, list[WrongText]]:
    """All wrong tours and plans."""
    found: dict[str, list[WrongText]] = {"tour": [], "plan": []}
    of_tours, of_plans = tours(), [tomllib.loads(p) for p in PLANS]
    for tour in of_tours:
        for made, kind, named in [*mutations(tour, rng), *false_claims(tour)]:
            args = ["lab", "--tour", "mine.toml", "--export", "page.html"]
            found["tour"].append(WrongText(args, kind, named, {"mine.toml": written(made)}))
    for made, kind, named in contradictions("tour", of_tours):
        args = ["lab", "--tour", "mine.toml", "--export", "page.html"]
        found["tour"].append(WrongText(args, kind, named, {"mine.toml": written(made)}))
    for made, kind, named in [m for p in of_plans for m in mutations(p, rng)] + [*contradictions("plan", of_plans)]:
        args = ["sweep", "plan.toml", *rng.choice([["--out", "out"], ["--dry-run"]])]
        found["plan"].append(WrongText(args, kind, named, {"plan.toml": written(made), "small.toml": drawn.SCENARIO}))
    return found


#: Lines whose options exclude one another, or that lack what they need; `@` is a file of ours.
PAIRS = [
    "reproduce @studies/tiny --quick --full",
    "sweep @sweep.toml --shard 1/2 --merge",
    "run @small.toml --out out --json x",
    "export @A flows --means --to x.parquet extra",
    "compare --rate 10Mbps --down 10Mbps --up 2Mbps --rtt 20ms --flows 2",
    "compare --rtt 20ms --flows 2",
    "home --down 10Mbps --rtt 20ms",
    "compare --rate 10Mbps --rtt 20ms --flows 2 --traffic bulk --hosts 3",
    "sweep @sweep.toml --shard 3/2",
    "compare --rate 10Mbps --rtt 20ms --flows 2 --queue codel",
    "plot @A queue --over buffer --to x.png",
    "report @A @B @S",
    "lab --tour bufferbloat @small.toml",
    "lab @small.toml --axis duration=1s,2s",
    "lab @small.toml --export x.html --axis topology.rate=1Mbps --no-browser --port 5",
    "verify @bundle --sample 0",
    "run @small.toml --replications 2 --seed 1 --seeds 3",
    "conform reno --lines @table.csv",
]
#: Values that no option of the kind can have.
QUANTITY = {"rate", "rtt", "buffer", "packet", "duration", "delay", "down", "up", "modem", "share", "depth", "pacing"}
#: Options of names.
NAMES = {
    "link": "nowhere",
    "flow": "nobody.7",
    "column": "utilization",
    "over": "quene",
    "where": "quene=1",
    "across": "quene",
    "queue": "codle",
    "senders": "cubik",
    "traffic": "bulks",
    "study": "kantawalla",
    "congestion": "cubik",
    "beside": "codle",
    "tour": "bloat",
    "discipline": "red=codle",
    "name": "codle",
    "table": "flow",
    "what": "quene",
    "sender": "cubik",
    "varies": "wobble",
    "kind": "wobble",
    "iperf3": "nobody",
}


def lines(commands: list[dict[str, Any]], rng: random.Random, files: drawn.Files) -> list[WrongText]:
    """A wrong value for each option and argument of each command, with all else as it fits."""
    found = []
    for command in commands:
        words_of = " ".join(command["words"])
        found.append(WrongText([*fitting(command, rng, files, None), "--nosuch"], "an unknown option", ["--nosuch"]))
        for p in command["params"]:
            called = p["option"] or p["name"]
            for kind, value in wrong_values(p, rng):
                if command["words"][0] in OF_KERNEL and not (p["choices"] or "for a number" in kind):
                    continue
                args = fitting(command, rng, files, p["name"])
                # What follows the words of a program is the program's.
                at = len(command["words"]) if words_of == "behind" else len(args)
                args[at:at] = [p["option"], value] if p["option"] else ["--", value]
                if not p["option"] and any(
                    q["option"] is None and q["required"] for q in command["params"] if q is not p
                ):
                    continue
                found.append(
                    WrongText(
                        args, f"{kind} of {words_of} {called}", [called.lstrip("-"), *words(value), *short(value)]
                    )
                )
    for text in PAIRS:
        args = [files(w[1:]) if w.startswith("@") else w for w in text.split()]
        found.append(WrongText(args, "options that exclude one another", [w for w in text.split() if "=" not in w]))
    return found


#: What fits, beside what `drawn.py` knows.
FITTING = {
    "--min-threshold": "5 packets",
    "--max-threshold": "15 packets",
    "--max-probability": "0.1",
    "--weight": "0.002",
    "export what": "links",
    "export dir": "@A",
    "export --to": "x.csv",
    "plot what": "queue",
    "plot dir": "@A",
    "--duration": "50ms",
    "export --where": "seed=1",
    "report dir": "@A",
    "report folder": "@A",
    "report other": "@B",
    "home --down": "10Mbps",
    "home --up": "2Mbps",
    "home --rtt": "20ms",
}
NEEDS = {
    "compare": ["--rtt", "--flows", "--duration"],
    "home": ["--down", "--up", "--rtt"],
    "predict redn": ["--rate"],
    "demo": ["--duration"],
}
#: Commands that need two namespaces or a kernel: only what is wrong by itself is drawn.
OF_KERNEL = ("live", "gateway")


def fitting(command: dict[str, Any], rng: random.Random, files: drawn.Files, but: str | None) -> list[str]:
    """A line of the command with what it needs, all of which fits, but for one option."""
    args = [*command["words"]]
    words_of = " ".join(command["words"])
    need = NEEDS.get(words_of, [])
    arguments = []
    for p in command["params"]:
        name = p["option"] or p["name"]
        if p["name"] == but or not (p["required"] or name in need or p["option"] is None) or p["flag"]:
            continue
        value = rng.choice(p["choices"]) if p["choices"] else FITTING.get(f"{words_of} {name}") or FITTING.get(name)
        while not value or value == "-":
            value = drawn._good(words_of, name, rng)
        value = files(value[1:]) if value.startswith("@") else value
        if p["option"]:
            args += [p["option"], value]
        elif value != "-":
            arguments.append(value)
    return args + arguments


def wrong_values(p: dict[str, Any], rng: random.Random) -> Iterator[tuple[str, str]]:
    name = (p["option"] or p["name"]).lstrip("-")
    if p["flag"]:
        return
    if p["choices"]:
        yield "an unknown choice", "nosuch"
    elif p["number"]:
        yield "a text for a number", "many"
        yield "a number out of range", rng.choice(["-5", "1e99", "nan"])
    elif name == "set":
        yield "an unknown path", rng.choice(["topology.nothing=1", "flows.bulk.count=many", "nosuch"])
    elif name in QUANTITY:
        yield "no amount", rng.choice(["fast", "-3", "5 metres"])
    elif name in NAMES:
        yield "an unknown name", NAMES[name]
    elif name in ("file", "scenario", "bundle", "dir", "folder", "other", "replay", "lines"):
        yield "a file that is not there", rng.choice(["not-there.toml", "nowhere/at/all"])
