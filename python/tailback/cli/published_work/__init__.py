"""The commands of the group Published work."""
