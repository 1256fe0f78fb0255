#!/usr/bin/env python3
"""The figures of the pages of transports: what steers the sender against time, and the queue it makes.

    make figures          all of them, into docs/figures/transports
    tools/figures/transports.py reno bbr

Each is one run of the scenario below, through one bottleneck; the same version gives the same picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import FIGURES as FOLDER
from common import Line, draw_all, lines_of, saved

import tailback as tb
from tailback.show.plots import GREY, grid, look, styled

#: A line of 10 Mb/s, 40 ms there and back: 33 segments of 1500 B, and room for as many again and a few.
TAIL_DROP = 'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "40 packets" }'
#: The same line, marking every packet that finds ten others.
DUAL = 'rate = "10Mbps"\ndelay = "20ms"\nqueue = "dualpi2"'
MARKING = (
    'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "red", buffer = "200 packets", ecn = true, weight = 1, '
    'min_threshold = "10 packets", max_threshold = "10 packets", gentle = false, mark_above_max = true, mark_cap = 1, '
    "wait = false }"
)
#: The same line, losing unmarked segments before marked ones.
COLOURED = (
    'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "rio", buffer = "100 packets", in_min_threshold = "40 packets", '
    'in_max_threshold = "70 packets", out_min_threshold = "10 packets", out_max_threshold = "40 packets" }'
)


@dataclass(frozen=True)
class Figure:
    """A page's run: the link, the flows (name and table), what is recorded of them, and how it is called."""

    link: str
    flows: dict[str, str]
    probe: str
    label: str
    seconds: float = 30
    #: The value is divided by this.
    unit: float = 1
    title: str = "10 Mb/s, 40 ms, a drop-tail buffer of 40 packets"
    #: Tables of flows that are not shown.
    beside: str = ""


def tcp(congestion: str, more: str = "") -> str:
    return f"tcp = {{ delayed_ack = 1, congestion = {congestion}{more} }}"


def windowed(link: str, flows: dict[str, str], title: str = "", seconds: float = 30) -> Figure:
    titled = title or "10 Mb/s, 40 ms, a drop-tail buffer of 40 packets"
    return Figure(link, flows, "cwnd", "window (segments)", seconds, title=titled)


MARKED = "10 Mb/s, 40 ms, every packet marked that finds ten others"
SLOW = 'rate = "80kbps"\ndelay = "250ms"\nqueue = {{ kind = "{}", buffer = "20 packets" }}'
#: A bottleneck of ten packets of 1000 B a second, half a second there and back.
OLD = "10 packets/s, 0.5 s, 20 packets of buffer, two sources"


def old(queue: str, transport: str, probe: str = "win", label: str = "window (packets)") -> Figure:
    flows = {
        "first": f'access_rate = "800kbps"\ntransport = {{ {transport} }}',
        "second": f'access_rate = "800kbps"\nstart = "20s"\ntransport = {{ {transport} }}',
    }
    return Figure(SLOW.format(queue), flows, probe, label, 120, title=f"{OLD}, {queue}")


#: What the name of a flow ends with that has a run of its own.
ALONE = " (a run of its own)"
#: Where slow start ends: after its overshoot a slow control would take minutes to come back.
FROM_60 = ', initial_ssthresh = "60 packets"'


def call(control: str, most: str, more: str = "") -> str:
    """An encoder that adapts; the control is a name or a table."""
    named = control if control.startswith("{") else f'"{control}"'
    return (
        f'traffic = {{ kind = "video", preset = "rfc8593" }}\nrtp = {{ control = {named}, max_rate = "{most}"{more} }}'
    )


def calls(rate: str, change: str, most: str, seconds: float, title: str, more: dict[str, str] | None = None) -> Figure:
    """Each rate control alone on a line that changes, and `more` of them: a name, and a table."""
    line = f'rate = "{rate}"\ndelay = "20ms"\nqueue = {{ kind = "droptail", buffer = "100 packets" }}\n{change}'
    flows = {name + own: call(name, most) for name, own in (("nada", ""), ("scream", ALONE), ("gcc", ALONE))}
    flows |= {name + ALONE: call(table, most) for name, table in (more or {}).items()}
    return Figure(line, flows, "target", "target (Mb/s)", seconds, 1e6, title)


FIGURES = {
    "reno": windowed(TAIL_DROP, {"reno": tcp('"reno"')}),
    "cubic": windowed(
        'rate = "50Mbps"\ndelay = "50ms"\nqueue = { kind = "droptail", buffer = "200 packets" }',
        {"cubic": tcp('"cubic"'), "reno (a run of its own)": tcp('"reno"')},
        "50 Mb/s, 100 ms, a drop-tail buffer of 200 packets",
        60,
    ),
    "vegas": windowed(TAIL_DROP, {"vegas": tcp('"vegas"')}, seconds=15),
    "bbr": windowed(
        'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "100 packets" }',
        {"bbr": tcp('"bbr"', ', ecn = "off"')},
        "10 Mb/s, 40 ms, a drop-tail buffer of 100 packets",
        24,
    ),
    "bbr3": windowed(
        'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "100 packets" }',
        {"bbr3": tcp('"bbr3"', ', ecn = "off", loss = "rack"')},
        "10 Mb/s, 40 ms, a drop-tail buffer of 100 packets",
        16,
    ),
    "ledbat-plus-plus": windowed(
        'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "200 packets" }',
        {"ledbat-plus-plus": tcp('"ledbat-plus-plus"')},
        "10 Mb/s, 40 ms, a drop-tail buffer of 200 packets",
        24,
    ),
    "copa": windowed(
        TAIL_DROP,
        {
            "copa": tcp('"copa"'),
            "not competitive (a run of its own)": tcp('{ kind = "copa", competitive = false }'),
        },
        seconds=6,
    ),
    "search": windowed(
        'rate = "20Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "1000 packets" }',
        {
            "search": tcp('{ kind = "cubic", search = true }'),
            "hystart (a run of its own)": tcp('{ kind = "cubic", hystart = true }'),
        },
        "20 Mb/s, 40 ms, a drop-tail buffer of 1000 packets",
        3,
    ),
    "binomial": windowed(
        TAIL_DROP,
        {
            "sqrt": tcp('{ kind = "binomial", law = "sqrt" }', FROM_60),
            "iiad (a run of its own)": tcp('{ kind = "binomial", law = "iiad" }', FROM_60),
        },
        seconds=120,
    ),
    "dctcp": windowed(MARKING, {"dctcp": tcp('"dctcp"')}, MARKED, 15),
    "prague": windowed(MARKING, {"prague": tcp('"prague"')}, MARKED, 15),
    "accurate-ecn": Figure(
        'rate = "20Mbps"\nreverse_rate = "100Mbps"\ndelay = "10ms"\nqueue = { kind = "dualpi2", profile = "linux" }\n'
        'reverse_queue = { kind = "cake", rate = "1Mbps", ack_filter = "conservative" }',
        {
            name: f'tcp = {{ congestion = "prague", accurate_ecn = "{how}", accurate_ecn_form = "linux" }}'
            for name, how in (("option", "option"), (f"flags alone{ALONE}", "ace"), (f"echo{ALONE}", "off"))
        },
        "alpha",
        "alpha of Prague",
        12,
        title="20 Mb/s, 20 ms, DualPI2; ACKs come back through CAKE with its filter, beside an upload",
        beside='[flows.up]\nfrom = "b"\nto = "a"\ntcp = { ecn = "off" }\n',
    ),
    "scalable": windowed(DUAL, {"scalable": tcp('"scalable"')}, "10 Mb/s, 40 ms, DualPI2", 15),
    "two-windows": windowed(
        COLOURED,
        {
            "two-windows": tcp('{ kind = "two-windows", target = "6Mbps" }'),
            "reno": tcp('"reno"') + '\ndscp = "AF12"',
        },
        "10 Mb/s, 40 ms, RIO; the target is 6 Mb/s",
        60,
    ),
    "two-way": windowed(
        TAIL_DROP,
        {"there": 'tcp = { connection = "two-way" }\ntraffic = { kind = "bulk", back = "10s" }'},
        "10 Mb/s each way, 40 ms; the destination sends too, from 10 s on",
        20,
    ),
    "tfrc": Figure(
        'rate = "10Mbps"\ndelay = "20ms"\nqueue = { kind = "red", buffer = "80 packets", min_threshold = "10 packets", '
        'max_threshold = "40 packets" }',
        {"tfrc": "tfrc = {}"},
        "rate",
        "allowed rate (Mb/s)",
        60,
        1e6,
        "10 Mb/s, 40 ms, RED with thresholds of 10 and 40 packets",
    ),
    "rtp": calls(
        "4Mbps",
        'rate_changes = [{ at = "20s", rate = "1.5Mbps" }, { at = "40s", rate = "4Mbps" }]',
        "4Mbps",
        60,
        "4 Mb/s, and 1.5 Mb/s from 20 to 40 s; 40 ms, a drop-tail buffer of 100 packets",
    ),
    "nada": Figure(
        'rate = "5Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "1000 packets" }',
        {
            "first": call("nada", "10Mbps"),
            "second, from 20 s": call("nada", "10Mbps") + '\nstart = "20s"',
            "third, from 40 s": call("nada", "10Mbps") + '\nstart = "40s"',
        },
        "target",
        "target (Mb/s)",
        70,
        1e6,
        "5 Mb/s, 40 ms, a max_rate of 10 Mb/s",
    ),
    "scream": Figure(
        'rate = "5Mbps"\ndelay = "12.5ms"\nqueue = "dualpi2"',
        {
            "with L4S marks": call("scream", "10Mbps", ', ecn = "ect1"'),
            "with classic marks" + ALONE: call("scream", "10Mbps", ', ecn = "ect0"'),
        },
        "target",
        "target (Mb/s)",
        20,
        1e6,
        "5 Mb/s, 25 ms, DualPI2",
    ),
    "gcc": Figure(
        'rate = "5Mbps"\ndelay = "20ms"\nqueue = { kind = "droptail", buffer = "100 packets" }',
        {
            "with probes": call("gcc", "10Mbps"),
            "without" + ALONE: call('{ kind = "gcc", probes = false }', "10Mbps"),
        },
        "target",
        "target (Mb/s)",
        60,
        1e6,
        "5 Mb/s, 40 ms, a drop-tail buffer of 100 packets",
    ),
    "generic": old("droptail", 'kind = "generic"'),
    "jacobson-karels": old("droptail", 'kind = "jacobson-karels", wmax = 60'),
    "decbit": old("decsel", 'kind = "decbit", wmax = 60'),
    "packet-pair": old("fq", 'kind = "packet-pair"', "send_gap", "time between packets (s)"),
}

#: Further figures of the page of `rtp`.
MORE = {
    "rtp-outage": calls(
        "5Mbps",
        '\n[change.outage]\nlink = "line"\nloss = [1, 0]\nat = ["25s", "27s"]',
        "10Mbps",
        50,
        "5 Mb/s, 40 ms; nothing arrives from 25 to 27 s",
    ),
    "rtp-route": calls(
        "5Mbps",
        '\n[change.route]\nlink = "line"\ndelay = ["60ms", "20ms"]\nat = ["25s", "45s"]',
        "10Mbps",
        55,
        "5 Mb/s, 40 ms, and 80 ms from 25 to 45 s",
        {"scream, drift_rounds = 128": '{ kind = "scream", drift_rounds = 128 }'},
    ),
    "rtp-tenth": calls(
        "5Mbps",
        '\n[change.fall]\nlink = "line"\nrate = ["0.5Mbps", "5Mbps"]\nat = ["25s", "45s"]',
        "10Mbps",
        65,
        "5 Mb/s, and 0.5 Mb/s from 25 to 45 s; 40 ms, a drop-tail buffer of 100 packets",
    ),
}


def scenario(f: Figure, flows: dict[str, str], probe: str) -> str:
    """The text of a run of these flows."""
    text = f'duration = "{f.seconds}s"\n[link.line]\nfrom = "a"\nto = "b"\n{f.link}\n'
    for i, table in enumerate(flows.values()):
        text += f'[flows.f{i}]\nfrom = "a"\nto = "b"\n{table}\n'
        text += f'[record.r{i}]\nflows = "f{i}"\nprobes = ["{probe}"]\non_change = true\n'
        if "two-way" in table:
            text += f'[record.back]\nflows = "f{i}.reverse"\nprobes = ["{probe}"]\non_change = true\n'
    return text + f.beside + '[record.queue]\nlink = "line"\nprobes = ["queue"]\nevery = "20ms"\n'


def text(name: str) -> str:
    """The scenario of a figure, without the flows that have a run of their own."""
    f = FIGURES[name]
    return scenario(f, {k: v for k, v in f.flows.items() if not k.endswith("of its own)")}, f.probe)


def run_of(text: str) -> dict[str, Line]:
    """What was recorded in a run, by name."""
    return {what: line for (what, _, _), line in lines_of(tb.run(text)).items()}


def runs(f: Figure) -> list[tuple[str, dict[str, Line]]]:
    """Flows of one figure run together, but for those that have a run of their own."""
    alone = {name: table for name, table in f.flows.items() if name.endswith("of its own)")}
    together = {name: table for name, table in f.flows.items() if name not in alone}
    found = [(next(iter(together)), run_of(scenario(f, together, f.probe)))]
    found += [(name, run_of(scenario(f, {name: table}, f.probe))) for name, table in alone.items()]
    return found


@styled
def draw(name: str) -> Path:
    f = (FIGURES | MORE)[name]
    fig, axes = grid(6.8, 3.6, 2, 1, sharex=True, height_ratios=[1.7, 1])
    colour = 0
    for first, lines in runs(f):
        names = [n for n in f.flows if not n.endswith("of its own)")] if first in f.flows else []
        flows = [k for k in lines if k.startswith("flows.")]
        for i, key in enumerate(flows):
            label = "back" if key.endswith(".reverse") else first if len(flows) == 1 or i >= len(names) else names[i]
            t, v = lines[key]
            # Recorded on change: the last value stands until the end.
            t, v = np.append(t, f.seconds), np.append(v, v[-1])
            k = look("", colour)
            axes[0, 0].plot(t, v / f.unit, color=k.colour, linewidth=0.9, drawstyle="steps-post", label=label)
            colour += 1
        t, v = lines["link.line"]
        axes[1, 0].plot(t, v, color=look("", colour - len(flows)).colour, linewidth=0.6)
    axes[0, 0].set_title(f.title, color=GREY, fontweight="normal")
    axes[0, 0].set_ylabel(f.label)
    axes[0, 0].margins(y=0.08)
    axes[0, 0].set_ylim(bottom=0)
    axes[1, 0].set_ylabel("queue (packets)")
    axes[1, 0].set_ylim(bottom=0)
    axes[1, 0].set_xlabel("time (s)")
    axes[1, 0].set_xlim(0, f.seconds)
    if colour > 1:
        fig.legend(loc="outside upper right", ncols=colour if colour < 4 else 2)
    return saved(fig, FOLDER / f"transports/{name}.png")


if __name__ == "__main__":
    draw_all(FIGURES | MORE, draw)
