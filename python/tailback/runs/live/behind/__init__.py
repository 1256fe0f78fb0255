"""A program behind a line: in a network of its own, whose way out passes the box in real time.

`course.py` is one run from beginning to end. `line.py` makes the scenario, `network.py` reads what the network of this
machine is and chooses addresses, `uplink.py` and `forwarding.py` make the way out with root's privilege, `userspace.py`
without it; `allowed.py` says what is missing. `stage.py` starts a program in its namespaces, `servers.py` at the far
end, `passing.py` passes signals, `engine.py` is the process of the box, `names.py` resolves names, and `report.py`
says at the end what passed.
"""
