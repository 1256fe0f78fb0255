"""The site: Markdown pages by MyST, in Furo, light or dark, narrow or wide. It loads nothing from outside."""

project = "tailback"
author = "the tailback authors"
project_copyright = "the tailback authors; MIT or Apache-2.0"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "tailback"
html_copy_source = False
html_show_sphinx = False
# Links to headings, as on a forge.
myst_heading_anchors = 4
# A scenario is TOML; a listing that a highlighter cannot read is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns: list[str] = []
