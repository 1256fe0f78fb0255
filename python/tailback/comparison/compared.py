"""The old import path of `tailback.apps.ask.link.compared`."""

import sys

from tailback.apps.ask.link.compared import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.link.compared"]
