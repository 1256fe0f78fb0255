"""The old import path of `tailback.apps.ask.link.answer`."""

import sys

from tailback.apps.ask.link.answer import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.link.answer"]
