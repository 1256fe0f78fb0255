"""Rules for published numbers that a plain tolerance does not decide, by the name that a number gives as `rule`.

    @rule("cell")
    def cell(number: dict, judge: Judge) -> Verdict: ...

`number` is the table from `published.toml` with all its keys; `judge.samples.get(...)` has the measured values. Every
module of this package is imported and registers itself.
"""

from __future__ import annotations

from tailback.study.registry import Registry

#: (number, judge) -> verdict
RULES = Registry(__name__, "rules")
rule = RULES.named
load = RULES.load
