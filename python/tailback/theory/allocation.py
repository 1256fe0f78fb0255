"""Passes on `tailback.core.theory.allocation`, whose path of before this is."""

import sys

from tailback.core.theory.allocation import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.allocation"]
