"""What people hold in their hands, read: measurements, traces, captures, flow lists and lines of `tc`.

`recognise.read` takes any of them; a kind is a row of `kinds.py` and a module of its own.
"""
