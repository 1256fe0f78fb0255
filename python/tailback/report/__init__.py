"""The old import path of `tailback.show.report`."""

from tailback.show.report import *  # noqa: F403
