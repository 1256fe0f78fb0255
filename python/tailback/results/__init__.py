"""The old import path of `tailback.core.results`."""

from tailback.core.results import *  # noqa: F403
