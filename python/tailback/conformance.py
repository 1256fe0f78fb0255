"""The old import path of `tailback.apps.conformance`."""

from tailback.apps.conformance import *  # noqa: F403
