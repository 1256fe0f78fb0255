"""`tailback status`: shows the contents of a folder of results."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from tailback.cli import options
from tailback.core.text.plain import plain


@click.command()
@options.folder("dir")
@options.as_json()
def status(dir: str, as_json: bool) -> None:
    """Show what DIR holds: finished results, or what an interrupted command left. Changes nothing.

    For a study, DIR is its folder of results or the folder `runs` in it.
    """
    from tailback import _core
    from tailback.core.text.json_text import json_text

    folder = os.path.join(dir, "runs") if os.path.isfile(os.path.join(dir, "runs", "manifest.json")) else dir
    state = _core.status(folder)
    if not state["runs"] and not state["in_use_by"] and not os.path.isfile(os.path.join(folder, "manifest.json")):
        from tailback.cli.source import no_results

        raise click.UsageError(no_results(dir))
    if as_json:
        manifest = json.loads(state.pop("manifest"))
        # A damaged one may be anything.
        manifest = manifest if isinstance(manifest, dict) else {}
        state["command"] = manifest.get("command")
        state["scenario"] = manifest.get("scenario")
        state["damaged"] = [str(p) for p in state["damaged"]]
        click.echo(json_text(state))
    else:
        click.echo("\n".join(plain(line) for line in lines(dir, state)))


def lines(name: str, found: dict[str, Any]) -> list[str]:
    """A folder's state in words."""
    from tailback.runs.campaign.progress import span

    runs = found["runs"]
    planned_runs = [r for r in runs if r["point"] is not None]
    stored_count = sum(r["stored"] for r in planned_runs)
    other_runs = sum(r["stored"] for r in runs) - stored_count
    failed_count = sum(r["failed"] for r in runs)
    texts = [f"{name}: {found['status']}, {stored_count} of {len(planned_runs)} runs stored"]
    if failed_count:
        texts[0] += f", {failed_count} failed"
    if other_runs:
        texts.append(f"{other_runs} runs of other plans beside them")
    costs = [r["cpu_s"] for r in runs if r["stored"] and r["cpu_s"] is not None]
    if costs:
        texts.append(f"they took {span(sum(costs))} of CPU time")
    for s in found["shards"]:
        share = f"{s['stored']} of {s['planned']} runs" if s["planned"] else "0 runs"
        at_work = f": process {s['in_use_by']} is at work" if s["in_use_by"] is not None else ""
        texts.append(f"shard {s['name'].replace('-of-', '/')} has {share}{at_work}")
    if found["in_use_by"] is not None:
        texts.append(f"process {found['in_use_by']} is at work there")
    elif found["shards"] and stored_count == len(planned_runs):
        texts.append("all runs are stored: the same command without --shard, or with --merge, makes the tables")
    elif stored_count < len(planned_runs):
        texts.append("run the same command again to go on")
    texts += [f"damaged: {p}" for p in found["damaged"]]
    return texts
