"""Computations on tables of results: means over runs, text, the JSON document, and the differences of two results."""
