"""The old import path of `tailback.core.theory.steady`."""

import sys

from tailback.core.theory.steady import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.steady"]
