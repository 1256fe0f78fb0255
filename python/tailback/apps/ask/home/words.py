"""The sentences of the answer, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.apps.ask import marks, refine
from tailback.apps.ask.home import spoken, traffic, variation, worth
from tailback.apps.ask.home.candidates import FOLLOWER, MINE, MODEM
from tailback.apps.ask.home.line import DEFAULT_TRAFFIC, MOST_SHARE, TRANSFERS
from tailback.apps.ask.home.line import MODEM as MODEM_TIME
from tailback.apps.ask.home.routers import ROUTERS
from tailback.apps.ask.home.summary import RATINGS, milliseconds
from tailback.apps.ask.words import capital, joined, quantity
from tailback.core import stats

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison

#: The rule by which a share is chosen.
WORTH = "a share costs what a load adds, and 1 ms for each per cent of the line's rate that is not delivered"
#: The description of a shaper that follows the line.
AUTORATE = (
    "cake-autorate (github.com/lynxthecat/cake-autorate) pings all the time, lowers the shaper's rate where pings take "
    "some 60 ms longer (30 ms each way), and raises it under load where they do not"
)
#: The relative error of the added latency from which a fitted buffer is said not to fit.
FAR = 0.1
#: A speed test does not fill a buffer that holds more than this.
DEEP_S = 0.8
DEEP = " A speed test of some ten seconds does not fill so deep a buffer: it may be deeper."
#: The effect of a tunnel.
VPNS = {
    "": "",
    "router": "All traffic is in a tunnel of the router: upwards the queue still knows its flows (Linux keeps the hash "
    "of before), downwards they are one. The some 80 B that a tunnel adds to a packet are not counted.",
    "host": "Each host has a tunnel of its own: a queue at home takes all that a host does for one flow. The some "
    "80 B that a tunnel adds to a packet are not counted.",
}
#: The effects that the model leaves out on any line.
LEFT_OUT = "Wi-Fi, the router's processor and packets that noise destroys are not in the model either."
#: Below this R users call a call bad.
BAD = RATINGS[-1][0]
#: The case in which no queue at home helps.
WIFI = "A queue at home does not help where Wi-Fi is the bottleneck: measure with a cable first."


def question(answer: HomeComparison) -> str:
    """`100/20 Mbps, round trip 30 ms`"""
    line = answer.line
    down, up = line.down_bps / 1e6, line.up_bps / 1e6
    return f"{down:.4g}/{up:.4g} Mbps, round trip {line.rtt_s * 1e3:g} ms"


def where(answer: HomeComparison) -> str:
    """The places of the queues, and the evidence for them."""
    line = answer.line
    up_buffer, down_buffer = _size(line.up_buffer), _size(line.down_buffer)
    if line.modem == "fitted" and line.measured is not None and line.fit_adds is not None:
        loads = [("download", line.measured.added_down_s), ("upload", line.measured.added_up_s)]
        added_texts = [
            f"{_ms(adds)} to a ping under {'a' if w == 'download' else 'an'} {w} ({_ms(s)} measured)"
            for (w, s), adds in zip(loads, line.fit_adds, strict=True)
            if s is not None
        ]
        far_loads = [
            w
            for (w, s), adds in zip(loads, line.fit_adds, strict=True)
            if s is not None and abs(adds - s) > max(FAR * s, 0.001)
        ]
        far_text = f" No buffer comes nearer for the {joined(far_loads, 'and')}." if far_loads else ""
        times = (8 * line.down_buffer / line.down_bps, 8 * line.up_buffer / line.up_bps)
        deep_text = DEEP if max(times) > DEEP_S else ""
        lacks = [w for w, s in loads if s is None]
        unmeasured = "".join(
            f" The {w} was not measured under load: {MODEM_TIME} of its rate are assumed." for w in lacks
        )
        return (
            f"Fitted: with {up_buffer} in the modem before the upload and {down_buffer} at the provider before the "
            f"download, {TRANSFERS} transfers add {joined(added_texts, 'and')}.{far_text}{deep_text}{unmeasured}"
        )
    if line.policer is not None:
        passed = " down, ".join(_size(size) for size in line.policer)
        return f"The provider's policer passes a burst of {passed} up, then the line's rate; it drops the excess."
    if line.modem == "assumed":
        return (
            f"Assumed, not measured: a buffer of {MODEM_TIME} in front of each direction ({up_buffer} in the modem, "
            f"{down_buffer} at the provider). Measure it: `ping` a near server while a speed test runs, and give what "
            "both say, such as "
            f'--measured "{line.down_bps / 1e6:g}/{line.up_bps / 1e6:g}, idle {line.rtt_s * 1e3:g}, down 240, up 190".'
        )
    return f"The modem holds {up_buffer} before the upload, the provider {down_buffer} before the download, as you say."


def shaped(answer: HomeComparison) -> str:
    """The rates of the shaper, and the reason."""
    line = answer.line
    down_rate, up_rate = (_mbps(rate) for rate in line.shaped)
    reason = "as asked for" if line.asked_share else f"chosen: {WORTH}"
    ways = f"{line.share} of the line's rate" + (", both ways" if line.share.down == line.share.up else ", down and up")
    who = f"Each candidate but {FOLLOWER}" if FOLLOWER in answer.candidates else "Each candidate"
    sentence = f"{who} is behind a shaper at home: {down_rate} down, {up_rate} up ({ways}; {reason})."
    router = line.router
    if router is None:
        router_rates = sorted(row.most_bps for row in ROUTERS.values())
        if max(line.shaped) < router_rates[0]:
            return sentence
        slow = f"{router_rates[0] / 1e6:.0f} to {_mbps(router_rates[-1])}"
        return (
            f"{sentence} A shaper works on the processor: routers were seen to stop at {slow}; name yours with "
            "--router."
        )
    name = f"The {router.name}" if router.name else "Your router"
    if router.most_bps / line.down_bps >= MOST_SHARE and router.most_bps / line.up_bps >= MOST_SHARE:
        return (
            f"{sentence} {name} shapes {_mbps(router.most_bps)} at most ({router.source}): it keeps up with this line."
        )
    keeps_up = router.most_bps / line.up_bps >= MOST_SHARE
    upload_text = (
        "; this one can shape the upload alone" if keeps_up else "; this one can shape neither direction of it"
    )
    return (
        f"{sentence} {name} shapes {_mbps(router.most_bps)} at most ({router.source}): more of the line is out of its "
        f"reach. A faster router would shape all of it{upload_text}."
    )


def measured(answer: HomeComparison) -> str:
    """The line rate that the goodput of a speed test needs; empty without a speed test."""
    line, test = answer.line, answer.line.measured
    if test is None:
        return ""
    return (
        f"Measured: {_mbps(test.down_bps)} down and {_mbps(test.up_bps)} up of goodput, which take a line of "
        f"{_mbps(line.down_bps)} and {_mbps(line.up_bps)}: headers take the rest."
    )


def mine(answer: HomeComparison) -> str:
    """The user's present queue with its numbers; empty if nothing was pasted."""
    if MINE not in answer.candidates:
        return ""
    return f"What you have: {'; '.join(answer.candidates[MINE].why.values())}."


def medium(answer: HomeComparison) -> str:
    """The effects that the model leaves out on this kind of line."""
    m, note = answer.line.medium, spoken.KINDS[answer.line.kind].note
    if not m.span_s:
        return f"Not in the model: {note}. {LEFT_OUT}" if note else LEFT_OUT
    return (
        f"Not in the model: {m.title}, {1e3 * m.least_s:g} to {1e3 * m.most_s:g} ms ({m.source}). Of that a load may "
        f"add 0 to {1e3 * m.span_s:g} ms to the idle line's: each latency here is higher by {500 * m.span_s:g} ms, and "
        f"has ± {500 * m.span_s:g} ms more. {LEFT_OUT}"
    )


def varying(answer: HomeComparison) -> str:
    """Whether a fixed shaper is right on a varying line; empty if the line does not vary."""
    line, shares = answer.line, answer.shares
    if line.varies is None or not shares:
        return ""
    greatest_share, nearest_share = (
        max(s for s in shares if s.down <= MOST_SHARE or s == min(shares)),
        answer.nearest_share,
    )
    at_shares = [
        f"at {s} of the rate {answer.shares_of} adds {1e3 * answer.added_at(s):.0f} ms"
        for s in dict.fromkeys((greatest_share, nearest_share))
    ]
    modem_delivery = answer.delivered(answer.runs[MODEM])
    fixed_part = answer.delivered(shares[nearest_share]) / modem_delivery
    fixed_text = f"{', '.join(at_shares)} and delivers {100 * fixed_part:.0f} % of what the modem alone does"
    if FOLLOWER not in answer.candidates:
        return f"A fixed shaper is a compromise on a line that varies: {fixed_text}. {AUTORATE}."
    follower_part = answer.delivered(answer.runs[FOLLOWER]) / modem_delivery
    follower_text = (
        f"In this model, which applies its rule to a fluid, it adds {1e3 * answer.added(FOLLOWER):.0f} ms and "
        f"delivers {100 * follower_part:.0f} %"
    )
    opinion = "No fixed shaper is right for" if answer.best == FOLLOWER else "A fixed shaper is good enough for"
    span_s = answer.line.medium.span_s
    apart = f" (These are without the {500 * span_s:g} ms that the table has for the medium.)" if span_s else ""
    return f"{opinion} this line: {fixed_text}. {AUTORATE}. {follower_text}.{apart}"


def conditions(answer: HomeComparison) -> str:
    line, times = answer.line, answer.times
    phases = ", ".join(f"{p.title} {p.ends - p.begins:g} s" for p in times.phases)
    ecn = marks.said(line.ecn, {line.sender: line.sender})
    lines = answer.lines(answer.best) if answer.best != MODEM else None
    if not line.ecn and lines is not None and any(" cake " in command for command in lines.commands):
        # No setting stops cake from marking, and the lines for SQM request marks.
        ecn = f"{ecn[:-1]} at the hosts of the model; cake on the router marks packets of hosts that have it."
    seeds = capital(refine.said(len(answer.seeds)))
    return f"Phases: {phases}; the first quarter of a phase with load is counted apart, as its start. {ecn} {seeds}."


def hosts(answer: HomeComparison) -> str:
    told = answer.line.people or answer.line.traffic != DEFAULT_TRAFFIC
    who = "Behind the line" if told else "Behind the line (assumed; --people says who is really there)"
    return f"{who}: {'; '.join(traffic.said(answer.line))}."


def framing(answer: HomeComparison) -> str:
    """A sentence on the bytes that the link's framing takes."""
    line = answer.line
    share = line.framing.share_of_ip(line.packet)
    if line.framing.link == "unknown":
        return (
            f"The link is unknown, so shapers count each packet as the most costly link would (cake: conservative). "
            f"This leaves {share:.0%} of the shaped rate for full packets. Name the link with --link to get the rest."
        )
    words = line.framing.title
    return f"Packets on {words} carry what the link adds; {share:.1%} of the rate is left for full packets."


def first(answer: HomeComparison) -> str:
    """The first answer, from one seed of each candidate."""
    best = answer.best
    grades = f"{answer.grade(MODEM)} to {answer.grade(best)}"
    return f"First answer, from one seed: {best} comes first (grade {grades}). More seeds run now."


def verdict(answer: HomeComparison) -> str:
    """One or two sentences on what helps and what it costs."""
    if len(answer.seeds) < 2:
        return "One seed gives no interval: nothing here is called better. Ask for --replications 5."
    best = answer.best
    tied_queues = [
        p.queue for p in answer.ranking.places if p.rank == _rank(answer, best) and p.queue not in (best, MODEM, MINE)
    ]
    winners = joined([best, *tied_queues], "and")
    verb = "come first, behind a shaper" if tied_queues else "comes first, behind a shaper"
    if not _helps(answer):
        verb = "are" if tied_queues else "is"
        none = f"By no measure {verb} {winners} clearly better than the modem alone, over {len(answer.seeds)} seeds."
        return " ".join([none, *(["Leave it as it is."] if leave(answer) else []), *_mine(answer, best)])
    parts = [f"{winners} {verb}: {_gain(answer, best)} (grade {answer.grade(MODEM)} to {answer.grade(best)})."]
    cost = _cost(answer, best)
    sentences = [*parts, *([cost] if cost else []), *_most_is_lost(answer, best), *_dear(answer, best)]
    return " ".join([*sentences, *_still_bad(answer, best), *_mine(answer, best)])


def _helps(answer: HomeComparison) -> bool:
    """Whether the proposal is clearly better than the modem alone by some measure."""
    return any(d.better == answer.best and MODEM in (d.a, d.b) for d in answer.ranking.differences)


def leave(answer: HomeComparison) -> bool:
    """Whether the advice is to change nothing."""
    return len(answer.seeds) > 1 and not _helps(answer) and bool(_dear(answer, answer.best))


def _mine(answer: HomeComparison, best: str) -> list[str]:
    """A sentence on the user's present queue."""
    if MINE not in answer.candidates:
        return []
    adds = f"What you have adds {milliseconds(answer.graded(MINE))} (grade {answer.grade(MINE)})"
    clear_differences = [d for d in answer.ranking.differences if {d.a, d.b} == {MINE, best} and d.better]
    best_wins = sum(d.better == best for d in clear_differences)
    if answer.grade(MINE) == answer.grade(best) and 2 * best_wins <= len(clear_differences):
        return [f"{adds}, as good: keep it."]
    of, behind = len(answer.ranking.measures), len(clear_differences) - best_wins
    return [f"{adds}: {best} is better by {best_wins} of {of} measures, worse by {behind}."]


def _dear(answer: HomeComparison, best: str) -> list[str]:
    """A warning if the lost rate is worth more than the saved latency."""
    best_cost, modem_cost = (stats.mean(worth.of_run(run) for run in answer.runs[name]) for name in (best, MODEM))
    if not best_cost > modem_cost:
        return []
    return [
        f"That is dear: by a millisecond for each per cent of rate {best} costs {1e3 * best_cost:.0f} ms, the modem "
        f"alone {1e3 * modem_cost:.0f}. Shape only if calls and games matter more to you than the rate."
    ]


def _most_is_lost(answer: HomeComparison, best: str) -> list[str]:
    """A warning if the shaper takes more than half of the rate."""
    ways = (("goodput_down", "download"), ("goodput_up", "upload"))
    measured_ways = [(measure, way) for measure, way in ways if measure in answer.ranking.values]
    losses = [
        way
        for measure, way in measured_ways
        if answer.estimate(measure, best).mean < 0.5 * answer.estimate(measure, MODEM).mean
    ]
    if not losses:
        return []
    return [
        f"That is more than half of the {joined(losses, 'and')}: weigh it against what you feel today. Without the "
        "shaper you keep the rate."
    ]


def _still_bad(answer: HomeComparison, best: str) -> list[str]:
    """A warning if a call is bad even with the proposal."""
    if "call_rating" not in answer.ranking.values or not answer.estimate("call_rating", best).mean < BAD:
        return []
    return ["But calls stay bad with it while the line is full: stop uploads and downloads during a call."]


def _rank(answer: HomeComparison, name: str) -> int | None:
    return next(p.rank for p in answer.ranking.places if p.queue == name)


def _gain(answer: HomeComparison, best: str) -> str:
    """The latency under load with the proposal and with the modem alone, each with its interval."""
    with_it, today = (milliseconds(answer.graded(name)) for name in (best, MODEM))
    return f"with {best} a load adds {with_it} of latency instead of {today}"


def _cost(answer: HomeComparison, best: str) -> str:
    """The loss or gain of rate."""
    losses: list[str] = []
    gains: list[str] = []
    for measure, direction in (("goodput_down", "download"), ("goodput_up", "upload")):
        if measure not in answer.ranking.values:
            continue
        loss = stats.paired(answer.ranking.values[measure][MODEM], answer.ranking.values[measure][best])
        if abs(loss.mean) >= 0.005:
            size = f"{100 * abs(loss.mean):.1f} ± {100 * loss.half_width:.1f} % of the {direction}"
            (losses if loss.mean > 0 else gains).append(size)
    verbs = (("costs", losses), ("gives", gains))
    clauses = [f"{verb} {joined(sizes, 'and')}{' more' * (verb == 'gives')}" for verb, sizes in verbs if sizes]
    return f"It {joined(clauses, 'and')}, as shares of the line's rate." if clauses else ""


def share_table(answer: HomeComparison) -> list[list[str]]:
    """The effect of the shaper's share: a header, and a row for each share."""
    loads = [m for m in answer.ranking.measures if m.loads]
    rows = [["share", "a load adds", *(m.loads for m in loads), "cost"]]
    for share, runs in answer.shares.items():
        goodputs = [f"{100 * stats.mean(m.value(run) for run in runs):.0f} %" for m in loads]
        cost = stats.mean(worth.of_run(run) for run in runs)
        rows.append([str(share), _ms(answer.added_at(share)), *goodputs, _ms(cost)])
    return rows


def _ms(seconds: float) -> str:
    """A time with three digits; from 1000 ms on, with all digits."""
    return f"{1e3 * seconds:.0f} ms" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def share_sentence(answer: HomeComparison) -> str:
    """The sentence above the table of shares. The sentence names the comparison, the queue and the number of seeds."""
    seeds = refine.said(min(len(runs) for runs in answer.shares.values()))
    span_s = answer.line.medium.span_s
    medium_text = (
        f" Latencies are here without the {500 * span_s:g} ms that are added above for the medium." if span_s else ""
    )
    return f"What the share buys with {answer.shares_of} ({seeds}). {capital(WORTH)}.{medium_text}"


def assumptions(answer: HomeComparison) -> Sequence[str]:
    """A sentence for each assumption of the answer."""
    said = [measured(answer), where(answer), shaped(answer), mine(answer), medium(answer), VPNS[answer.line.vpn]]
    said += [variation.said(answer.line)]
    return [*(one for one in said if one), WIFI]


def _mbps(bps: float) -> str:
    return f"{bps / 1e6:.4g} Mb/s" if bps >= 1e6 else f"{bps / 1e3:.4g} kb/s"


def _size(size: int) -> str:
    return quantity("B", size, 3) if size < 1000 else f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
