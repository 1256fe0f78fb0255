"""Runs real packets through a scenario's network between two network namespaces, with the kernel's own TCP at its ends.
Linux only.

`layout` has the addresses and settings that are made for a scenario. `agent` is the process in a namespace with its
connections. `session` starts and ends everything. `machine` finds out which live runs this computer allows.
"""
