"""The site: Markdown pages and executed notebooks by MyST, in Furo, light or dark, narrow or wide.

It loads nothing from outside.
"""

project = "tailback"
author = "the tailback authors"
project_copyright = "the tailback authors; MIT or Apache-2.0"
extensions = ["myst_nb", "sphinx_design"]
html_theme = "furo"
html_title = "tailback"
html_copy_source = False
html_show_sphinx = False
# Links to headings, as on a forge.
myst_heading_anchors = 4
# The lessons are stored without results, so each build runs them; what they print in one cell stays together.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
# A scenario is TOML; a listing that a highlighter cannot read is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns: list[str] = []
