"""Passes on `tailback.core.theory.emodel`, whose path of before this is."""

import sys

from tailback.core.theory.emodel import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.emodel"]
