"""`tailback live`, `tailback gateway` and `tailback doctor`: live runs, the box alone, and the check of this
machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailback.cli import options
from tailback.cli.errors import Failure, Stopped, linux, os_message, say
from tailback.cli.options import check_seeds
from tailback.core.text.json_text import json_text
from tailback.core.text.plain import read_text
from tailback.core.text.whole import write_text

if TYPE_CHECKING:
    from tailback.runs.live.session import Live


_SLEEPY = click.option(
    "--no-real-time",
    "real_time",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Run with normal instead of real-time priority.",
)


@click.command()
@click.argument("file")
@options.overrides()
@options.seed()
@options.replications("Number of runs, each with the next seed.")
@options.out("Folder for the tables, scenario.toml, manifest.json and live.json.")
@options.as_json()
@click.option(
    "--congestion", metavar="NAME", help="Congestion control of the kernel for all connections, such as cubic."
)
@click.option("--ecn", type=click.Choice(["on", "off"]), help="ECN for all connections.")
@click.option("--pacing", metavar="RATE", help="Highest pacing rate of each connection, such as 10Mbps.")
@click.option(
    "--iperf3", multiple=True, metavar="GROUP", help="Let iperf3 send this group of flows, or `all`. Repeatable."
)
@click.option(
    "--kernel",
    metavar="LINK",
    help="Use this kernel's queues for those of a link, such as shaper; `tailback doctor` lists the kernel's queues.",
)
@click.option("--ipv6", is_flag=True, help="Use IPv6 instead of IPv4.")
@click.option("--capture", metavar="FILE", help="Capture the packets at the first link's queue as pcapng.")
@click.option("--record", metavar="FILE", help="Write every arrival and decision, for `tailback live --replay`.")
@click.option(
    "--replay",
    metavar="FILE",
    help="Feed a recording to the simulator and compare its decisions. Needs no privilege.",
)
@_SLEEPY
def live(
    file: str, overrides: tuple[str, ...], seed: int | None, replay: str | None, kernel: str | None, **options: Any
) -> None:
    """Run the scenario in FILE with real packets: its network between two namespaces, this kernel's TCP at its ends.

    The tables are those of `tailback run`, so `tailback report A B` compares reality with simulation. Queues mark only
    if the scenario has marking = true, or the queue has ecn = true.
    """
    linux()
    from tailback.cli.source import reader
    from tailback.runs.live.layout import NotPossible, marks_only_if_asked

    read_with = reader(file)
    try:
        scenario = marks_only_if_asked(lambda more: read_with([*more, *overrides, *_seeded(seed)]))
    except NotPossible as e:
        raise click.UsageError(f"{'standard input' if file == '-' else file}, {e}") from e
    if kernel is not None:
        scenario, options["kernel"] = _with_kernel(
            scenario, kernel, lambda more: read_with([*more, *overrides, *_seeded(seed)])
        )
    for w in scenario.warnings:
        say(f"warning: {w}")
    if replay is not None:
        option = next((f"--{k}" for k in ("out", "capture", "record", "as_json") if options[k]), None)
        if option is not None:
            option = {"--as_json": "--json"}.get(option, option)
            raise click.UsageError(f"--replay compares a recording and writes nothing; leave {option} out")
        click.echo(_replayed(scenario, replay))
        return
    _run(scenario, **options)


def _with_kernel(scenario: Any, link: str, read: Any) -> tuple[Any, Any]:
    """The scenario without the queue of a link, and that queue as this kernel has it."""
    from tailback.runs.live import kernel_queue, machine
    from tailback.runs.live.layout import NotPossible, marks_only_if_asked

    try:
        of_link = kernel_queue.of(scenario, link)
        machine.require(of_link.needs, link)
    except NotPossible as e:
        raise click.UsageError(str(e)) from e
    return marks_only_if_asked(lambda more: read([*more, *of_link.overrides])), of_link


def _seeded(seed: int | None) -> list[str]:
    return [f"seed={seed}"] if seed is not None else []


def _run(scenario: Any, replications: int, out: str | None, as_json: bool, **options: Any) -> None:

    from tailback.runs.live import report
    from tailback.runs.live.layout import NotPossible
    from tailback.runs.live.session import LiveError, live

    check_seeds(scenario.seed, replications)
    settings = _options(scenario, options)
    runs: list[Live] = []
    try:
        with _terminated(), _Status(scenario.duration_s, replications) as status:
            for i in range(replications):
                settings.seed = scenario.seed + i
                status.number = i
                runs.append(live(scenario, settings, status.show))
    except NotPossible as e:
        raise click.UsageError(str(e)) from e
    except LiveError as e:
        raise Failure(str(e)) from e
    except KeyboardInterrupt:
        raise Stopped("interrupted; nothing is stored, and nothing is left behind") from None
    result = report.result(scenario, runs)
    record = options.get("record")
    try:
        if record:
            write_text(Path(record), runs[0].run.recording or "")
        if out:
            report.save(result, runs, out)
    except OSError as e:
        raise Failure(f"results cannot be stored: {os_message(e)}") from e
    if as_json:
        click.echo(json_text({**result.to_dict(), "live": report.documents(runs)}))
        return
    click.echo(result.summary())
    click.echo(f"\n{report.text(runs)}")
    if out:
        click.echo(f"\nstored in {out}")


def _options(scenario: Any, given: dict[str, Any]) -> Any:
    from tailback import _core
    from tailback.runs.live.session import Options

    overrides = {k: given[k] for k in ("congestion", "ecn", "ipv6", "iperf3", "kernel") if given.get(k)}
    if given["pacing"]:
        try:
            overrides["pacing_bps"] = _core.parse_rate(given["pacing"])
        except ValueError as e:
            raise click.BadParameter(str(e), param_hint="--pacing") from e
    link = scenario.spec["links"][0]["name"]
    capture = (link, given["capture"]) if given["capture"] else None
    return Options(scenario.seed, overrides, capture, bool(given["record"]), given["real_time"])


class _Status:
    """A line on a terminal while runs go on."""

    def __init__(self, duration: float, runs: int) -> None:
        self.duration, self.runs, self.number = duration, runs, 0
        self.shown = 0.0

    def __enter__(self) -> _Status:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and sys.stderr.isatty():
            click.echo("\r\x1b[K", err=True, nl=False)

    def show(self, state: dict[str, Any]) -> None:
        import time

        if not sys.stderr.isatty() or time.monotonic() - self.shown < 0.2:
            return
        self.shown = time.monotonic()
        run_text = f"run {self.number + 1} of {self.runs}, " if self.runs > 1 else ""
        line = f"{run_text}{state['time_s']:.0f} of {self.duration:g} s, {_state_text(state)}"
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)


def _state_text(state: dict[str, Any]) -> str:
    late_s = state["lateness_p99_s"]
    return (
        f"{state['entered_packets']} packets in, {state['emitted_packets']} out, {state['inside_packets']} inside, "
        f"p99 {late_s * 1e6:.0f} us late"
    )


class _terminated:
    """SIGTERM ends a run as Ctrl-C does, with the exit status of a shell."""

    def __enter__(self) -> None:
        import signal

        def end(*_: object) -> None:
            raise SystemExit(128 + signal.SIGTERM)

        self.before = signal.signal(signal.SIGTERM, end)

    def __exit__(self, *_: object) -> None:
        import signal

        signal.signal(signal.SIGTERM, self.before)


#: A recording has a line for each packet, bytes.
LONGEST_RECORDING = 1 << 29


def _replayed(scenario: Any, path: str) -> str:
    from tailback.runs.live.replay import ReplayError, compare

    try:
        return compare(scenario, read_text(Path(path), LONGEST_RECORDING))
    except OSError as e:
        raise click.UsageError(f"the recording cannot be read: {os_message(e)}") from e
    except UnicodeDecodeError as e:
        raise click.UsageError(f"{path} is no recording; `tailback live --record FILE` makes one") from e
    except ReplayError as e:
        raise Failure(str(e)) from e
    except (ValueError, RuntimeError) as e:
        # A recording does not contain the code of a queue in Python.
        raise click.UsageError(str(e)) from e


@click.command()
@click.argument("near")
@click.argument("far")
@click.option("--rate", default="20Mbps", show_default=True, help="Rate of the line towards FAR.")
@click.option(
    "--delay", default="10ms", show_default=True, help="One-way delay, added after the line in both directions."
)
@click.option(
    "--queue", default="codel", show_default=True, help="Queue discipline: its name, or a table as in a scenario."
)
@click.option("--mtu", type=click.IntRange(68, 65_000), help="MTU of tailback0.  [default: 1500]")
@click.option(
    "--flows",
    type=click.IntRange(1, 65_536),
    default=1024,
    show_default=True,
    help="Most conversations that get their own queue.",
)
@click.option("--marking", is_flag=True, help="Mark ECN-capable packets instead of dropping them.  [default: off]")
@click.option("--seconds", type=options.Seconds(min=0.1), help="Length of the run.  [default: until Ctrl-C]")
@click.option("--capture", metavar="FILE", help="Capture the packets at the queue as pcapng.")
@_SLEEPY
def gateway(near: str, far: str, **options: Any) -> None:
    """Put a queue and a line between two network namespaces or two interfaces.

    NEAR and FAR are namespaces (names of `ip netns`, or process numbers) or interfaces. In each namespace the box makes
    the device tailback0 with an address (10.203.0.1 and 10.203.0.2) and a route to the other. The devices vanish when
    the box ends.

    An interface is INTERFACE of this network, or NAMESPACE:INTERFACE. Packets that one interface receives leave by the
    other through the queue, as over a cable. Both must be up and have no address; the box does not change them.
    """
    linux()
    from tailback.runs.live.box import BoxError, run

    try:
        with _terminated():
            click.echo(run(near, far, options, lambda state: _line(state)))
    except BoxError as e:
        raise (click.UsageError(str(e)) if e.input else Failure(str(e))) from e


def _line(state: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{state['time_s']:.0f} s, {_state_text(state)}", err=True, nl=False)


@click.command()
@click.option(
    "--clean",
    is_flag=True,
    help="End processes that earlier runs of tailback left; with sudo, turn off forwarding that a run left on.",
)
def doctor(clean: bool) -> None:
    """Check whether this machine can run `tailback live` and `tailback behind`, with a remedy for each problem. Exit
    status 1 if not."""
    linux()
    from tailback.runs.live import machine

    if clean:
        from tailback.runs.live.behind import forwarding

        click.echo(machine.clean())
        if forwarding.put_back():
            click.echo("put back the forwarding of interfaces, which a killed `tailback behind` had left on")
        return
    checks = machine.checks()
    for c in checks:
        click.echo(c.text())
    if not all(c.good for c in checks if c.needed):
        raise Failure("`tailback live` cannot run here; the lines marked 'no' say what is missing")
    click.echo("`tailback live` can run here")
