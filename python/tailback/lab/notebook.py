"""The old import path of `tailback.apps.lab.notebook`."""

import sys

from tailback.apps.lab.notebook import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.lab.notebook"]
