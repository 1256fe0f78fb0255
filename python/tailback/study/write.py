"""Writes the folder of a reproduction: the data of the report, the verdicts, and the report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario.read import as_toml
from tailback.core.store import fingerprint
from tailback.core.store.paths import write_csv
from tailback.core.text.whole import write_text
from tailback.core.verdict import Verdict, count, kinds
from tailback.core.verdict.told import NAME, QueueText, Said, Told
from tailback.show import report
from tailback.show.report import markdown
from tailback.study import parameters
from tailback.study.model import Experiment
from tailback.study.opening import sentences
from tailback.study.samples import Samples
from tailback.study.study import Study
from tailback.study.work.course import Spent

#: The columns of verdicts.csv, and the verdict's attributes that they show.
COLUMNS = (
    ("id", "id"),
    ("source", "source"),
    ("experiment", "experiment"),
    ("kind", "kind"),
    ("outcome", "outcome"),
    ("gate", "gate"),
    ("statement", "sentence"),
    ("published", "published"),
    ("measured", "measured"),
    ("required", "tolerance"),
    ("seeds", "seeds"),
    ("explanation", "explanation"),
)


@dataclass
class Reproduction:
    study: Study
    mode: str
    experiments: list[Experiment]
    out: Path
    samples: Samples
    verdicts: list[Verdict]
    sections: list[dict[str, Any]]
    runs: int
    reused: int
    seeds: int
    seconds: float
    spent: Spent
    #: The files of the reproduction's runs.
    stored_in: list[Path]
    failed: list[str] = field(default_factory=list)

    @property
    def report(self) -> Path:
        return self.out / "report.html"


def write(r: Reproduction, overrides: list[str], command: str) -> None:
    """Writes study.json, the verdicts as JSON, CSV and Markdown, and the report."""
    contents = _told(r, overrides, command)
    (r.out / "scenarios").mkdir(exist_ok=True)
    for name, text in contents.scenarios.items():
        write_text(r.out / "scenarios" / name, text)
    write_text(r.out / NAME, contents.text())
    verdicts = {
        "study": contents.study.id,
        "mode": contents.mode,
        "count": contents.count,
        "kinds": contents.kinds,
        "verdicts": [v.as_dict() for v in contents.verdicts],
    }
    write_text(r.out / "verdicts.json", json.dumps(verdicts, indent=1, ensure_ascii=False))
    rows = [[getattr(v, attribute) for _, attribute in COLUMNS] for v in r.verdicts]
    write_csv(r.out / "verdicts.csv", [[name for name, _ in COLUMNS], *rows])
    write_text(r.out / "verdicts.md", markdown.verdicts(contents))
    report.write(r.out)


def _told(r: Reproduction, overrides: list[str], command: str) -> Told:
    study = r.study
    scenarios = dict.fromkeys(x.scenario for x in study.runs.values() if x.scenario)
    return Told(
        study=Said(**{k: getattr(study.about, k) for k in Said.__struct_fields__}),
        setup=study.about.setup,
        again=study.about.again,
        mode=r.mode,
        command=command or f"tailback reproduce {study.id} --{r.mode}",
        experiments=[e.id for e in r.experiments],
        verdicts=r.verdicts,
        count=count(r.verdicts),
        kinds=kinds(r.verdicts),
        opening=sentences(r.verdicts, study.about.claims),
        sections=r.sections,
        disciplines={
            k: QueueText(title=study.discipline_title(k), queue=as_toml(v.queue)) for k, v in study.disciplines.items()
        },
        scenarios={p.name: p.read_text(encoding="utf-8") for p in scenarios},
        parameters=parameters.rows(study) if study.pairs else [],
        replaced={k: as_toml(v) for k, v in study.replaced.items()},
        overrides=overrides,
        failed=r.failed,
        runs=r.runs,
        seeds=r.seeds,
        version=_core.__version__,
        build=fingerprint.build(),
    )
