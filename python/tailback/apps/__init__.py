"""Applications: each is a room that imports libraries, and no other application."""
