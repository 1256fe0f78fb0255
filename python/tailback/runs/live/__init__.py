"""Real packets: a scenario's network between two network namespaces, with the kernel's own TCP at its ends. Linux only.

`layout` says what is made for a scenario, `agent` is the process in a namespace with its connections, `session` starts
all and ends all, `machine` knows what this computer allows.
"""
