"""Text that people read: what came from outside made safe to show, errors of the file system, tables of a terminal."""
