"""The watched link of a scenario, and its queue as a separate table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback import _core

#: The name, in messages, of a scenario from the page.
NAME = "the page"


def explicit(document: Mapping[str, Any], name: str = NAME) -> dict[str, Any]:
    """The document with the queue of the watched link as a table at the link itself, where a page changes it."""
    with_table: dict[str, Any] = json.loads(_core.lab_explicit(json.dumps(document), name))
    return with_table


def watched(document: Mapping[str, Any], name: str = NAME) -> str:
    """The link whose queue is shown: the one called `bottleneck`, else the first link with the lowest rate."""
    return _core.lab_watched(_core.load(json.dumps(document), "json", name, []))
