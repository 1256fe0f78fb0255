"""Rules for published numbers that a plain tolerance does not decide, by the name that a number gives as `rule`.

    @rule("cell")
    def cell(number: dict, judge: Judge) -> Verdict: ...

`number` is the table from `published.toml` with all its keys; `judge.samples.get(...)` has the measured values, and
`judge.number_verdict(number, ...)` helps with the common fields. A new file of this package is found by being there.
"""

from __future__ import annotations

from tailback.shelf import Shelf

#: (number, judge) -> verdict
RULES = Shelf(__name__, "rules")
rule = RULES.named
load = RULES.load
