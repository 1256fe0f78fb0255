"""Passes on `tailback.core.theory.steady`, whose path of before this is."""

import sys

from tailback.core.theory.steady import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.steady"]
