"""The runs of a study. `needed.py` says which there are and which of them are stored; `course.py` does the others.

Live runs go on beside the simulation, one at a time (`lane.py`), each in a process of its own (`apart.py`).
"""
