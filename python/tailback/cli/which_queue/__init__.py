"""The commands of the group Which queue."""
