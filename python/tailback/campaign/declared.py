"""Passes on `tailback.core.declared`, whose path of before this is."""

import sys

from tailback.core.declared import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.declared"]
