"""Scenarios in Python: reading them from any source, and the reference of their models."""
