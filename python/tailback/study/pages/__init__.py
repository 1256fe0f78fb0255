"""Pages of studies: of one from its `study.json` (`one`), of all (`all`), and both in Markdown (`markdown`)."""
