"""The result of one scenario: its tables, the scenario and its manifest, and the methods that show it."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback import _core
from tailback.core.scenario.own_probes import own_units
from tailback.core.scenario.read import Source, override_texts, queues_of, read
from tailback.core.scenario.read import stored as stored_scenario
from tailback.core.store import manifest
from tailback.core.store.keys import stored
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.core.text.plain import warn
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import Progress

if TYPE_CHECKING:
    from tailback.show.plots.style import Drawing

#: The attributes that a result takes from its runs.
_OF_RESULTS = ("failure", "interrupted", "store_error", "reports", "report")


class RunError(RuntimeError):
    """A run failed. `result` has the runs that did not fail.

    >>> class Broken:
    ...     def enqueue(self, p, line, out):
    ...         raise ValueError("no")
    >>> try:
    ...     tb.run(tb.dumbbell(queue=Broken), duration="1s")
    ... except tb.RunError as e:
    ...     e.result.runs["status"].tolist()
    ['failed']
    """

    result: Any = None


class Result:
    """Tables of a scenario's replications: `flows`, `groups`, `links`, `losses`, `intervals`,
    `link_intervals`, `series`, `log`, `transfers`, `pages`, `completions` (times by size), `layers` (of a fabric),
    `slowdowns` (of workloads, by size), `datagrams`, `frames`, `runs`.

    Each is a `tailback.Table`: `result.links["utilisation"]` is a numpy array, `result.flows.to_polars()` a data frame.

    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> result = net.record(link="bottleneck", probes=["queue"], every="10ms").run(duration="5s", replications=2)
    >>> result.flows["goodput_bps"].shape
    (4,)
    >>> figure = result.plot("queue")
    >>> result.save("out/two")
    """

    if TYPE_CHECKING:
        runs: _core.Table
        flows: _core.Table
        groups: _core.Table
        links: _core.Table
        losses: _core.Table
        intervals: _core.Table
        link_intervals: _core.Table
        series: _core.Table
        log: _core.Table
        transfers: _core.Table
        pages: _core.Table
        completions: _core.Table
        layers: _core.Table
        slowdowns: _core.Table
        datagrams: _core.Table
        frames: _core.Table
        failure: dict[str, Any] | None
        interrupted: bool
        store_error: OSError | None
        reports: list[dict[str, Any]]
        report: dict[str, Any]

    def __init__(
        self, results: Any, scenario: Any, manifest: Mapping[str, Any] | None = None, queues: Any = None
    ) -> None:
        self.results = results
        self.scenario = scenario
        self.manifest = dict(manifest or {})
        #: Makers of disciplines written in Python, by port.
        self.queues = dict(queues or {})

    def __getattr__(self, name: str) -> Any:
        if name in _core.TABLES or name in _OF_RESULTS:
            return getattr(self.results, name)
        raise AttributeError(f"a result has no attribute {name!r}; its tables are {', '.join(_core.TABLES)}")

    @property
    def replications(self) -> int:
        """The number of runs."""
        return len(self.results.runs)

    @checked
    def summary(self, width: int | None = None) -> str:
        """The groups and links as text, with confidence intervals if there are replications. The text is as wide as
        `width`, or else as the terminal, or 80 columns if neither is known."""
        from tailback.core.results.summary import text

        return text(self, check.width(width))

    def to_dict(self) -> dict[str, Any]:
        """The document of `tailback run --json`."""
        from tailback.core.results.document import document

        return document(self)

    @checked
    def plot(self, what: str = "queue", /, **kw: Any) -> Drawing:
        """A matplotlib figure of the result; `tailback.plots` has the kinds of figures."""
        from tailback.show import plots

        return plots.plot(self, what, **kw)

    @checked
    def save(self, dir: str | os.PathLike[str]) -> None:
        """Write the tables as Parquet, `scenario.toml` and `manifest.json`."""
        folder = Path(dir)
        folder.mkdir(parents=True, exist_ok=True)
        manifest.write_scenario(folder, self.scenario)
        for name in _core.TABLES:
            _core.write_parquet(getattr(self.results, name), folder / f"{name}.parquet")
        # Entries about another folder are not written into this one.
        contents = self.manifest or manifest.make(self, own_units([self.scenario]))
        manifest.write(folder, {k: v for k, v in contents.items() if k not in ("tables", "sum")})

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_core.TABLES, *_OF_RESULTS})

    def __eq__(self, other: object) -> bool:
        """Whether two results have the same scenario, seeds and tables."""
        if not isinstance(other, Result):
            return NotImplemented
        return bool(self.scenario == other.scenario and self.results == other.results)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        # Makers of disciplines are left out, because their code may be missing where the result is read. The manifest
        # has their names.
        return {**self.__dict__, "queues": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.groups._repr_html_() + self.links._repr_html_()


@checked
def run(
    source: Source,
    duration: str | None = None,
    seed: int | None = None,
    replications: int = 1,
    warmup: str | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    queues: Mapping[str, Callable[[], Any]] | None = None,
    overrides: Iterable[str] | Mapping[str, Any] = (),
    queues_key: str | None = None,
    check_laws: bool = False,
) -> Result:
    """Run a scenario (a path, a text, a dict, a network) and return its result.

    With `out`, results are stored in this folder, and a repeated call takes the stored runs. Raises
    `tailback.ScenarioError` for a scenario that is wrong, `RunError` for a run that failed, OSError if the results
    cannot be stored. `progress=True` shows a bar on a terminal or in a notebook; a function is called with the state a
    few times a second. With `check_laws`, a run fails if it breaks one of the laws that hold in every run.

    >>> text = '''
    ... duration = "5s"
    ... [link.bottleneck]
    ... from = "left"
    ... to = "right"
    ... rate = "10Mbps"
    ... delay = "10ms"
    ... queue = "codel"
    ... [flows.bulk]
    ... count = 2
    ... '''
    >>> result = tb.run(text, replications=2, overrides=["link.bottleneck.queue=fq-codel"])
    >>> len(result.flows)
    4
    """
    if seed is not None:
        seed = check.seed(seed)
    replications, jobs = check.replications(replications), check.jobs(jobs)
    texts = override_texts(overrides)
    arguments = (("duration", duration), ("warmup", warmup), ("seed", seed))
    texts += [f"{key}={value}" for key, value in arguments if value is not None]
    if isinstance(source, _core.Scenario) and not texts:
        scenario = source
    else:
        queues = {**queues_of(source), **(queues or {})} or None
        scenario = read(source, texts, classes=bool(queues))
    result = execute(scenario, replications, jobs, out, progress, queues, queues_key, check_laws=check_laws)
    if result.failure is not None:
        error = RunError(failure_text(result))
        error.result = result
        raise error
    if result.store_error is not None:
        raise result.store_error
    return result


def failure_text(result: Result) -> str:
    """One sentence with the reason why the first failed run failed."""
    f = result.failure or {}
    return f"the run with seed {f['seed']} failed: {f['message']}"


def execute(
    scenario: Any,
    replications: int = 1,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    queues: Mapping[str, Callable[[], Any]] | None = None,
    queues_key: str | None = None,
    command: list[str] | None = None,
    check_laws: bool = False,
) -> Result:
    """Run a loaded scenario. The result contains failures."""
    for w in scenario.warnings:
        warn(w)
    plan = Plan([({}, scenario)], replications)
    begin_time = datetime.datetime.now(datetime.UTC)
    units = own_units([scenario])
    if out is None:
        results = plan.execute(None, jobs, progress, queues, queues_key, check_laws=check_laws)
        result = Result(results, scenario, queues=queues)
        result.manifest = manifest.make(result, units, begin_time, command)
        return result
    # The folder is checked first, so that no run is lost if it cannot be written. Old results stay whole until the new
    # ones are stored.
    out_folder = Path(out)
    out_folder.mkdir(parents=True, exist_ok=True)
    lost_runs = 0 if queues or scenario.controls else len(stored(out_folder) - {run["key"] for run in plan.runs()})
    if lost_runs:
        runs = "1 run that is" if lost_runs == 1 else f"{lost_runs} runs that are"
        warn(f"{out_folder} holds {runs} not among these, and will be replaced")
    if not (out_folder / "runs.parquet").exists():
        manifest.write_scenario(out_folder, scenario)
    seeds = [run["seed"] for run in plan.runs()]
    about = manifest.about(scenario, seeds, queues or {}, command, units)
    others_mode: Literal["beside", "replace"] = "replace" if lost_runs else "beside"
    results = plan.execute(
        out_folder, jobs, progress, queues, queues_key, others=others_mode, about=about, check_laws=check_laws
    )
    result = Result(results, scenario, queues=queues)
    for path in results.damaged:
        warn(f"{path} is damaged; runs that need it are run again")
    if results.store_error is None and not results.interrupted:
        manifest.write_scenario(out_folder, scenario)
        result.manifest = manifest.read(out_folder)
    return result


@checked
def load_result(dir: str | os.PathLike[str]) -> Result:
    """Read a stored result back.

    >>> tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel").run(duration="2s").save("out/mine")
    >>> tb.load_result("out/mine").replications
    1
    """
    folder = Path(dir)
    results = _core.read_results(folder)
    return Result(results, stored_scenario(folder / "scenario.toml"), manifest.read(folder))
