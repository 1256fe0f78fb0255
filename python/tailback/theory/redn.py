"""Passes on `tailback.core.theory.redn`, whose path of before this is."""

import sys

from tailback.core.theory.redn import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.redn"]
