"""Reads the text that iperf3 and iperf 2 print: intervals of `[ ID]` and `[SUM]`, and the totals of sender and
receiver.

Directions are those of the client, also in the server's text. A rate is the one that arrived; if the text has only the
sender's rate, a note says so. Prefixes are powers of 1000 for bits and of 1024 for bytes (iperf3, `units.c`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from tailback.readers.given import Given
from tailback.readers.measured.measured_line import next_commands, written
from tailback.readers.measured.measurement import Measurement, Role, Series, amount, numbers, said
from tailback.readers.reading import Notes, ReadError, Reading, short

KIND = "iperf3-text"
#: A row, before which there may be a time or a title (`--timestamps`, `--title`).
_ROW = re.compile(
    r"^[^\[]{0,80}\[\s*(?P<id>\d{1,9}|SUM)\](?:\[(?P<tag>[RT]X-[CS])\])?\s+"
    r"(?P<from>\d+(?:\.\d+)?)\s*-\s*(?P<to>\d+(?:\.\d+)?)\s+sec\s+"
    r"\d+(?:\.\d+)? [KMGT]?Bytes\s+(?P<rate>\d+(?:\.\d+)?) (?P<prefix>[KMGT]?)(?P<of>bits|Bytes)/sec(?P<rest>.*)$"
)
_LOSS = re.compile(r"(?:(?P<jitter>[\d.]+) ms\s+)?(?P<lost>\d{1,15})/\s*(?P<all>\d{1,15}) \([^)]*\)")
_AGAIN = re.compile(r"^\s+(\d{1,12})\s+sender")
_BEGINS = ("Connecting to host", "Accepted connection from", "Client connecting to", "Starting Test")
#: The beginning of a line, at which there may be a title or a time.
_SAID = r"(?:^|\s)"
_TAGS = {"RX-C": Role.DOWN, "TX-C": Role.UP, "RX-S": Role.UP, "TX-S": Role.DOWN}
_LONGEST, _SEEN = 400, 200
#: An interval shorter than this share of the others has too few packets for a rate.
_LEAST_STEP = 0.5


@dataclass(frozen=True)
class _Step:
    """A row: its stream and direction, its beginning and end, its rate, and the text behind it."""

    id: str
    tag: str
    since: float
    until: float
    rate_bps: float
    rest: str
    #: Whether the row is in the server's report to a client of iperf 2.
    reported: bool = False

    @property
    def end(self) -> str:
        """The end whose total this is; empty for an interval."""
        return next((end for end in ("sender", "receiver") if end in self.rest), "")


@dataclass
class _Run:
    """One run of the program."""

    steps: list[_Step] = field(default_factory=list)
    reverse: bool = False
    #: Whether the server printed it.
    served: bool = False
    #: Whether iperf 2 printed it.
    old: bool = False
    udp: bool = False
    control: str = ""
    error: str = ""


def recognises(given: Given) -> bool:
    return any(_ROW.match(line) for _, line in given.filled[:_SEEN] if len(line) < _LONGEST)


def _runs(given: Given, notes: Notes) -> list[_Run]:
    """The runs of a text. The server's output that a client prints is left out, since it is the same run."""
    runs, of_server, is_reported = [_Run()], 0, False
    repeats = False
    for line_number, line in given.filled:
        if len(line) >= _LONGEST:
            continue
        run = runs[-1]
        if any(re.search(_SAID + begin, line) for begin in _BEGINS[:3]):
            repeats = repeats and "Accepted" in line
            if run.steps and not repeats:
                runs.append(run := _Run())
            if not repeats:
                run.served = "Accepted" in line
                run.old = "Client connecting" in line
        elif re.search(_SAID + "Server output:", line):
            of_server, repeats = line_number, True
        elif repeats:
            continue
        elif (m := _ROW.match(line)) is not None:
            step = _step(m, is_reported)
            if run.steps and run.steps[-1].end and not step.end:
                runs.append(run := _Run(reverse=run.reverse, served=run.served, old=run.old))
            run.steps.append(step)
            run.udp = run.udp or _LOSS.search(step.rest) is not None
        else:
            is_reported = "Server Report" in line
            _said(run, line)
    if of_server:
        notes.leave("the output of the server", "it is the same run", of_server)
    return [run for run in runs if run.steps]


def _said(run: _Run, line: str) -> None:
    """Reads a line that is not a row."""
    run.reverse = run.reverse or "Reverse mode" in line
    run.udp = run.udp or "Total Datagrams" in line
    if line.startswith("snd_tcp_congestion "):
        run.control = short(line.split()[1])
    if (error_match := re.search(r"iperf3: (?:error|interrupt) - (.*)", line)) is not None:
        run.error = short(error_match[1].split(":")[0])
    if line.startswith("Server listening on") and run.old:
        run.error = "both"


def _step(m: re.Match[str], reported: bool) -> _Step:
    factor = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[m["prefix"]]
    unit = 8.0 * 1024**factor if m["of"] == "Bytes" else 1000.0**factor
    times = (float(m["from"]), float(m["to"]))
    return _Step(m["id"], m["tag"] or "", *times, float(m["rate"]) * unit, m["rest"], reported)


def read(given: Given) -> Reading:
    notes = Notes()
    runs = _runs(given, notes)
    if not runs:
        raise ReadError("iperf3's text has no rates", "give its whole output, or use --json", name=given.name)
    run = runs[0]
    if run.error == "both":
        raise ReadError(
            "iperf 2 measured both directions at once, and its rows do not say which is which",
            "use iperf3 --bidir",
            name=given.name,
        )
    program = "iperf 2" if run.old else "iperf3"
    by_role = {role: [s for s in run.steps if _role(run, s) is role] for role in (Role.DOWN, Role.UP)}
    roles = [role for role, steps in by_role.items() if steps]
    several_roles = len(roles) > 1
    notes.say("protocol", "UDP" if run.udp else "TCP")
    notes.say("direction", "both directions at once" if several_roles else _way(run, roles[0]))
    role_results = [_of_role(run, role, by_role[role], several_roles, notes) for role in roles]
    notes.say(
        "digits", f"those that {program} prints; --json has more digits" if not run.old else "those that it prints"
    )
    if len(runs) > 1:
        notes.leave(f"{len(runs) - 1} more runs", "the first run is read; give each run in its own file")
    if run.error:
        notes.leave("what came after the error", f"{program} stopped ({run.error})")
    notes.leave("names and addresses", "they are not kept")
    settings = {f"{way.value} flows": str(one.flows) for way, one in zip(roles, role_results, strict=True)}
    settings |= {"control": run.control} if run.control else {}
    loss = role_results[0].loss if not several_roles else None
    measurement = Measurement(
        program,
        tuple(one.series for one in role_results),
        max(s.until for s in run.steps),
        settings,
        loss[1] if loss else None,
        loss[1] - loss[0] if loss else None,
        role_results[0].again if not several_roles else None,
    )
    title = f"output of {program}, {'UDP' if run.udp else 'TCP'}"
    return Reading(
        KIND, title, tuple(notes.understood), notes.left, next_commands(measurement), measurement, written(measurement)
    )


def _way(run: _Run, role: Role) -> str:
    return role.value + (" (Reverse mode)" if run.reverse else "") + (", seen by the server" if run.served else "")


def _role(run: _Run, step: _Step) -> Role:
    if step.tag:
        return _TAGS[step.tag]
    if run.served:
        # A server that receives prints its own rate as the receiver, or no total at all.
        ends = {s.end: s.rate_bps for s in run.steps if s.end}
        return Role.DOWN if ends.get("sender", 0) > 0 and not ends.get("receiver", 0) > 0 else Role.UP
    return Role.DOWN if run.reverse else Role.UP


@dataclass(frozen=True)
class _OfRole:
    series: Series
    flows: int
    #: Lost datagrams and all datagrams, as the receiver counts them.
    loss: tuple[int, int] | None
    again: int | None


def _of_role(run: _Run, role: Role, rows: Sequence[_Step], both: bool, notes: Notes) -> _OfRole:
    """The sum of all streams of a direction over time, and its mean."""
    streams = sorted({s.id for s in rows} - {"SUM"})
    sums = [s for s in rows if s.id == "SUM"]
    if sums:
        notes.leave("the rates of single streams", "their sum is read")
    chosen_rows = sums or list(rows)
    totals = _totals(chosen_rows)
    spans = {(s.since, s.until) for s in totals} if run.old else set()
    steps = [s for s in chosen_rows if not s.end and s not in totals and (s.since, s.until) not in spans]
    omitted_since = {s.since for s in steps if "omitted" in s.rest}
    if omitted_since:
        notes.leave(f"{len(omitted_since)} intervals at the beginning", "iperf3 was asked to omit them")
    counted_steps = [s for s in steps if "omitted" not in s.rest]
    usual = median(s.until - s.since for s in counted_steps) if counted_steps else 0.0
    brief = [s for s in counted_steps if s.until - s.since < _LEAST_STEP * usual]
    if brief:
        notes.leave(f"the interval from {brief[0].since:g} s", "it is too short for a rate")
    times, rates_bps = _summed([s for s in counted_steps if s not in brief])
    mean, loss, mean_source = _mean(run, totals)
    role_text = f", {role.value}" if both else ""
    series = Series(role.value, role, "bit/s", numbers(times), numbers(rates_bps), mean, whole=True)
    notes.say(f"flows{role_text}", str(len(streams) or 1))
    notes.say(role.value, said(series))
    if mean_source:
        notes.say(f"mean{role_text}", mean_source)
    if run.udp and role is Role.UP and len(rates_bps) and not run.served and not run.old:
        notes.say(f"over time{role_text}", "as sent: the client does not know what arrived in an interval")
    if loss is not None and loss[1]:
        notes.say(f"lost{role_text}", f"{loss[0]} of {loss[1]} datagrams, {100 * loss[0] / loss[1]:.3g} %")
    elif run.udp:
        notes.say(f"lost{role_text}", "unknown: the receiver's line is missing")
    jitter = [m["jitter"] for s in totals if s.end != "sender" and (m := _LOSS.search(s.rest)) and m["jitter"]]
    if jitter and jitter[-1].count(".") < 2:
        notes.say(f"jitter{role_text}", amount(float(jitter[-1]) / 1e3, "s"))
    counts = [int(m[1]) for s in totals if not run.udp and (m := _AGAIN.match(s.rest))]
    if counts:
        notes.say(f"sent again{role_text}", f"{sum(counts)} segments")
    return _OfRole(series, len(streams) or 1, loss, sum(counts) if counts else None)


def _totals(rows: Sequence[_Step]) -> list[_Step]:
    """The rows that are totals of a run: those that name an end. If no row names one, the last row of each stream that
    begins at 0 and is longer than the others."""
    total_rows = [s for s in rows if s.end or s.reported]
    if total_rows:
        return total_rows
    if len({(s.since, s.until) for s in rows}) == 1 and rows[0].since == 0:
        return list(rows)
    usual = median(s.until - s.since for s in rows)
    whole_steps = [s for s in rows if s.since == 0 and s.until - s.since > 1.5 * usual]
    return list({s.id: s for s in whole_steps}.values())


def _summed(steps: Sequence[_Step]) -> tuple[list[float], list[float]]:
    """The sum over streams, at the times that all streams have."""
    streams = {s.id for s in steps}
    rates_at: dict[float, dict[str, float]] = {}
    for s in steps:
        rates_at.setdefault(s.since, {})[s.id] = s.rate_bps
    all_there = {since: rates for since, rates in rates_at.items() if len(rates) == len(streams)}
    return list(all_there), [math.fsum(rates.values()) for rates in all_there.values()]


def _mean(run: _Run, whole: Sequence[_Step]) -> tuple[float, tuple[int, int] | None, str]:
    """The rate that arrived, the loss, and a note on the rate."""

    def of(end: str) -> float:
        return math.fsum({s.id: s.rate_bps for s in whole if s.end == end}.values())

    losses = {s.id: (int(m["lost"]), int(m["all"])) for s in whole if s.end != "sender" and (m := _LOSS.search(s.rest))}
    loss = (sum(x for x, _ in losses.values()), sum(x for _, x in losses.values())) if losses else None
    if (got := of("receiver")) > 0:
        return got, loss, ""
    if (sent_bps := of("sender")) > 0:
        return sent_bps, None, "as sent: the receiver's total is missing, and what arrived is unknown"
    if not whole:
        return math.nan, None, "over the intervals: the totals are missing"
    total = of("")
    if loss is not None and loss[1] and not run.old:
        # Before version 3.2 UDP has one row with the sender's rate and the receiver's losses.
        return total * (1 - min(loss[0] / loss[1], 1.0)), loss, "assumed: the rate of the sender less what was lost"
    reported_steps = [s for s in whole if s.reported]
    if run.old and run.udp and not reported_steps:
        return total, None, "as sent: the server's report is missing, and what arrived is unknown"
    return total, loss, ""
