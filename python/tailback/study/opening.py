"""The opening of a report: five sentences that are made from the verdicts, so that they change with the verdicts.

The study names its main claims (`claims` of study.toml). The sentences list the claims that hold and those that do not,
with the measured values. If every claim holds, the first unmet row replaces an unmet claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailback.core.verdict import (
    ANEW,
    ARITHMETIC,
    LEANS,
    NO,
    ONE_SEED,
    OPEN,
    ORDER,
    SENTENCE,
    VALUE,
    YES,
    ZERO,
    Verdict,
    count,
    first_parts,
    kinds,
)

#: The most claims in one sentence.
MOST = 3


def sentences(verdicts: Sequence[Verdict], claims: Sequence[str]) -> list[str]:
    """The five sentences, in order; fewer only if nothing was judged."""
    judged_verdicts = [v for v in verdicts if v.gate]
    if not judged_verdicts:
        return [f"Nothing of this was published: {len(verdicts)} rows are compared, none is judged."]
    return [
        _all(judged_verdicts),
        _held(judged_verdicts, claims),
        _unmet(judged_verdicts, claims),
        _by_kind(judged_verdicts),
        _rests_on(verdicts),
    ]


def _all(judged: Sequence[Verdict]) -> str:
    n = count(judged)
    texts = {YES: f"{n[YES]} reproduced", LEANS: f"{n[LEANS]} lean", NO: f"{n[NO]} not"}
    texts_of_outcomes = [text + _anew([v for v in judged if v.outcome == x]) for x, text in texts.items()]
    return (
        f"Of {len(judged)} published values and sentences that are judged: {', '.join(texts_of_outcomes)}, {n[OPEN]} "
        "not to be decided by these runs."
    )


def _anew(rows: Sequence[Verdict]) -> str:
    """A note on the number of rows that depend on a choice made after a look at results."""
    n = sum(v.anew for v in rows)
    return f" (of these {n} {ANEW})" if n else ""


def _held(judged: Sequence[Verdict], claims: Sequence[str]) -> str:
    held_claims = _chosen([v for v in judged if v.outcome == YES], claims)
    if not held_claims:
        return "None of the sentences of the source holds here."
    return f"What holds: {_told(held_claims)}.{_leaning(judged, claims)}"


def _leaning(judged: Sequence[Verdict], claims: Sequence[str]) -> str:
    """A sentence on the claims that lean, which are not counted as holding."""
    leaning_verdicts = [v for name in claims for v in judged if v.id == name and v.outcome == LEANS][:MOST]
    return f" What leans: {_told(leaning_verdicts)}." if leaning_verdicts else ""


def _unmet(judged: Sequence[Verdict], claims: Sequence[str]) -> str:
    unmet_verdicts = [v for v in judged if v.outcome == NO]
    if not unmet_verdicts:
        return "Nothing that could be decided is unmet."
    chosen_verdicts = _chosen(unmet_verdicts, claims) or unmet_verdicts[:1]
    left_count = len(unmet_verdicts) - len(chosen_verdicts)
    rest_text = f"; {left_count} more {'are' if left_count > 1 else 'is'} unmet" if left_count else ""
    return f"What does not: {_told(chosen_verdicts)}{rest_text}."


def _chosen(rows: Sequence[Verdict], claims: Sequence[str]) -> list[Verdict]:
    """The main claims among some rows; if there are none, the first row that is a sentence or an order."""
    named_verdicts = [v for name in claims for v in rows if v.id == name]
    return named_verdicts[:MOST] or [v for v in rows if v.kind in (ORDER, SENTENCE)][:1]


def _told(rows: Sequence[Verdict]) -> str:
    return "; ".join(f"“{v.sentence.rstrip('.')}” ({_said(v)})" for v in rows)


def _said(v: Verdict) -> str:
    """The measured value of a row, the part in which the row holds, and a note if it was read anew."""
    return "; ".join(x for x in (f"measured: {first_parts(v.measured)}", v.part, ANEW if v.anew else "") if x)


def _by_kind(judged: Sequence[Verdict]) -> str:
    words = {
        VALUE: "published values",
        ZERO: "published zeros",
        ORDER: "orders",
        SENTENCE: "other sentences",
        ARITHMETIC: "formulas",
    }
    texts = []
    for k, c in kinds(judged).items():
        leaning_text = f" ({c[LEANS]} lean)" if c[LEANS] else ""
        texts.append(f"{c[YES]} of {c[YES] + c[LEANS] + c[NO] + c[OPEN]} {words[k]}{leaning_text}")
    return f"Reproduced by kind: {', '.join(texts)}."


def _rests_on(verdicts: Sequence[Verdict]) -> str:
    one_seed_rows = [v for v in verdicts if any(c.remark.startswith(ONE_SEED) for c in v.checks)]
    undecided_count = sum(v.outcome == OPEN for v in one_seed_rows)
    rejudged_rows = [v for v in verdicts if v.words]
    differing_count = sum(not v.first.startswith(v.outcome) for v in rejudged_rows)
    compared_count = sum(not v.gate for v in verdicts)
    texts = [f"{len(one_seed_rows)} {'row rests' if len(one_seed_rows) == 1 else 'rows rest'} on one seed"]
    if undecided_count:
        texts[0] += f", of which {undecided_count} ask for an order that one seed cannot give"
    if rejudged_rows:
        texts.append(
            f"{len(rejudged_rows)} were read anew after a look, of which {differing_count} come out otherwise by the "
            "first rule"
        )
    chosen = sum(bool(v.chosen) for v in verdicts)
    if chosen:
        texts.append(f"{chosen} {'rests' if chosen == 1 else 'rest'} on a reading chosen after a look")
    texts.append(f"{compared_count} are compared and not judged")
    return f"{'; '.join(texts)}."
