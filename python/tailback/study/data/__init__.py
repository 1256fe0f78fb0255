"""The files of a study as typed structures: which keys there are, rows that share keys, numbers, statements."""
