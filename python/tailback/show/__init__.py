"""Figures and pages of results."""
