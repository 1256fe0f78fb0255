"""What theory says of a bottleneck before any packet is simulated."""
