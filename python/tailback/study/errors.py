"""An error in a study's data."""

from tailback.core.declared import FileError

#: A study that does not exist, or whose data contradict each other; the message names the file.
StudyError = FileError
