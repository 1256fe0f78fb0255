"""Readers of the files and texts that people have: measurements, traces, captures, flow lists and lines of `tc`.

`recognise.read` takes any of them. Each kind has a row in `kinds.py` and its own module.
"""
