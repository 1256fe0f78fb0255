"""Starts runs: one, many, those of a network written in Python, and those with real packets.

The package is not called `run`, because `tailback.run` is the function that runs a scenario.
"""
