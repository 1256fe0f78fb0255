"""Draw wrong calls of the Python package, and wrong tours, plans and options; see that each is one clear message.

    .venv/bin/python tests/faults/wrong_calls.py --calls 600 --lines 600 --seed 1

Functions, methods and their parameters are read from the package, and options from the program, so that new ones are
drawn too. One thing is wrong in each draw; all else fits. What must hold:

* a call raises where the wrong thing is written; a line ends with status 2 and leaves nothing behind;
* one message, which names what is written: the parameter, key or option, or the value;
* the message is in tailback's words: no traceback, no text of a library or of Python's inner workings. That a call
  lacks an argument, or has one too many, Python says itself.

Tours, plans and options are in `wrong_texts.py`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import random
import re
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tailback as tb

sys.path.insert(0, str(Path(__file__).resolve().parent))
import wrong_texts
import wrong_values

#: What Python and libraries say, and tailback does not.
FOREIGN = re.compile(
    r"object (is not|has no|cannot|of type|does not)|has no attribute|not an instance of|failed to extract|"
    r"cannot be (converted|interpreted)|invalid literal|could not (convert|be)|unsupported (operand|format)|"
    r"not supported between|"
    r"(must|should) be (a )?(real number|str\b|int\b|integer|bytes|string|list|tuple|dict|positive|sequence)|"
    r"expected (str|bytes|at (least|most)|\d+)|(indices|index) must|argument of type|"
    r"not (iterable|subscriptable|callable)|unhashable|unpack|math domain|division by zero|operands could not|"
    r"inhomogeneous|broadcast|invalid value|zip\(\)|Expected `|msgspec|matplotlib|numpy|pandas|polars|pyarrow|"
    r"dtype|NoneType|<class '|<\w+ object|argument '\w+':|\[Errno|\(os error|codec can't|"
    r"not JSON serializable|Traceback|out of range integral|panicked|please report"
)
#: Python's own words about which arguments there are.
OF_PYTHON = re.compile(r"\(\) (missing \d|takes |got an unexpected|got multiple|got some)|takes no arguments")
#: How tailback refuses: its own errors, and these.
REFUSALS = (ValueError, TypeError, KeyError, IndexError, OSError, RuntimeError, ImportError)
CALL_S = 20


class Subject(NamedTuple):
    """Something that can be called, and how arguments that fit are made."""

    name: str
    #: Gives the callable, each time on an object of its own where calls change it.
    make: Callable[[], Any]


class Draw(NamedTuple):
    """A call with one wrong argument."""

    subject: Subject
    parameter: str
    kind: str
    value: Any


def declared(rng: random.Random) -> Iterator[Draw]:
    """Parameters of queues, controls and groups of flows with values that they cannot have."""
    families = {f["family"]: [m["name"] for m in f["models"]] for f in tb.describe()}
    whats = [(family, name) for family in ("queue", "congestion", "rate-control") for name in families[family]]
    for family, name in [*whats, ("table", "flows"), ("table", "link")]:
        models = [m for m in tb.describe(name) if m["family"] == family]
        for p in models[0]["parameters"] if models else []:
            values = wrong_values.DECLARED.get(p["kind"]["type"], [])
            if not values or p["name"] in ("class", "from", "to", "probes", "queue") or p["kind"]["list"]:
                continue
            value = rng.choice(values)
            makes = {
                "queue": lambda name=name: functools.partial(tb.queue, name),
                "congestion": lambda name=name: functools.partial(tb.congestion, name),
                "rate-control": lambda name=name: functools.partial(tb.rate_control, name),
                "flows": lambda: functools.partial(tb.dumbbell().flows, "bulk"),
                "link": lambda: functools.partial(tb.dumbbell().link, "bottleneck"),
            }
            made = Subject(f"{family} {name}", makes[name if family == "table" else family])
            yield Draw(made, p["name"], "a key with a value that does not fit", {p["name"]: value})


#: Modules whose public names are drawn.
MODULES = ("", "plots", "stats", "gym", "gym.policy", "lab.notebook", "lab.tours")


def subjects(world: wrong_values.World) -> Iterator[Subject]:
    """Functions and classes of the package, and methods of what they give."""
    for module in MODULES:
        with contextlib.suppress(ImportError):
            of = importlib.import_module(f"tailback.{module}".rstrip("."))
            own = [k for k, v in vars(of).items() if getattr(v, "__module__", "") == of.__name__ and k[0] != "_"]
            for name in getattr(of, "__all__", own):
                called = f"{module or 'tb'}.{name}"
                if called not in INWARD and is_called(getattr(of, name)):
                    yield Subject(called, lambda of=of, name=name: getattr(of, name))
    for make in objects(world):
        kind = type(make())
        for name, thing in inspect.getmembers(kind, callable):
            named = (name[0] != "_" or name == "__getitem__") and name not in ("close", "render")
            ours = any(name in vars(c) and c.__module__.startswith("tailback") for c in kind.__mro__)
            if named and ours and callable(thing) and f"{kind.__name__}.{name}" not in INWARD:
                yield Subject(f"{kind.__name__}.{name}", lambda make=make, name=name: getattr(make(), name))
    for name in ("product", "zip", "explicit"):
        yield Subject(f"tb.Plan.{name}", lambda name=name: getattr(tb.Plan, name))


def is_called(thing: Any) -> bool:
    """A function, or a class that users make objects of; not one that only holds what it is given."""
    if not isinstance(thing, type):
        return callable(thing)
    if issubclass(thing, BaseException) or hasattr(thing, "__dataclass_fields__"):
        return False
    return "__init__" in vars(thing) or thing.__name__ in ("Packet", "Wait")


#: What tailback itself calls, of objects that it has made.
INWARD = {
    "tb.Result",
    "tb.Sweep",
    "tb.schema",
    "plots.styled",
    "gym.policy.TrainedPolicy",
    "gym.policy.write_text",
    "Result.to_dict",
    "plots.sheet",
    "Plan.product",
    "Plan.zip",
    "Plan.explicit",
    "lab.tours.Tour",
    "Plan.build",
    "lab.tours.shown",
    "CongestionVectorEnv.close_extras",
    "lab.tours.read",
    "lab.tours.check",
    "plots.Drawing",
}


def objects(world: wrong_values.World) -> Iterator[Callable[[], Any]]:
    """What makes an object whose methods are called."""
    yield world.net
    yield lambda: tb.queue("codel")
    yield lambda: tb.Plan([({}, wrong_values.LINE)])
    yield lambda: tb.load_sweep(world.sweep_of)
    yield lambda: world.result
    yield lambda: world.result.links
    yield tb.packet
    yield lambda: tb.drive("codel")
    yield lambda: tb.drive_congestion("reno")
    yield lambda: tb.drive_rate_control("nada")
    with contextlib.suppress(ImportError):
        import tailback.gym as steps

        def begun(make: Callable[..., Any]) -> Any:
            made = make()
            made.reset(seed=1)
            return made

        yield lambda: begun(steps.CongestionEnv)
        yield lambda: begun(lambda: steps.CongestionVectorEnv(2))


def parameters(subject: Subject) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(subject.make()).parameters.values())
    except ValueError:
        return []
    return [p for p in found if p.name not in ("self", "render_mode")]


def said_of(p: inspect.Parameter) -> str:
    return wrong_values.EXTENSION.get(p.name, "") if p.annotation is inspect.Parameter.empty else str(p.annotation)


def draws(subject: Subject) -> Iterator[Draw]:
    """Every wrong call of it that there is to draw."""
    for p in parameters(subject):
        at = f"{subject.name}.{p.name}"
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            yield Draw(subject, "nosuch", "a key that there is not", {"nosuch": 1})
            for key, value in wrong_values.KEYS.get(subject.name, {}).items():
                yield Draw(subject, key, "a key with a value that does not fit", {key: value})
            continue
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        annotation = said_of(p)
        kinds = next((k for said, k in wrong_values.TYPES if re.fullmatch(said, annotation.strip("'"))), {})
        for kind, value in kinds.items():
            if (isinstance(value, dict) and "Mapping" in annotation) or (
                isinstance(value, list) and "PathLike" in p.name
            ):
                continue
            yield Draw(subject, p.name, kind, value)
        for kind, table in (
            ("an unknown name or unit", wrong_values.UNKNOWN),
            ("a number out of range", wrong_values.BEYOND),
            ("of no kind", wrong_values.NEVER),
        ):
            short = ".".join(at.split(".")[-2:])
            for key in (at, short, p.name):
                if key in table:
                    yield Draw(subject, p.name, kind, table[key])
                    break


def arguments(subject: Subject, given: dict[str, Any], wrong: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit, but for the wrong one. Raises LookupError where none is known."""
    positional, named = [], {}
    if isinstance(subject.make(), functools.partial):
        return [], dict(wrong.value)
    for p in parameters(subject):
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            if isinstance(wrong.value, dict) and wrong.kind.startswith("a key"):
                named.update(wrong.value)
            continue
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        at = f"{subject.name}.{p.name}"
        if p.name == wrong.parameter and not wrong.kind.startswith("a key"):
            value = wrong.value
        elif at in given:
            value = given[at]
        elif p.default is not inspect.Parameter.empty:
            if p.kind is inspect.Parameter.POSITIONAL_ONLY and at not in given:
                positional.append(p.default)
            continue
        elif p.name in given:
            value = given[p.name]
        else:
            raise LookupError(at)
        if p.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[p.name] = value
    return positional, named


class Late(Exception):
    """A call took too long."""


def called(draw: Draw, given: dict[str, Any]) -> tuple[str, str]:
    """What is wrong with how a call was refused, or nothing; and what it said."""
    before = {*Path().rglob("*")}
    try:
        positional, named = arguments(draw.subject, given, draw)
    except LookupError as e:
        return "no argument that fits is known", f"add a row to wrong_values.World.given for {e}"

    def late(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    signal.alarm(CALL_S)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = draw.subject.make()(*positional, **named)
            if hasattr(made, "__enter__") and draw.subject.name == "plots.on":
                made.__enter__()
    except Late:
        return "takes too long", ""
    except REFUSALS as e:
        return judged(draw, e, {*Path().rglob("*")} - before)
    except Exception as e:
        return "an inner error", f"{type(e).__name__}: {e}"
    finally:
        signal.alarm(0)
    return "taken", repr(type(made))


def judged(draw: Draw, e: Exception, left: set[Path]) -> tuple[str, str]:
    text = str(e.args[0]) if isinstance(e, KeyError) and e.args else str(e)
    last = traceback.extract_tb(e.__traceback__)[-1]
    said = f"{type(e).__name__}: {text}\n        at {Path(last.filename).name}:{last.lineno}"
    if OF_PYTHON.search(text) and "tailback" in last.filename + __file__:
        return ("" if draw.parameter in text or "nosuch" in text else "Python's own words"), said
    # The extension has no frames: it raises in the line that calls it.
    own = "/tailback/" in last.filename and ((last.line or "").startswith("raise") or "_core." in (last.line or ""))
    if not (own or last.filename == __file__) or FOREIGN.search(text):
        return "words of a library", said
    if left:
        return "left behind", said + f"\n        {sorted(map(str, left))[:3]}"
    if not names(text, draw.parameter, draw.value):
        return "does not name it", said
    if text.count("error:") > 1:
        return "several messages", said
    return "", said


def names(text: str, parameter: str, value: Any) -> bool:
    """Whether a message has the parameter or the value in it."""
    words = [rf"\b{re.escape(parameter.rstrip('_s'))}s?\b"]
    todo = [value]
    for x in todo:
        if isinstance(x, dict):
            todo += [*x.keys(), *x.values()]
        elif isinstance(x, (list, tuple)):
            todo += x
        elif isinstance(x, wrong_values.OfMine):
            words.append("OfMine")
        elif x not in ("", None):
            words += [re.escape(str(x)), *(re.escape(w) for w in re.findall(r"[a-z_]{4,}", str(x)))]
    return any(re.search(w, text) for w in words)


def calls(n: int, rng: random.Random, world: wrong_values.World) -> tuple[list[Draw], list[Draw]]:
    """So many draws, each function as often as another; and all that there are."""
    own: dict[str, list[Draw]] = collections.defaultdict(list)
    for d in itertools.chain(*(draws(s) for s in subjects(world)), declared(rng)):
        if (d.subject.name, d.parameter, d.kind) not in wrong_values.FITS:
            own[d.subject.name].append(d)
    by = list(own.values())
    for some in by:
        rng.shuffle(some)
    order = [d for d in itertools.chain.from_iterable(itertools.zip_longest(*rng.sample(by, len(by)))) if d is not None]
    return (order[:n] if n else order), order


class Texts:
    """Lines with wrong tours, plans and options, in forks of a process that has tailback imported."""

    def __init__(self, folder: Path, seed: int) -> None:
        import fuzz_commands

        folder.mkdir()
        beside = str(Path(sys.executable).parent / "tailback")
        a = argparse.Namespace(python=sys.executable, tailback=beside, seed=seed, work=folder, only=None)
        self.fuzz, self.folder = fuzz_commands.Fuzz(a), folder
        self.fuzz.prepare()
        self.before = fuzz_commands.snapshot(self.fuzz.files.base)

    def drawn(self, n: int, rng: random.Random) -> tuple[list[wrong_texts.WrongText], int]:
        """So many draws, a third each of tours, of plans and of options, each kind of mistake as often as another."""
        of = {**wrong_texts.documents(rng), "options": wrong_texts.lines(self.fuzz.commands, rng, self.fuzz.files)}
        found: list[wrong_texts.WrongText] = []
        for i, several in enumerate(of.values()):
            by: dict[str, list[wrong_texts.WrongText]] = collections.defaultdict(list)
            for w in rng.sample(several, len(several)):
                by[w.kind].append(w)
            order = [w for w in itertools.chain.from_iterable(itertools.zip_longest(*by.values())) if w is not None]
            found += order[: n // 3 + (i < n % 3)] if n else order
        return found, sum(map(len, of.values()))

    def told(self, w: wrong_texts.WrongText) -> tuple[str, str]:
        """What is wrong with how a line was refused, or nothing; and what it said."""
        cwd = self.folder / "here"
        shutil.rmtree(cwd, ignore_errors=True)
        cwd.mkdir()
        for name, text in w.files.items():
            (cwd / name).write_text(text, encoding="utf-8")
        found = self.fuzz.run(w.args, cwd, given=w.given)
        said, status = found["err"].strip(), found["status"]
        errors = [x for x in said.splitlines() if x.startswith(("error:", "Error:"))]
        left = [p.name for p in cwd.rglob("*") if p.name not in w.files]
        if "Traceback (most recent call last)" in said or status in (99, 101) or status < 0:
            return "a traceback", said
        if status == 0:
            return "taken", said
        if FOREIGN.search(said):
            return "words of a library", said
        if status != 2:
            return f"status {status}", said
        if len(errors) != 1:
            return f"{len(errors)} messages", said
        if left:
            return "left behind", f"{left[:4]} {said}"
        whole = " ".join(said.split())
        if not any(x and x in whole for x in w.names):
            return "does not name it", said
        return "", said


def texts(n: int, rng: random.Random, folder: Path, seed: int, failures: dict[str, list[str]], tell: bool) -> str:
    of = Texts(folder, seed)
    drawn, known = of.drawn(n, rng)
    counted = 0
    for w in drawn:
        wrong, said = of.told(w)
        if wrong == "taken" and not w.kind.startswith(tuple(wrong_texts.NEVER_RIGHT)):
            # It happens to be right.
            continue
        counted += 1
        body = "".join(f"\n        | {x}" for x in said.splitlines()[-6:])
        told = f"tailback {shlex.join(w.args)}: {w.kind}, {w.names}{body}"
        if wrong:
            failures.setdefault(f"{wrong}, of {w.args[0] if w.files else 'an option'}", []).append(told)
        if tell:
            print(f"{wrong or 'fine'}: {told}")
    assert of.fuzz.server.stdin
    of.fuzz.server.stdin.close()
    of.fuzz.server.wait()
    return f"{counted} wrong tours, plans and options, of {known} known"


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--calls", type=int, default=600, help="calls to draw; 0 for all that there are")
    p.add_argument("--lines", type=int, default=600, help="tours, plans and lines; 0 for all, -1 for none")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tell", action="store_true", help="print every message")
    a = p.parse_args()
    rng = random.Random(a.seed)
    failures: dict[str, list[str]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="tailback-wrong-") as fresh, contextlib.chdir(fresh):
        world = wrong_values.World(Path(fresh))
        given = world.given()
        drawn, known = calls(a.calls, rng, world)
        for d in drawn:
            wrong, said = called(d, given)
            told = f"{d.subject.name}({d.parameter}={d.value!r}), {d.kind}: {said}"
            if wrong:
                failures[wrong].append(told)
            if a.tell:
                print(f"{wrong or 'fine'}: {told}")
        if a.lines >= 0:
            counted = texts(a.lines, rng, Path(fresh, "texts"), a.seed, failures, a.tell)
            print(counted)
    functions = len({d.subject.name for d in drawn})
    print(f"{len(drawn)} wrong calls of {functions} functions, of {len(known)} known, seed {a.seed}")
    for kind, all_told in sorted(failures.items()):
        print(f"\nFAIL {kind} ({len(all_told)} times)")
        for told in all_told:
            print(f"    {told}")
    print("FAIL" if failures else "PASS")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
