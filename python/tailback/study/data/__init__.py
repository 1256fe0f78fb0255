"""Reads the files of a study into typed structures: the keys, rows that share keys, numbers, and statements."""
