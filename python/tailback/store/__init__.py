"""The old import path of `tailback.core.store`."""

from tailback.core.store import *  # noqa: F403
