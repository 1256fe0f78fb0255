"""Scenarios as Python sees them: reading them from wherever they come, and the reference of their models."""
