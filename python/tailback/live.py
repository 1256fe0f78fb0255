"""The old import path of `tailback.runs.live`."""

from tailback.runs.live import *  # noqa: F403
