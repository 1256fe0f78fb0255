"""Tests whether a sender does what its RFC says. Dialogues of segments are played against a simulated sender or a
kernel."""
