"""The commands of the group Many runs."""
