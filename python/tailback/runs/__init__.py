"""Runs: one, many, those of a network written in Python, and those with real packets.

Not called `run`, since `tailback.run` is the function that runs a scenario.
"""
