"""Passes on `tailback.apps.ask.home.compared`, whose path of before this is."""

import sys

from tailback.apps.ask.home.compared import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.home.compared"]
