"""Published studies: read, run, measured, and held against what was published."""
