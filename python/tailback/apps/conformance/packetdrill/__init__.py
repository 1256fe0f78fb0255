"""Scripts of packetdrill, played against a sender of the simulator and against this machine's kernel.

Rust reads a script (`tailback_transport::dialogues::packetdrill`); nothing of it is run. `script.py` has it as data
with its included files, `settings.py` what its settings mean for a sender here, `play.py` plays it, `ours.py` and
`kernel.py` are the two subjects, `run.py` says what came of it.
"""
