"""Text for users: input made safe to show, errors of the file system, tables for a terminal."""
