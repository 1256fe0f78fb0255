"""Passes on `tailback.apps.ask.link.answer`, whose path of before this is."""

import sys

from tailback.apps.ask.link.answer import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.apps.ask.link.answer"]
