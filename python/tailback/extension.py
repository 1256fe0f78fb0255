"""Passes on `tailback.core.extension`, whose path of before this is."""

import sys

from tailback.core.extension import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.extension"]
