"""The old import path of `tailback.core.verdict`."""

from tailback.core.verdict import *  # noqa: F403
