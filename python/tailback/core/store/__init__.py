"""Folders of results: their contents, and running the points that they lack."""
