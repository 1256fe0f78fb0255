"""Tables of numbers over time, in the forms that people have: traces of rates, of delays, of opportunities."""
