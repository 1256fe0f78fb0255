"""Reads traces of rates or delays over time, in many forms, and writes them in the form that a scenario takes.

The value of a line holds from its time until the next line. The last value holds as long as the others on average. A
column of bytes or packets counts those since the line before.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from tailback import _core
from tailback.readers.given import Given
from tailback.readers.measured.measurement import Numbers, amount, numbers
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written, short
from tailback.readers.traces.heads import PACKET_BYTES, Head, Quantity, heads, rate_unit
from tailback.readers.traces.table import MISSING, Table, number, seconds, table

RATE, DELAY = "rate-trace", "delay-trace"
#: Numbers from here on are Unix times, in the largest unit that allows it.
_UNIX = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "milliseconds"), (1e8, 1.0, "seconds"))
_LEAST_CELLS = 0.5
#: The columns of the logs of commuters in Oslo and Ghent: time, milliseconds since the start, place, bytes, and the
#: milliseconds that they took.
_COMMUTER = 6


@dataclass(frozen=True)
class Trace:
    """Values that hold from each time on, until `end_s`: rates in bit/s or delays in seconds."""

    times_s: Numbers
    values: Numbers
    end_s: float

    @property
    def mean(self) -> float:
        """The mean over time."""
        lengths = np.diff(np.append(self.times_s, self.end_s))
        total = float(lengths.sum())
        return float((self.values * lengths).sum() / total) if total > 0 else math.nan


def recognises(given: Given) -> bool:
    table_found = _table(given)
    return table_found is not None and _columns(table_found, given) is not None


def read(given: Given) -> Reading:
    table_found = _table(given)
    columns = _columns(table_found, given) if table_found else None
    if table_found is None or columns is None:
        raise ReadError("it is no table of times and values", "give two columns, a time and a rate", name=given.name)
    notes = Notes()
    time_head, value_head = columns
    notes.say(
        "form",
        f"{len(table_found.rows)} lines of {table_found.width} columns, separated by {table_found.separator}"
        + (", decimal commas" if table_found.decimal_comma else ""),
    )
    for line_number in table_found.ragged:
        notes.leave("a line with another number of columns", "it is no row of the table", line_number)
    _leave_columns(table_found, (time_head, value_head), notes)
    trace = _trace(table_found, time_head, value_head, given, notes)
    if value_head.quantity is Quantity.DELAY:
        return _delays(trace, notes)
    return _rates(trace, notes)


def _table(given: Given) -> Table | None:
    table_found = table(given)
    return table_found if table_found is not None and table_found.rows else None


def _columns(found: Table, given: Given) -> tuple[Head | None, Head] | None:
    """The column of the time (None if lines are one second apart or have durations) and that of the value; None if
    there are no such columns."""
    named_heads = heads(found.names)
    wished_column = given.wishes.column
    value_heads = [
        h for h in named_heads if h.quantity in (Quantity.RATE, Quantity.DELAY, Quantity.BYTES, Quantity.PACKETS)
    ]
    value_heads = [h for h in value_heads if _filled(found, h.at)]
    if wished_column:
        if wished_column not in found.names:
            return None
        column = found.names.index(wished_column)
        value_heads = [h for h in value_heads if h.at == column] or [Head(column, wished_column, Quantity.RATE)]
    times = [h for h in named_heads if h.quantity is Quantity.TIME] or [
        h for h in named_heads if h.quantity is Quantity.DURATION
    ]
    if found.names:
        rank = {Quantity.RATE: 0, Quantity.BYTES: 1, Quantity.PACKETS: 2, Quantity.DELAY: 3}
        value_heads.sort(key=lambda h: (rank[h.quantity], _is_upload(h.name)))
        return (times[0] if times else None, value_heads[0]) if value_heads else None
    if found.width == _COMMUTER and _is_commuter(found):
        return Head(1, "milliseconds", Quantity.TIME, 1e-3), Head(4, "bytes", Quantity.BYTES, 1.0)
    if found.width != 2 or not _rises(found, 0):
        return None
    return Head(0, "the first column", Quantity.TIME), Head(1, "the second column", Quantity.RATE)


def _is_upload(name: str) -> bool:
    lower = name.lower()
    return lower.startswith(("ul", "up")) or "upload" in lower or "uplink" in lower


def _filled(found: Table, at: int) -> bool:
    """Whether most cells of a column are values and not names."""
    cells = [row[at] for _, row in found.rows[:200]]
    return sum(_amount_like(c, found.decimal_comma) for c in cells) > _LEAST_CELLS * len(cells)


def _amount_like(cell: str, comma: bool) -> bool:
    return math.isfinite(number(cell, comma)) or cell[:1].isdigit()


def _rises(found: Table, at: int) -> bool:
    times = [number(row[at], found.decimal_comma) for _, row in found.rows[:2000]]
    finite_times = [t for t in times if math.isfinite(t)]
    return bool(found.rows[0][1][at][:1].isdigit()) and all(b >= a for a, b in itertools.pairwise(finite_times))


def _is_commuter(found: Table) -> bool:
    rows = [[number(c) for c in row] for _, row in found.rows[:50]]
    return all(r[0] > 1e8 and abs(r[2]) <= 90 and abs(r[3]) <= 180 and r[4] >= 0 and r[5] > 0 for r in rows)


def _leave_columns(found: Table, used: tuple[Head | None, Head], notes: Notes) -> None:
    used_columns = {h.at for h in used if h is not None}
    if found.names:
        for column, name in enumerate(found.names):
            if column not in used_columns:
                notes.leave(
                    f"column {short(name)}", "it is neither the time nor the value; --column names another value"
                )
    elif found.width > len(used_columns):
        notes.leave(f"{found.width - len(used_columns)} other columns", "they are places and other times")


def _trace(found: Table, when: Head | None, what: Head, given: Given, notes: Notes) -> Trace:
    cells = []
    for line_number, row_cells in found.rows:
        if row_cells[what.at].lower() in MISSING:
            notes.leave("a line without a value", "the value before it continues to hold", line_number)
        else:
            cells.append((line_number, row_cells))
    if not cells:
        raise ReadError(f"column {what.name} has no values", "name another column with --column", name=given.name)
    times = _times(cells, found, when, given.name, notes)
    values_read = numbers(
        [
            _value(row_cells[what.at], what, found.decimal_comma, given.name, line_number)
            for line_number, row_cells in cells
        ]
    )
    with_units = not all(math.isfinite(number(row_cells[what.at], found.decimal_comma)) for _, row_cells in cells)
    lines = [line_number for line_number, _ in cells]
    times, values_read, lines = _in_order(times, values_read, lines, given.name, notes)
    gaps = np.diff(times)
    last_duration_s = float(np.median(gaps)) if len(gaps) else 1.0
    if when is not None and when.quantity is Quantity.DURATION:
        lengths = numbers(
            [
                seconds(row_cells[when.at], when.factor or 1.0, found.decimal_comma, (given.name, line_number))
                for line_number, row_cells in cells
            ]
        )
        last_duration_s = float(lengths[-1])
    end = float(times[-1]) + last_duration_s
    if what.quantity in (Quantity.BYTES, Quantity.PACKETS):
        times, values_read = _from_amounts(times, values_read, what, notes)
        end = float(times[-1]) + last_duration_s if len(gaps) == 0 else float(times[-1] + gaps[-1])
    elif not with_units:
        values_read = values_read * _factor(values_read, what, given, notes)
    return Trace(times, values_read, end)


def _times(
    cells: list[tuple[int, tuple[str, ...]]], found: Table, when: Head | None, name: str, notes: Notes
) -> Numbers:
    if when is None:
        notes.say("time", "assumed: one line a second; there is no column of times")
        return np.arange(len(cells), dtype=np.float64)
    read_times_s = [seconds(row[when.at], when.factor or 1.0, found.decimal_comma, (name, line)) for line, row in cells]
    if when.quantity is Quantity.DURATION:
        unit = when.factor or _assumed_time(numbers(read_times_s), when, notes)
        lengths = numbers(read_times_s) * (1.0 if when.factor else unit)
        if (lengths <= 0).any():
            first_row = int(np.argmax(lengths <= 0))
            raise ReadError(
                "this line has a duration of 0", "leave it out, or give a duration above 0", cells[first_row][0], name
            )
        notes.say("time", f"the duration of each line is in column {short(when.name)}")
        return np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    times = numbers(read_times_s)
    if not when.factor:
        times = times * _assumed_time(times, when, notes)
    else:
        notes.say("time", f"column {short(when.name)}")
    begin_s = float(times[0])
    if begin_s > _UNIX[-1][0] * (1e-9 if when.factor else 1) and begin_s > 1e5:
        notes.say("beginning", "the first line is at 0 s; the trace has clock times")
        return times - begin_s
    return times


def _assumed_time(times: Numbers, when: Head, notes: Notes) -> float:
    """The unit, in seconds, of a column of times that names no unit."""
    largest = float(np.abs(times).max())
    for least, factor, unit in _UNIX:
        if largest >= least and when.quantity is Quantity.TIME:
            notes.say("time", f"{short(when.name)}, {unit} since 1970")
            return factor
    gaps = np.diff(times) if when.quantity is Quantity.TIME else times
    middle = float(np.median(gaps)) if len(gaps) else 1.0
    are_whole = bool((times == np.round(times)).all())
    if are_whole and middle >= 100 and middle % 60:
        notes.say("time", f"assumed: milliseconds, since {short(when.name)} names no unit and its steps are {middle:g}")
        return 1e-3
    notes.say("time", f"assumed: seconds; {short(when.name)} names no unit")
    return 1.0


def _value(cell: str, what: Head, comma: bool, name: str, line: int) -> float:
    amount = number(cell, comma)
    if not math.isfinite(amount):
        parse = _core.parse_time if what.quantity is Quantity.DELAY else _core.parse_rate
        try:
            amount = float(parse(cell))
        except ValueError:
            kind = "delay" if what.quantity is Quantity.DELAY else "rate"
            raise ReadError(f'"{short(cell)}" is no {kind}', "write a number from 0 on", line, name) from None
    if not 0 <= amount <= 1e18:
        raise ReadError(f'"{short(cell)}" is no {what.quantity}', "write a number from 0 on", line, name)
    return amount


def _in_order(
    times: Numbers, raw: Numbers, lines: list[int], name: str, notes: Notes
) -> tuple[Numbers, Numbers, list[int]]:
    gaps = np.diff(times)
    if (gaps < 0).any():
        earlier_row = int(np.argmax(gaps < 0)) + 1
        raise ReadError(
            f"this time is earlier than the one before it ({times[earlier_row]:g} s)",
            "sort the lines by time",
            lines[earlier_row],
            name,
        )
    if times[0] < 0:
        raise ReadError(f"this time is before 0 ({times[0]:g} s)", "let the trace begin at 0", lines[0], name)
    is_kept = np.append(gaps > 0, True)
    for line_number, kept in zip(lines, is_kept, strict=True):
        if not kept:
            notes.leave("a line at the time of the next one", "the last of several lines counts", line_number)
    return times[is_kept], raw[is_kept], [line_number for line_number, k in zip(lines, is_kept, strict=True) if k]


def _from_amounts(times: Numbers, raw: Numbers, what: Head, notes: Notes) -> tuple[Numbers, Numbers]:
    """Rates from the amounts between two lines. The amount of the first line has no known interval."""
    bits_each = 8.0 if what.quantity is Quantity.BYTES else PACKET_BYTES * 8.0
    if what.quantity is Quantity.PACKETS:
        notes.say("packets", f"assumed: {PACKET_BYTES} B each")
    if len(times) < 2:
        notes.say("rate", f"column {short(what.name)} over one second, as there is one line")
        return times, raw * bits_each
    gaps = np.diff(times)
    notes.say("rate", f"{what.quantity} of a line over the time since the line before")
    notes.leave("the amount of the first line", "its interval is unknown")
    return times[:-1], raw[1:] * bits_each / gaps


def _factor(raw: Numbers, what: Head, given: Given, notes: Notes) -> float:
    """The unit of a number without one: from the header, from the user, or assumed from its size."""
    if what.quantity is Quantity.DELAY:
        factor = what.factor or (1e-3 if float(np.median(raw)) > 1 else 1.0)
        if not what.factor:
            notes.say(
                "delay", f"assumed: {'milliseconds' if factor < 1 else 'seconds'}; {short(what.name)} names no unit"
            )
        return factor
    if given.wishes.unit:
        factor = rate_unit(given.wishes.unit)
        if not factor:
            raise ReadError(f"{short(given.wishes.unit)} is no unit of a rate", "write one such as Mbps, kbps or MB/s")
        return factor
    if what.factor:
        return what.factor
    largest = float(raw.max())
    factor, unit = next((f, u) for most, f, u in _BY_SIZE if largest < most)
    notes.say("rate", f"assumed: {unit}; {short(what.name)} names no unit, and --unit names another")
    return factor


#: The assumed unit of numbers whose largest value is below this limit.
_BY_SIZE = ((10_000, 1e6, "Mb/s"), (300_000, 1e3, "kb/s"), (math.inf, 1.0, "bit/s"))


def _rates(trace: Trace, notes: Notes) -> Reading:
    notes.say("mean rate", amount(trace.mean, "bit/s"))
    notes.say(
        "least and most", f"{amount(float(trace.values.min()), 'bit/s')}, {amount(float(trace.values.max()), 'bit/s')}"
    )
    outages = int((trace.values == 0).sum())
    if outages:
        notes.say("outages", f"{outages} line{'s' if outages > 1 else ''} with a rate of 0")
    notes.say("length", f"{trace.end_s - trace.times_s[0]:g} s, in {len(trace.values)} steps")
    notes.say("end", "the last line holds as long as the others on average")
    title = f"a trace of rates, {len(trace.values)} steps"
    usable = Written("a trace file of tailback, time_s,rate_bps", lambda: rates_text(trace))
    return Reading(RATE, title, tuple(notes.understood), notes.left, _next(), trace, usable)


def _delays(trace: Trace, notes: Notes) -> Reading:
    notes.say("mean delay", amount(trace.mean, "s"))
    notes.say("least and most", f"{amount(float(trace.values.min()), 's')}, {amount(float(trace.values.max()), 's')}")
    notes.say("length", f"{trace.end_s - trace.times_s[0]:g} s, in {len(trace.values)} steps")
    written_scenario = Written("a scenario whose link follows these delays", lambda: _delays_text(trace))
    steps = (
        Next("tailback read FILE --write delays.toml", "write a scenario whose link follows these delays"),
        Next("tailback run delays.toml", "run it"),
    )
    title = f"a trace of delays, {len(trace.values)} steps"
    return Reading(DELAY, title, tuple(notes.understood), notes.left, steps, trace, written_scenario)


def _next() -> tuple[Next, ...]:
    return (
        Next("tailback read FILE --write trace.csv", "write the form that a scenario takes"),
        Next('[change.NAME] link = "LINK", trace = "trace.csv"', "let a link of a scenario follow it"),
        Next("tailback home --varies trace.csv ...", "ask what helps on a home line whose rate varies so"),
    )


def rates_text(trace: Trace) -> str:
    """The trace in the form that the engine reads. The last line of this text is the time at which the trace
    repeats."""
    rows = [f"{t:.9g},{v:.0f}" for t, v in zip(trace.times_s, trace.values, strict=True)]
    return "\n".join(["time_s,rate_bps", *rows, f"{trace.end_s:.9g},{trace.values[-1]:.0f}", ""])


def _delays_text(trace: Trace) -> str:
    moved_trace = replace(trace, times_s=trace.times_s - trace.times_s[0])
    change_times = ", ".join(f'"{max(t, 0) * 1e6:.0f}us"' for t in moved_trace.times_s[1:])
    delays = ", ".join(f'"{v * 1e6:.0f}us"' for v in moved_trace.values[1:])
    change = (
        ["", "[change.trace]", 'link = "bottleneck"', f"delay = [{delays}]", f"at = [{change_times}]"]
        if change_times
        else []
    )
    return "\n".join(
        [
            "# A link whose delay follows a trace. assumed: its rate and its queue, which the trace does not give.",
            f'duration = "{max(1.0, trace.end_s - float(trace.times_s[0])):g}s"',
            "",
            "[link.bottleneck]",
            'from = "left"',
            'to = "right"',
            'rate = "10Mbps"',
            f'delay = "{trace.values[0] * 1e6:.0f}us"',
            'queue = { kind = "droptail", buffer = "125kB" }',
            *change,
            "",
            "[flows.bulk]",
            "",
        ]
    )
