"""The shared mechanism of questions: it reads the question (`given.py`), runs the candidates (`trial.py`), measures
them (`measure.py`), ranks them (`ranking.py`), and gives the answer as text, tables and JSON (`answer.py`).

Each question (`comparison`, `home`) defines its link, its candidates, and how it reads a run.
"""
