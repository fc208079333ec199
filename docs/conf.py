"""Configuration of the documentation."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(_ROOT / "docs" / "extensions"), str(_ROOT / "tools")]

project = "OneFlow on XLA"
author = "The OneFlow on XLA authors"
project_copyright = author
release = installed_version("oneflow-xla")
version = release

extensions = [
    "work_once",  # `extensions/work_once.py`: what is the same for all pages
    "navigation",  # `extensions/navigation.py`: that of a folder
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "python_domain",  # `extensions/python_domain.py`: finds what a mention means
    "table_of_lines",  # `extensions/table_of_lines.py`: tables of the reference
    "reference",  # `extensions/reference.py`: writes the pages below `api/generated`
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_use_type_comments = False  # of Python 2, which no function has
smartquotes = (
    False  # what is quoted is often to be typed; pages in Markdown have straight ones, too
)
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Attributes that a class also declares would be described twice.
napoleon_use_ivar = True
# The shapes of a layer's inputs and outputs, by their names.
napoleon_custom_sections = [("Shape", "params_style")]

html_theme = "furo"
html_title = f"OneFlow on XLA {release}"
html_search_scorer = str(_ROOT / "docs" / "extensions" / "search_scorer.js")
