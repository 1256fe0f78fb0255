"""Documents as JSON: NaN and infinities become null."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(document: Any, indent: int | None = None, ascii: bool = True) -> str:
    """The document as text. With `ascii`, characters outside of ASCII are escaped."""
    return json.dumps(clean(document), indent=indent, ensure_ascii=ascii, allow_nan=False)


def clean(value: Any) -> Any:
    """The value in JSON's types: NaN and infinities become None, and tuples become lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(v) for v in value]
    return value
