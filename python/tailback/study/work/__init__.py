"""The runs of a study: which of them are needed (`needed.py`), and doing those that are not stored (`course.py`): what
simulates on all cores but one, beside live runs, one at a time (`lane.py`), each in a process of its own (`apart.py`).
"""
