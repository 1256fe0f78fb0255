"""What is wrong with a study's data."""


class StudyError(ValueError):
    """A study that does not exist, or whose data contradict each other; the message names the file."""
