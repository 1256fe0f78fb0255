"""Folders of results: what is stored in them, and running what is not there yet."""
