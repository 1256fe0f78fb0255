"""The old import path of `tailback.core.scenario`."""

from tailback.core.scenario import *  # noqa: F403
