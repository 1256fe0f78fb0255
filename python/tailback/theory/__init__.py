"""The old import path of `tailback.core.theory`."""

from tailback.core.theory import *  # noqa: F403
