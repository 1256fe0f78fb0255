"""The old import path of `tailback.core.theory.redn`."""

import sys

from tailback.core.theory.redn import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.redn"]
