"""Sphinx: `make docs`."""

project = "enstruct"
author = "the enstruct developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
napoleon_google_docstring = False
