"""Sweeps: a scenario over axes, with replications, on all cores or many machines."""
