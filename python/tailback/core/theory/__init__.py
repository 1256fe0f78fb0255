"""Theory of a bottleneck, computed without simulated packets."""
