"""Does the runs of a study. `needed.py` lists the runs and finds the stored ones. `course.py` does the others.

Live runs are done in parallel to the simulation, one at a time (`lane.py`), each in a separate process (`apart.py`).
"""
