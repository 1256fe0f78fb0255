"""The base of the other packages: text, numbers, scenarios, folders of results, and computations on tables."""
