"""Settings of the documentation site; `make docs` builds it."""

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
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"worstclass {version}"
