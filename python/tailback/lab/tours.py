"""Passes on `tailback.apps.lab.tours`, whose path of before this is."""

import sys

from tailback.apps.lab.tours import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.lab.tours"]
