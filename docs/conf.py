"""Sphinx: `make docs`."""

import re

project = "enstruct"
author = "the enstruct developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
napoleon_google_docstring = False

FIELD = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")
LITERAL = re.compile(r"(``.*?``)")


def from_plain(app, what, name, obj, options, lines):
    """Docstrings are plain text with Markdown tables and lines ``name : what it is``; Sphinx reads reStructuredText.

    Tables become literal blocks, such lines a list, and other bars are escaped, which would else name substitutions.
    """
    found, in_table, in_field = [], False, False
    for line in lines:
        if line.startswith("|"):
            found += [] if in_table else ["::", ""]
            found.append(f"    {line}")
        elif field := FIELD.match(line):
            found += [] if in_field else [""]
            found.append(f"- *{field[1]}*: {field[2]}")
        elif in_field and line.startswith("    "):
            found.append(f"  {line.strip()}")
        else:
            found += [""] if in_field else []
            found.append(_escaped(line))
        in_table = line.startswith("|")
        in_field = bool(FIELD.match(line)) or (in_field and line.startswith("    "))
    lines[:] = found


def _escaped(line):
    """``line`` with its bars escaped outside of literals."""
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in LITERAL.split(line))


def setup(app):
    app.connect("autodoc-process-docstring", from_plain, priority=600)  # after napoleon, which reads sections of parameters
