"""The old import path of `tailback.apps.ask.home.answer`."""

import sys

from tailback.apps.ask.home.answer import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.home.answer"]
