"""The applications: each is a package that imports libraries but no other application."""
