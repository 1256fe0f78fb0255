"""The old import path of `tailback.core.text`."""

from tailback.core.text import *  # noqa: F403
