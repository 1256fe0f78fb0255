"""A home line: what it is like with each discipline in the router, and the lines that set it up."""
