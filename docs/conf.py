"""Settings of the documentation site; `make docs` builds it."""

import re

from worstclass import __version__

project = "worstclass"
author = copyright = "the worstclass developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "exclude-members": "set_fit_request, set_score_request"}
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"worstclass {version}"


def describe_below(app, what, name, obj, options, lines):
    """Move the text of `name : text` below the name; numpydoc has a type there, our docstrings have none."""
    moved, section = [], None
    for i, line in enumerate(lines):
        if set(lines[i + 1 : i + 2]) & {"----------", "-------"}:
            section = line
        found = re.match(r"(\S[\w, ]*) : (.+)", line)
        if found and section in ("Parameters", "Attributes"):
            moved += [found[1], f"    {found[2]}"]
        else:
            moved.append(line)
    lines[:] = moved


def setup(app):
    """Connect what changes docstrings before napoleon reads them."""
    app.connect("autodoc-process-docstring", describe_below, priority=400)
