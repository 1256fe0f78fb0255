"""Readers of tables of numbers over time: traces of rates, of delays, and of opportunities to send."""
