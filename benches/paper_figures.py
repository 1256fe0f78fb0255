"""Five figures and two tables of published papers in a column of 3.5 inches, each by one command from stored runs, and
a document of LaTeX that includes them all.

    .venv/bin/python benches/paper_figures.py [--out out/paper]

Three figures are of our own studies; CUBIC beside BBR over buffers is as in Cao et al., "When to use and when not to
use BBR" (IMC 2019), and the distribution of a queue with DCTCP as in Alizadeh et al., "Data Center TCP" (SIGCOMM 2010),
figure 13. Runs that are stored are not run again. Prints each command; compiles the document with pdflatex, if it is
there, and prints the size of each figure. Exit status 1 if a command fails or the document does not compile.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

BBR = """
replications = 5
[scenario]
duration = "20s"
warmup = "5s"
topology = { kind = "dumbbell", rate = "50Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "100 packets" } }
[scenario.flows.cubic]
rtt = "40ms"
tcp = { profile = "linux", congestion = "cubic" }
start = { kind = "uniform", to = "1s" }
[scenario.flows.bbr]
rtt = "40ms"
tcp = { profile = "linux", congestion = "bbr" }
start = { kind = "uniform", to = "1s" }
[axis.buffer]
title = "Buffer"
paths = ["topology.queue.buffer"]
unit = "packets"
values = [20, 40, 80, 160, 320, 640, 1280]
"""

DCTCP = """
replications = 5
[scenario]
duration = "2s"
warmup = "500ms"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "20us", queue = { kind = "droptail", buffer = "400 packets" } }
[scenario.flows.long]
count = 2
rtt = "200us"
tcp = { profile = "linux", congestion = "cubic" }
start = { kind = "uniform", to = "10ms" }
[scenario.record.queue]
link = "bottleneck"
probes = ["queue"]
every = "125us"
[axis.sender]
title = "Sender"
set = { TCP = [], DCTCP = ["flows.long.tcp.congestion=dctcp", "flows.long.tcp.ecn=on", "topology.queue={STEP}"] }
"""
#: Marks every packet above 20, as in section 3.4 of the paper: RED without an average, with thresholds next to each
#: other.
STEP = (
    "{ kind = 'red', buffer = '400 packets', min_threshold = '20 packets', max_threshold = '21 packets', weight = 1, "
    "max_probability = 1, ecn = true, gentle = false }"
)

#: Of each figure: its file, the folder of its runs, and what `tailback plot` takes.
FIGURES = {
    "buffers": ("appenzeller-2004", ["rule"]),
    "goodputs": ("kantawala-2005", ["fig-3.3"]),
    "assured": ("habib-2000", ["fig-6"]),
    "bbr": ("bbr", ["groups.goodput_bps_sum", "--over", "buffer"]),
    "dctcp": ("dctcp", ["queue", "--as", "cdf"]),
}
#: Of each table the same, and what `tailback export` takes.
TABLES = {
    "bbr-table": ("bbr", ["bbr / total", "links.sojourn_p50_s[bottleneck]", "links.loss_rate[bottleneck]"]),
    "dctcp-table": (
        "dctcp",
        ["groups.goodput_bps_sum[long]", "links.sojourn_p50_s[bottleneck]", "links.sojourn_p99_s[bottleneck]"],
    ),
}
STUDIES = ("appenzeller-2004/rule", "kantawala-2005/fig-3.3", "habib-2000/fig-6")


def run(out: Path, *args: str) -> None:
    """One command, printed as it would be typed."""
    print("tailback " + " ".join(f"'{a}'" if any(c in a for c in " []()") else a for a in args), flush=True)
    tailback = Path(sys.executable).with_name("tailback")
    subprocess.run([tailback, *args], check=True, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def simulate(out: Path) -> None:
    (out / "bbr.toml").write_text(BBR)
    (out / "dctcp.toml").write_text(DCTCP.replace("{STEP}", STEP))
    for name in ("bbr", "dctcp"):
        run(out, "sweep", f"{name}.toml", "--out", name)
    for one in STUDIES:
        run(out, "reproduce", one, "--out", one.partition("/")[0])


def document() -> str:
    figures = "\n".join(
        rf"\begin{{figure}}\includegraphics{{{name}.pdf}}\caption{{{name}}}\end{{figure}}" for name in FIGURES
    )
    tables = "\n".join(
        rf"\begin{{table*}}\centering\input{{{name}.tex}}\caption{{{name}}}\end{{table*}}" for name in TABLES
    )
    return rf"""\documentclass[twocolumn]{{article}}
\usepackage{{graphicx,booktabs,textcomp}}
\usepackage[margin=0.6in,columnsep=0.25in]{{geometry}}
\begin{{document}}
{figures}
{tables}
\end{{document}}
"""


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="out/paper")
    out = Path(p.parse_args().out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        simulate(out)
        for name, (folder, what) in FIGURES.items():
            for kind in ("pdf", "png", "svg"):
                run(out, "plot", folder, *what, "--width", "3.5in", "--style", "paper", "--to", f"{name}.{kind}")
        for name, (folder, what) in TABLES.items():
            for kind in ("tex", "md", "csv"):
                run(out, "export", folder, *what, "--to", f"{name}.{kind}")
    except subprocess.CalledProcessError as e:
        print(f"failed: {e}")
        return 1
    (out / "paper.tex").write_text(document())
    for name in FIGURES:
        sizes = [f"{(out / f'{name}.{kind}').stat().st_size / 1e3:.0f} kB {kind}" for kind in ("pdf", "svg", "png")]
        print(f"{name}: {', '.join(sizes)}")
    latex = shutil.which("pdflatex")
    if latex is None:
        print("pdflatex is not here: apt-get install texlive-latex-base texlive-latex-recommended")
        return 0
    done = subprocess.run(
        [latex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=out, capture_output=True, text=True
    )
    bad = [line for line in done.stdout.splitlines() if "Overfull" in line or line.startswith("!")]
    print("\n".join(bad) or f"pdflatex compiled {out / 'paper.pdf'} without an overfull box")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
