"""Sphinx: `make docs`."""

project = "enstruct"
author = "the enstruct developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
exclude_patterns = ["_build"]
