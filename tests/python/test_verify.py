"""All studies on one page, and bundles that are run again: what was changed is found, also with its digest."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import Cli

from tailback import _core
from tailback.cli import cli as command_line
from tailback.study import bundle, verify
from tailback.study import load as studies
from tailback.study.everything import everything
from tailback.study.repeat import QUICK

pytestmark = pytest.mark.slow

SCENARIO = """
duration = "2s"
warmup = "500ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "20 packets" } }
[flows.bulk]
count = 2
start = { kind = "uniform", to = "300ms" }
"""

STUDY = """
id = "tiny"
title = "A study of four runs"
citation = "None."
claims = ["busy"]
"""

EXPERIMENTS = """
[discipline.droptail]
title = "Drop-tail"
queue = { kind = "droptail" }

[runs.link]
scenario = "link.toml"
seeds = { quick = 2, full = 2 }
[runs.link.axis.queue]
disciplines = ["droptail"]
paths = ["topology.queue"]
[runs.link.axis.buffer]
title = "Buffer"
unit = "packets"
paths = ["topology.queue.buffer"]
both = [10, 40]

[runs.veth]
like = "link"
not_repeatable = "packets that went over a real link"

[[experiment]]
id = "use"
title = "Utilisation"
runs = "link"
output = [{ kind = "table", measures = ["utilisation"], caption = "Utilisation." },
          { kind = "curves", x = "buffer", measure = "utilisation" }]

[[experiment]]
id = "real"
title = "Utilisation of a real link"
runs = "veth"
output = [{ kind = "table", measures = ["utilisation"], caption = "Utilisation, real." }]
"""

STATEMENTS = """
[[statement]]
id = "busy"
sentence = "The link is busy."
experiment = "use"
runs = "link"
measure = "utilisation"
check = [{ of = "droptail", above = 20 }]

[[statement]]
id = "busy-too"
sentence = "The real link is busy."
experiment = "real"
runs = "veth"
measure = "utilisation"
check = [{ of = "droptail", above = 20 }]
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of studies that has one."""
    folder = tmp_path / "own/tiny"
    folder.mkdir(parents=True)
    for name, text in (
        ("link.toml", SCENARIO),
        ("study.toml", STUDY),
        ("experiments.toml", EXPERIMENTS),
        ("statements.toml", STATEMENTS),
    ):
        (folder / name).write_text(text)
    monkeypatch.setenv("TAILBACK_STUDIES", str(tmp_path / "own"))
    return folder


@pytest.fixture
def made(tiny: Path, tmp_path: Path) -> Path:
    """The folder of all studies, of which there is one."""
    out = tmp_path / "all"
    everything(QUICK, out, names=["tiny"])
    return out


def test_a_bundle_passes_where_it_is_and_elsewhere(made: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("verify", made)
    assert done.returncode == 0, done.stderr
    files = len(bundle.read(made).files)
    assert f"{files} of {files} files have their digests" in done.stdout
    assert "tiny: 4 runs, 1 verdicts and 2 files made again: no difference" in done.stdout
    assert "2 points of veth (packets that went over a real link)" in done.stdout
    # Packed, and by a copy of the program in another place.
    packed = shutil.make_archive(str(tmp_path / "packed"), "gztar", tmp_path, "all")
    shutil.rmtree(made)
    shutil.copytree(Path(_core.__file__).parent, tmp_path / "elsewhere/tailback")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "elsewhere")}
    code = "import tailback, sys; from tailback.cli import main; print(tailback.__file__, file=sys.stderr); main()"
    argv = [sys.executable, "-c", code, "verify", packed, "--json"]
    far = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, cwd="/")
    assert far.returncode == 0 and str(tmp_path / "elsewhere") in far.stderr, far.stderr
    assert json.loads(far.stdout)["different"] == 0


def _json_number(folder: Path) -> str:
    path = folder / "tiny/verdicts.json"
    said = json.loads(path.read_text())
    said["verdicts"][0]["measured"] = said["verdicts"][0]["measured"].replace("9", "8")
    path.write_text(json.dumps(said, indent=1, ensure_ascii=False))
    return "verdicts.json: verdicts[0].measured"


def _csv_number(folder: Path) -> str:
    path = next((folder / "tiny/tables").glob("use*.csv"))
    text = path.read_text()
    number = re.findall(r"\d+\.\d+", text)[0]
    path.write_text(text.replace(number, number[:-1] + ("1" if number[-1] != "1" else "2"), 1))
    return f"tables/{path.name}[1]"


def _scenario(folder: Path) -> str:
    path = folder / "tiny/scenarios/link.toml"
    path.write_text(path.read_text().replace("5Mbps", "6Mbps"))
    return "scenarios/link.toml"


def _outcome(folder: Path) -> str:
    path = folder / "tiny/study.json"
    path.write_text(path.read_text().replace('"outcome": "reproduced"', '"outcome": "not reproduced"', 1))
    return "study.json: verdicts[0].outcome: 'not reproduced' in the bundle, 'reproduced' here"


def _verdicts_csv(folder: Path) -> str:
    path = folder / "tiny/verdicts.csv"
    path.write_text(path.read_text().replace(",2,", ",3,", 1))
    return "verdicts.csv[1][10]: '3' in the bundle, '2' here"


@pytest.mark.parametrize("how", [(), ("--sample", "1")], ids=["whole", "sample"])
@pytest.mark.parametrize("change", [_json_number, _csv_number, _verdicts_csv, _scenario, _outcome])
def test_what_was_changed_is_found_also_with_its_digest(
    made: Path, cli: Cli, change: Callable[[Path], str], how: tuple[str, ...]
) -> None:
    where = change(made)
    done = cli("verify", made, *how)
    assert done.returncode == 1 and "is not the file that was bundled" in done.stdout and where in done.stdout
    # Now the digest fits what was changed.
    bundle.write(made, bundle.read(made).studies)
    done = cli("verify", made, *how)
    assert "is not the file that was bundled" not in done.stdout
    assert done.returncode == 1 and where in done.stdout, done.stdout
    assert "Traceback" not in done.stderr and "does not hold what its scenarios give" in done.stderr


def test_a_table_of_a_run_that_was_changed_is_found(made: Path, tiny: Path, tmp_path: Path, cli: Cli) -> None:
    b = bundle.read(made)
    chunk = next(p for p in (made / "tiny/runs/link").iterdir() if p.is_dir())
    t = _core.read_parquet(chunk / "links.parquet")
    _core.write_parquet(t.where(name="bottleneck"), chunk / "links.parquet")
    bundle.write(made, b.studies)
    for how in ((), ("--sample", "1")):
        done = cli("verify", made, *how)
        assert done.returncode == 1 and "is incomplete in the bundle" in done.stdout


def test_what_cannot_be_compared_is_said(made: Path, tiny: Path, tmp_path: Path, cli: Cli) -> None:
    text = (made / "bundle.json").read_text()
    (made / "bundle.json").write_text(text.replace('"build": "', '"build": "0'))
    done = cli("verify", made)
    assert done.returncode == 2 and "another source of tailback" in done.stderr
    (made / "bundle.json").write_text(text)
    done = cli("verify", made, "--study", "huge")
    assert done.returncode == 2 and "it has tiny" in done.stderr
    (tiny / "link.toml").write_text(SCENARIO.replace("20 packets", "30 packets"))
    done = cli("verify", made)
    assert done.returncode == 2 and "differ from the bundle's" in done.stderr
    done = cli("verify", tmp_path)
    assert done.returncode == 2 and "is no bundle" in done.stderr
    (made / "bundle.json").write_text("{")
    done = cli("verify", made)
    assert done.returncode == 2 and "is damaged" in done.stderr
    (tmp_path / "x.zip").write_text("nothing")
    assert cli("verify", tmp_path / "x.zip").returncode == 2


def test_the_page_of_all_studies_is_one_file(made: Path) -> None:
    page = (made / "report.html").read_text()
    assert "What the studies came to" in page and "A study of four runs" in page
    # The figure, and the same for a small screen.
    assert page.count("data:image/svg+xml;base64,") == 2
    # Nothing of it is fetched.
    assert not re.findall(r'(?:src|href)="(?!data:|#|tiny/)[^"]*"', page)
    study = json.loads((made / "tiny/study.json").read_text())
    assert len(study["opening"]) == 5 and study["opening"][0] in page
    summary = (made / "summary.md").read_text()
    assert "| tiny | 2 | 0 | 0 | 0 | 0 | 0 | 8 |" in summary and "| all | 2 | 0 | 0 | 0 | 0 | 0 | 8 |" in summary


def test_all_studies_end_with_what_came_of_them(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "known", lambda: ["tiny"])
    said = CliRunner().invoke(command_line, ["reproduce", "--out", str(tmp_path / "all")])
    assert said.exit_code == 0, said.output
    assert (
        "all 1 studies: 2 reproduced, 0 lean, 0 not reproduced, 0 not testable; 0 more compared, not judged; 8 runs"
        in said.output
    )


def test_parts_of_a_study_leave_what_it_leaves_whole(made: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "parts"
    for part in ("2/2", "1/2"):
        done = cli("reproduce", "tiny", "--out", out, "--shard", part)
        assert done.returncode == 0 and f"part {part[0]} of 2, 4 runs" in done.stdout, done.stderr
        assert not (out / "report.html").exists()
    gathered = cli("reproduce", "tiny", "--out", out, "--json")
    assert json.loads(gathered.stdout)["reused"] == 8
    for name in ("verdicts.csv", "tables/use.csv", "tables/real.csv"):
        assert (out / name).read_bytes() == (made / "tiny" / name).read_bytes()
    assert cli("verify", out).returncode == 0
    wrong = cli("reproduce", "tiny", "--shard", "3/2")
    assert wrong.returncode == 2 and "write I/N" in wrong.stderr


def test_a_study_alone_is_a_bundle_too(tiny: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "one"
    made = cli("reproduce", "tiny/use", "--out", out, "--seeds", "1", "--set", "duration=1s")
    assert made.returncode == 0, made.stderr
    done = cli("verify", out)
    assert done.returncode == 0 and "tiny: 2 runs" in done.stdout and "cannot be repeated" not in done.stdout
    assert bundle.read(out).studies[0].overrides == ["duration=1s"]


def test_a_look_simulates_runs_that_a_seed_draws(made: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("verify", made, "--sample", "2")
    assert done.returncode == 0, done.stderr
    assert "tiny: 2 of 4 runs, 1 verdicts and 2 files made again: no difference" in done.stdout
    assert done.stdout.endswith("verified: no difference in 2 of 4 runs of 1 studies\n")
    assert "tiny: 4 of 4 runs" in cli("verify", made, "--sample", "9").stdout
    (part,) = bundle.read(made).studies
    drawn: list[frozenset[str]] = []

    def keys(ours: Path, theirs: Path, found: verify.Found) -> None:
        drawn.append(frozenset(r["key"] for r in _core.status(ours)["runs"]))

    monkeypatch.setattr(verify, "_runs", keys)
    for seed in (1, 1, 2, 3, 4, 5, 6):
        verify.look(made, part, verify.Sample(1, seed), QUICK)
    assert drawn[0] == drawn[1] and len(drawn[0]) == 1 and len(set(drawn)) > 1


def test_a_look_knows_how_many_seeds_the_rows_asked_for(tiny: Path, tmp_path: Path, cli: Cli) -> None:
    """The limit is the mean of the first two seeds with the small buffer, which gets more then."""
    few = EXPERIMENTS.replace("full = 2 }", "full = 2 }\nfirst_seeds = { quick = 2 }", 1).replace(
        "quick = 2, f", "quick = 5, f"
    )
    (tiny / "experiments.toml").write_text(few)
    (tiny / "link.toml").write_text(SCENARIO.replace('warmup = "500ms"\n', ""))
    (first,) = everything(QUICK, tmp_path / "first", names=["tiny"])
    values = first.samples.get("link", ("droptail", "10"), "all", "utilisation")
    assert values is not None and len(set(values)) == 2
    limit = "where = { buffer = 10 }, above = " + repr(float(values.mean()))
    (tiny / "statements.toml").write_text(STATEMENTS.replace("above = 20", limit))
    out = tmp_path / "all"
    (made,) = everything(QUICK, out, names=["tiny"])
    # Two sets of two points.
    runs = _core.status(out / "tiny/runs")["runs"]
    assert 8 < len(runs) == made.runs <= 14
    done = cli("verify", out, "--sample", "99")
    found = re.search(r"tiny: (\d+) of (\d+) runs.*: no difference", done.stdout)
    assert found is not None and done.returncode == 0, done.stdout + done.stderr
    # The set that cannot be repeated is left out.
    assert found[1] == found[2] == str(len(runs) // 2)


def test_a_number_in_a_table_of_a_run_is_compared(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever rewrites the store with checksums that fit is found as well."""
    runs = made / "tiny/runs"
    honest = _core.StoredRuns(runs)
    keys = [r["key"] for r in _core.status(runs)["runs"]]

    class Rewritten:
        """One run has the links of another."""

        def __contains__(self, key: str) -> bool:
            return key in honest

        def table(self, key: str, name: str) -> _core.Table:
            return honest.table(keys[1] if (key, name) == (keys[0], "links") else key, name)

    stores = iter([honest, Rewritten()])
    fake = SimpleNamespace(StoredRuns=lambda _: next(stores), TABLES=_core.TABLES, status=_core.status)
    monkeypatch.setattr(verify, "_core", fake)
    found = verify.Found("tiny")
    verify._runs(runs, runs, found)
    (said,) = found.differences
    assert re.match(rf"run {keys[0]}, table links: \w+ of row 0 is .* in the bundle, .* here", said), said
