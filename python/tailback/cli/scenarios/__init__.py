"""The commands of the group Scenarios."""
