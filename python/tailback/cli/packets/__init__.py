"""The commands of the group Packets."""
