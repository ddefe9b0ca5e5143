"""How the documentation is built: ``make docs``, warnings are errors."""

from __future__ import annotations

import trueodds

project = "trueodds"
author = "the trueodds developers"
copyright = "MIT licence"  # noqa: A001  # Sphinx's name
release = version = trueodds.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
templates_path = ["_templates"]  # own members only: inherited ones refer to other projects
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
exclude_patterns = ["_build", "_templates", "gallery_examples/*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
sphinx_gallery_conf = {
    "examples_dirs": "gallery_examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
}

html_theme = "furo"
html_title = "trueodds"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # copied without prompts and without output
copybutton_prompt_is_regexp = True
nitpicky = False
