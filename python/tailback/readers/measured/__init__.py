"""Measurements: Flent, iperf3, ping, speed tests; what each says, and the measured line as a scenario."""
