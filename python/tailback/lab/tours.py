"""The old import path of `tailback.apps.lab.tours`."""

import sys

from tailback.apps.lab.tours import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.lab.tours"]
