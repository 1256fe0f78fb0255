"""A program behind a line. The program has its own network, and the packets to and from the outside pass the box in
real time.

`course.py` is one run from beginning to end. `line.py` makes the scenario. `network.py` reads the network of this
machine and chooses addresses. `uplink.py` and `forwarding.py` make the way out with root's privilege, and
`userspace.py` without it. `allowed.py` names the missing permissions. `stage.py` starts a program in its namespaces,
and `servers.py` starts servers at the far end. `passing.py` passes signals. `engine.py` is the process of the box.
`names.py` resolves names. `report.py` summarises the packets at the end.
"""
