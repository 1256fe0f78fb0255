"""Passes on `tailback.apps.lab.notebook`, whose path of before this is."""

import sys

from tailback.apps.lab.notebook import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.lab.notebook"]
