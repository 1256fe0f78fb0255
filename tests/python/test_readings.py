"""Other readings of what a source leaves open: compared rows, and their outcome beside the row that they are about."""

import shutil

import numpy as np
import pytest

from tailback.core.verdict import COUNT_HEADS, LEANS
from tailback.core.verdict.told import Said, Told
from tailback.show.report.markdown import verdicts as as_markdown
from tailback.study import load as study
from tailback.study.errors import StudyError
from tailback.study.judge import Judge
from tailback.study.samples import Samples

NAME = "kantawala-2005"
BURSTS = {"sb-b", "mr-b", "mh-b"}


def about(s):
    return {c.runs for c in s.checks if hasattr(c, "runs")}


def test_every_sentence_about_bursts_is_compared_with_bursts_that_begin_with_their_pause():
    s = study.load(NAME)
    bursts = {x.id for x in s.statements if about(x) & BURSTS}
    again = {x.id: x for x in s.statements if x.experiment == "bursts-pause"}
    assert len(bursts) >= 25
    assert set(again) == {f"{name}-pause" for name in bursts}
    for x in again.values():
        assert not x.gate
        assert about(x) <= {f"{name}-pause" for name in BURSTS}


def test_a_set_that_is_like_another_differs_in_what_it_says():
    s = study.load(NAME)
    for mode in ("quick", "full"):
        for name in BURSTS:
            main, pause = s.runs[name].points(mode), s.runs[f"{name}-pause"].points(mode)
            assert [p.labels for p in pause] == [p.labels for p in main]
            for a, b in zip(main, pause, strict=True):
                more = b.overrides[len(a.overrides) :]
                assert b.overrides[: len(a.overrides)] == a.overrides
                assert more and all(x.endswith(".traffic.first=pause") for x in more)


def test_readings_that_the_chapters_leave_open_are_rows_and_none_is_judged():
    s = {x.id: x for name in study.known() for x in study.load(name).statements}
    rows = {
        "16c-new": ("16a", "16b", "16c"),
        "18a-from": ("18a",),
        "18b-from": ("18b",),
        "20-4.18a-after": ("20-4.18a",),
        "6f-larger": ("6f",),
        **{f"{x}-{y}": (x,) for x in ("2-fq", "8-generic") for y in ("no-echo", "rto-max", "rtt0")},
    }
    for name, of in rows.items():
        assert s[name].reading_of == of
        assert not s[name].gate
        assert all(s[x].gate for x in of)


def test_the_outcome_of_another_reading_stands_beside_the_row_it_is_about():
    s = study.load(NAME)
    samples = Samples.empty()
    for name, x in (("drr", 0.03), ("tdrr", 0.02), ("qsdrr", 0.02), ("blue", 0.06)):
        for buffer, more in (("200", 0.0), ("5000", 0.01 if name == "tdrr" else -0.015)):
            samples.data["sb", (name, buffer), "all", "sd"] = x + more + np.array([0.001, 0.002, 0.0015])
    rows = {v.id: v for v in Judge(s, samples).all({"fig-3.4"})}
    # TDRR is below DRR at 200 packets, and above it at 5000 and in the mean.
    assert rows["6f"].outcome == LEANS
    assert len(rows["6f"].readings) == 1
    assert rows["6f"].readings[0].startswith("6f-larger agrees (")
    assert rows["6a"].readings == []
    count = dict.fromkeys(COUNT_HEADS, 0)
    told = Told(
        study=Said(id=NAME, title="", citation="", question="", names="", method="", caution=""),
        setup=[],
        again=[],
        mode="quick",
        command="",
        experiments=[],
        verdicts=[rows["6f"]],
        count={**count, LEANS: 1},
        kinds={},
        opening=[],
        sections=[],
        disciplines={},
        scenarios={},
        runs=0,
        version="",
        build="",
    )
    part, line = (x for x in " ".join(as_markdown(told).split()).split("* **") if x.startswith("6f**"))
    assert "holds in 4 of 6 places, not in TDRR, 200 packets" in part
    assert "Read otherwise: 6f-larger agrees (" in line


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("statements/z.toml", '[[statement]]\nid = "x"\nsentence = "x"\nreading_of = ["6g"]', "no such statement"),
        (
            "statements/z.toml",
            '[[reading]]\nid = "x"\ntitle = "x"\nexperiment = "fig-3.4"\nruns = { sb = "mr" }\nof = ["no"]',
            "`of` names no, which is no statement",
        ),
        (
            "experiments/z.toml",
            '[runs.x]\nlike = "sb-c"',
            r"z\.toml:2: runs\.x\.like = 'sb-c': there is nothing of that name to extend; did you mean \"sb-b\"",
        ),
    ],
)
def test_what_a_reading_names_must_be_there(tmp_path, file, text, said):
    folder = tmp_path / NAME
    shutil.copytree(study.load(NAME).path, folder)
    (folder / file).write_text(text)
    with pytest.raises(StudyError, match=said):
        study.load(folder)
