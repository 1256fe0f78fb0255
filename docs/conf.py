"""The site: Markdown pages and executed notebooks by MyST, in Furo, light or dark, narrow or wide.

It loads nothing from outside.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

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
# Formulas stand in fences of their own, which a forge renders too. Here they become MathML, which needs no script.
myst_fence_as_directive = ["math"]
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["formulas.css", "move.css"]
html_js_files = ["move.js"]
# A scenario is TOML; a listing that a highlighter cannot read is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns: list[str] = []


def mathml(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Formulas in the page itself."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    found = convert(node.astext(), display=display)
    if "\\" in found:
        raise ValueError(f"latex2mathml does not know a command of this formula: {node.astext()}")
    writer.body.append(found)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
