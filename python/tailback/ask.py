"""The old import path of `tailback.apps.ask`."""

from tailback.apps.ask import *  # noqa: F403
