"""Plans: lists of runs, which are executed on all cores, stored, and resumed after an interruption.

    plan = Plan.product("lab.toml", {"queue": ("link.bottleneck.queue.kind", ["red", "codel"])}, replications=10)
    results = plan.execute("out/lab")

Every point runs with the same seeds, so that comparisons are paired. A run that is already stored is not run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tailback import _core
from tailback.core.scenario import controls as controls_in
from tailback.core.scenario import queues as queues_named
from tailback.core.scenario.read import Source, inline, override_texts, queues_of, read
from tailback.core.store import fingerprint, manifest
from tailback.core.text import given as check
from tailback.core.text.arguments import checked
from tailback.runs.campaign.axes import Axis, Point, clash, in_step, product
from tailback.runs.campaign.errand import Errand
from tailback.runs.campaign.places import check_shard, perform
from tailback.runs.campaign.progress import Progress, shown

# Values by label: `{"link.b.rate": [...]}`, `{"rate": ("link.b.rate", [...])}`, `{"rate": (["link.a.rate",
# "link.b.rate"], [...])}`, or the contents of a table [axis.NAME] of a sweep file: `{"buffer": {"paths": [...], "unit":
# "bdp", "values": {"from": 0.1, "to": 10, "count": 5, "scale": "log"}}}`.
Axes = Mapping[str, Any]


class Plan:
    """Points (labels and a scenario each) times replications (seeds).

    >>> net = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> lab = tb.load_scenario(net, overrides=["duration=2s"])
    >>> plan = tb.Plan.product(lab, {"link.bottleneck.rate": ["5Mbps", "10Mbps"]}, replications=2)
    >>> results = plan.execute()
    >>> results.runs["status"].tolist()
    ['done', 'done', 'done', 'done']
    """

    @checked
    def __init__(
        self,
        points: Iterable[tuple[Mapping[str, Any], Any]],
        replications: int | Sequence[int] = 1,
        seed: int | None = None,
    ) -> None:
        """Replication r of a point has the seed of its scenario plus r, or, if `seed` is given, seed + r.
        `replications` is the same for all points, or a number for each.

        Queues written in Python are those of the points' networks, which must be the same at every point.
        """
        replications, seed = check.replications_of_points(replications), None if seed is None else check.seed(seed)
        labelled_points = [_pair(i, p) for i, p in enumerate(points)]
        #: Makers of disciplines written in Python, by port.
        self.queues: dict[str, Callable[[], Any]] = queues_of(labelled_points[0][1]) if labelled_points else {}
        if any(queues_of(source) != self.queues for _, source in labelled_points):
            raise ValueError(
                "the points of a plan have different queues written in Python; give each class a plan of its own"
            )
        self.points: list[tuple[dict[str, str], Any]] = [
            ({str(k): str(v) for k, v in labels.items()}, _scenario(source)) for labels, source in labelled_points
        ]
        #: Makers of disciplines that the points name, by class.
        self.classes = queues_named.named_by(scenario for _, scenario in self.points)
        self.replications = replications
        self.seed = seed
        self._core = _core.Plan(self.points, replications, seed)

    @classmethod
    @checked
    def product(
        cls, base: Source, axes: Axes, replications: int = 1, seed: int | None = None, overrides: Any = ()
    ) -> Plan:
        """Every combination of the axes over one base scenario, the last axis fastest."""
        return cls._of(base, _points("product", base, axes, overrides), replications, seed)

    @classmethod
    @checked
    def zip(cls, base: Source, axes: Axes, replications: int = 1, seed: int | None = None, overrides: Any = ()) -> Plan:
        """The points of axes in step: the i-th point has the i-th value of each axis."""
        return cls._of(base, _points("zip", base, axes, overrides), replications, seed)

    @classmethod
    @checked
    def explicit(
        cls,
        base: Source,
        points: Iterable[tuple[Mapping[str, Any], Any]],
        replications: int = 1,
        seed: int | None = None,
    ) -> Plan:
        """A plan from one base scenario. Each point is a pair of labels and overrides.

        The overrides are a dict of paths and values, or texts.
        """
        pairs = [(labels, read(base, override_texts(o))) for labels, o in (_pair(i, p) for i, p in enumerate(points))]
        return cls._of(base, pairs, replications, seed)

    @classmethod
    def _of(
        cls, base: Source, points: Iterable[tuple[Mapping[str, Any], Any]], replications: int, seed: int | None
    ) -> Plan:
        """A plan of points that are made from a base. The plan also gets the queues of the base that are written in
        Python."""
        plan = cls(points, replications, seed)
        plan.queues = queues_of(base)
        return plan

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"<Plan: {len(self.points)} points, {self.replications} replications>"

    def runs(self) -> list[dict[str, Any]]:
        """The runs in order, each with its point, replication and seed, and the key under which it is stored."""
        return self._core.runs(fingerprint.build())

    def controls(self) -> dict[str, Any]:
        """The congestion controls written in Python that the plan's scenarios name, and their classes."""
        return {name: control for _, scenario in self.points for name, control in scenario.controls.items()}

    def _files(self, controls: Mapping[str, Any]) -> set[str]:
        """The files that the plan's scenarios give to controls with the attribute `file_parameters`."""
        file_parameters = {name: getattr(control, "file_parameters", ()) for name, control in controls.items()}
        if not any(file_parameters.values()):
            return set()
        texts = {scenario.toml for _, scenario in self.points}
        return {file for text in texts for file in controls_in.files_given(text, file_parameters)}

    @checked
    def build(self, queues: Mapping[str, Any] | None = None, queues_key: str | None = None) -> str:
        """The fingerprint of all that decides the results except the scenarios: the source of the simulator, and of
        `queues` in Python."""
        queues = self.queues if queues is None else queues
        controls = self.controls()
        if queues_key is not None and (queues or self.classes or controls):
            return fingerprint.build() + queues_key
        own_classes = {**queues, **self.classes}
        of_queues = fingerprint.queues(own_classes) if own_classes else ""
        return (
            fingerprint.build()
            + of_queues
            + (fingerprint.controls(controls, self._files(controls)) if controls else "")
        )

    @checked
    def execute(
        self,
        dir: str | os.PathLike[str] | None = None,
        jobs: int = 0,
        progress: Progress = None,
        queues: Mapping[str, Callable[[], Any]] | None = None,
        queues_key: str | None = None,
        *,
        others: Literal["beside", "replace"] = "beside",
        about: Mapping[str, Any] | None = None,
        shard: tuple[int, int] | None = None,
        client: Any = None,
        check_laws: bool = False,
    ) -> _core.Results:
        """Run the runs that are not stored in `dir` yet, on `jobs` threads (0: all cores).

        `progress=True` shows a bar on a terminal or in a notebook. If `progress` is a function, it is called a few
        times a second with a dict (total, reused, done, failed, share, elapsed_s, remaining_s); it stops the plan by
        returning False. `queues` gives disciplines written in Python: for each port, a function without arguments that
        makes one. Ctrl-C stops the plan. Finished runs are kept, and the next call of `execute` continues from there.
        Stored runs of other plans stay in `dir/chunks` beside those of this plan, unless `others` is "replace". `about`
        is added to the manifest of the folder.

        `shard=(i, n)` runs the i-th of n parts, in a separate folder inside `dir`, and returns no tables. The parts may
        run on any machine at any time. When all are done, the same call without `shard` makes the tables. `client` is a
        client of dask.distributed; its workers then do the runs.

        With `check_laws`, laws that hold in every run are checked during the run. One of these laws is that no line
        idles while a packet waits. A run that breaks a law has failed. The results have the same numbers as without
        `check_laws`. Workers of dask do not check them.
        """
        jobs = check.jobs(jobs)
        check_shard(shard)
        queues = {**self.queues, **(queues or {})}
        # Only stored results need the fingerprint of the code that made them.
        is_kept = dir is not None or client is not None
        with shown(progress) as tell:
            errand = Errand(
                None if dir is None else Path(dir),
                jobs,
                tell,
                self.build(queues, queues_key) if is_kept else "",
                about or manifest.program() if is_kept else {},
                queues,
                check_laws,
                self.classes,
            )
            return perform(self._core, errand, shard, client, replace=others == "replace")


def _pair(i: int, given: Any) -> tuple[Mapping[str, Any], Any]:
    """The labels of a point, and the second part of the pair."""
    if not isinstance(given, (tuple, list)) or len(given) != 2 or not isinstance(given[0], Mapping):
        raise ValueError(
            f"points[{i}] = {check.shown(given)}; give a dict of labels and a scenario or overrides together, such "
            'as ({"rate": "5Mbps"}, ...)'
        )
    return given[0], given[1]


def _scenario(source: Source) -> Any:
    if isinstance(source, _core.Scenario):
        return source
    return read(source)


def _points(
    how: Literal["product", "zip"], base: Source, axes: Axes, overrides: Any
) -> list[tuple[dict[str, str], Any]]:
    fixed_overrides = override_texts(overrides)
    points_of_axes = [_axis(label, given) for label, given in axes.items()]
    contradiction = clash(axis for axis, _ in points_of_axes)
    if contradiction is not None:
        raise ValueError(contradiction)
    for axis, _ in points_of_axes:
        for path in axis.paths:
            _check_not_python(axis.name, path, base)
    combine = {"product": product, "zip": in_step}[how]
    return [
        (p.labels, read(base, fixed_overrides + p.overrides)) for p in combine([points for _, points in points_of_axes])
    ]


def _axis(label: str, given: Any) -> tuple[Axis, list[Point]]:
    """An axis and its points. Without a table, the texts of values are their labels."""
    if isinstance(given, Mapping):
        from tailback.core.declared import read_table
        from tailback.runs.campaign.factors import axis_of, points_of
        from tailback.runs.campaign.files import SweepAxis

        table = read_table(SweepAxis, dict(given), "plan", f"axis.{label}")
        if table.by:
            raise ValueError(f"plan: axis.{label}: by = {table.by!r} is for load_sweep; Plan.product has plain axes")
        axis = axis_of(label, table)
        return axis, points_of(axis, table.values, f"plan, axis.{label}")
    paths: Any = label
    axis_values: Any = given
    # A pair whose second part is a list: paths and values.
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (list, tuple, range)):
        paths, axis_values = given
    axis = Axis(label, paths=(paths,) if isinstance(paths, str) else tuple(paths))
    axis_values = check.several(f"axes[{label!r}]", axis_values, '"5Mbps", "10Mbps"')
    return axis, [axis.point(text, text) for text in map(inline, axis_values)]


def _check_not_python(axis: str, path: str, base: Source) -> None:
    """Raises ValueError if an axis sets a queue that is written in Python; the values of a shaper around such a queue
    may be set."""
    for port in queues_of(base):
        link, _, reverse = port.partition(".")
        for queue in (f"link.{link}.{'reverse_queue' if reverse else 'queue'}", "topology.queue"):
            around = [queue + ".queue" * n for n in range(_shapers(base.document, queue) + 1)]
            is_model = any(path in (q, f"{q}.kind") for q in around)
            if is_model or path.startswith(f"{around[-1]}."):
                raise ValueError(
                    f"the axis {axis!r} sets {path}, but the queue at {port} is written in Python; give each queue a "
                    "plan of its own"
                )


def _shapers(document: Mapping[str, Any], queue: str) -> int:
    """The number of disciplines that are around another one in the queue at this path."""
    table: Any = document
    for key in queue.split("."):
        table = table.get(key) if isinstance(table, Mapping) else None
    depth = 0
    while isinstance(table, Mapping) and isinstance(table.get("queue"), Mapping):
        table, depth = table["queue"], depth + 1
    return depth
