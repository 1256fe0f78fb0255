"""Passes on `tailback.apps.conformance`, whose path of before this is."""

from tailback.apps.conformance import *  # noqa: F403
