"""The old import path of `tailback.core.theory.predict`."""

import sys

from tailback.core.theory.predict import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.predict"]
