"""The old import path of `tailback.core.theory.emodel`."""

import sys

from tailback.core.theory.emodel import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.emodel"]
