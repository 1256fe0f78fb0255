"""Passes on `tailback.core.theory.predict`, whose path of before this is."""

import sys

from tailback.core.theory.predict import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.predict"]
