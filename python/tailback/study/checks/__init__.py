"""The kinds of checks that a statement may make on measured numbers, with one file for each kind.

| keys of a check | kind |
|---|---|
| `predict` | `predicted.py`: a closed-form model, without runs |
| `order` | `order.py`: several disciplines, each above the next |
| `every` | `every.py`: each flow of several by itself |
| `along` | `along.py`: the means along an axis, close together or falling |
| `above`, `below`, `near` with a name | `rival.py`: two disciplines, seed by seed |
| `above`, `below`, `between`, `published` with numbers | `limit.py`: a mean against limits |

Published numbers have kinds as well: `number.py`, `band.py` and `cell.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tailback.study.checks.along import Along
from tailback.study.checks.base import Check
from tailback.study.checks.every import Every
from tailback.study.checks.limit import Limit
from tailback.study.checks.order import Order
from tailback.study.checks.predicted import Predicted
from tailback.study.checks.rival import Rival
from tailback.study.data.files import read_table

#: Kinds that have their own key.
_BY_KEY: dict[str, type[Check]] = {"predict": Predicted, "order": Order, "along": Along, "every": Every}


def kind_of(check: dict[str, Any]) -> type[Check]:
    """The kind of a check, from its keys."""
    for key, kind in _BY_KEY.items():
        if key in check:
            return kind
    rival = any(isinstance(check.get(k), str) for k in ("above", "below", "near"))
    return Rival if rival else Limit


def read_check(
    check: dict[str, Any], shared: dict[str, Any], file: Path | str, at: str, places: Mapping[str, str]
) -> Check:
    """A check, with the keys that its statement gives to all checks. `places` has the table of the file in which each
    of these keys is. Raises `StudyError`."""
    kind = kind_of(check)
    # A key that a statement gives to all its checks may not apply to each of them.
    keys = {f.encode_name for f in msgspec.structs.fields(kind)}
    inherited_keys = {k: v for k, v in shared.items() if k in keys and k not in check}
    return read_table(kind, {**inherited_keys, **check}, file, at, {k: places[k] for k in inherited_keys})
