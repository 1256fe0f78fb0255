"""Readers of measurements (Flent, iperf3, ping, speed tests), and the measured line as a scenario."""
