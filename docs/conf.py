"""How the documentation is built: ``make docs``, warnings are errors."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

import trueodds

project = "trueodds"
author = "the trueodds developers"
copyright = "the trueodds developers, MIT license"  # noqa: A001  # Sphinx's name
release = version = trueodds.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["alert", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
templates_path = ["_templates"]  # own members only: inherited ones refer to other projects
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
exclude_patterns = ["_build", "_templates", "**sg_execution_times.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # copied without prompts and without output
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "trueodds"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_math_renderer = "mathml"  # the browser's own: no script, no network
nitpicky = False

NOT_KNOWN_TO_DOCUTILS = {r"\dots": r"\ldots", "½": r"\frac{1}{2}"}
FUNCTION_NAME = re.compile(r"(<mi>\w{2,}</mi>\s*<mo>&ApplyFunction;</mo>)(?=\s*(<mo)?)")
THIN_SPACE = '<mspace width="0.17em"/>'


def write_math(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, with the spaces around ln and its kin that TeX would set."""
    formula, block = node.astext(), isinstance(node, nodes.math_block)
    for word, known in NOT_KNOWN_TO_DOCUTILS.items():
        formula = formula.replace(word, known)
    try:
        written = tex2mathml(formula, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, formula, location=node)
        written = f"<code>{writer.encode(formula)}</code>"
    written = FUNCTION_NAME.sub(
        lambda name: THIN_SPACE + name[1] + ("" if name[2] else THIN_SPACE), written
    )
    writer.body.append(f'<div class="formula">{written}</div>' if block else written)
    raise nodes.SkipNode


def strip_code(_app: Sphinx, document: nodes.document) -> None:
    """Doctests need an empty line before the fence; readers do not."""
    for block in document.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # otherwise it has marks inside
            block.rawsource = block.rawsource.rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("doctree-read", strip_code)
