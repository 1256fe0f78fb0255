"""A batch file for Slurm: an array of jobs that each run a shard, and the command that gathers the shards."""

from __future__ import annotations

import shlex
import sys

TEMPLATE = """\
#!/bin/bash
# {runs} runs in {shards} shards. Submit the shards, then what gathers them when all have ended:
#
#     id=$(sbatch --parsable FILE)
#     sbatch --dependency=afterok:$id --time=01:00:00 --wrap={gather}
#
# A shard that was killed or requeued goes on where it stopped; submit the same file again for those that failed.
#SBATCH --job-name={name}
#SBATCH --array=1-{shards}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cpus}
#SBATCH --time={time}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={log}

set -eu
cd {here}
exec {command} --shard "$SLURM_ARRAY_TASK_ID/{shards}" --jobs "${{SLURM_CPUS_PER_TASK:-{cpus}}}"
"""


def batch_file(file: str, out: str, overrides: tuple[str, ...], *, shards: int, cpus: int, runs: int, here: str) -> str:
    """The text of the batch file; `here` is the folder to which paths are relative."""
    sets = [x for o in overrides for x in ("--set", o)]
    words = [sys.executable, "-m", "tailback", "sweep", file, "--out", out, *sets]
    command = shlex.join(words)
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in out.strip("/").rpartition("/")[2]) or "sweep"
    hours = "04:00:00"
    return TEMPLATE.format(
        runs=runs,
        shards=shards,
        cpus=cpus,
        time=hours,
        name=name,
        log=f"{name}-%a.log",
        here=shlex.quote(here),
        command=command,
        gather=shlex.quote(f"cd {shlex.quote(here)} && {command} --merge"),
    )
