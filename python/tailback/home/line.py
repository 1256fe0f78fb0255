"""The old import path of `tailback.apps.ask.home.line`."""

import sys

from tailback.apps.ask.home.line import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.home.line"]
