"""One mechanism for questions: what was asked (`given.py`), how candidates are tried (`trial.py`), what is looked at
(`measure.py`), what counts as better (`ranking.py`), and the answer as words, tables and JSON (`answer.py`).

A question of its own (`comparison`, `home`) says what a link is, which candidates it has and how a run is read.
"""
