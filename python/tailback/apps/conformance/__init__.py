"""Whether a sender does what its RFC says: dialogues of segments, and who plays them against whom."""
