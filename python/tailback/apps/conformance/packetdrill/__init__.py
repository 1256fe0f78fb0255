"""Scripts of packetdrill, played against a sender of the simulator and against this machine's kernel.

Rust parses a script (`tailback_transport::dialogues::packetdrill`); no code of the script is executed. `script.py` has
the script and its included files as data. `settings.py` maps its settings to a sender here. `play.py` plays it against
a subject, `ours.py` or `kernel.py`. `run.py` gives the verdict.
"""
