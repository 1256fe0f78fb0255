"""Frames of the crate `tailback-lab`: a header as JSON, then numbers or bytes. Writing one needs no numpy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tailback import _core
from tailback.core.text.json_text import json_text

if TYPE_CHECKING:
    import numpy as np


def message(header: dict[str, Any], data: bytes = b"") -> bytes:
    """A frame of a header and bytes."""
    return _core.lab_message(json_text(header)) + data + b"\0" * (-len(data) % 4)


def unpack(data: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """The header and all numbers of a frame."""
    import numpy as np

    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], "<f4")
