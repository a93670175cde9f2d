"""Sphinx: the site of recveil. making/build.py copies this beside the pages and runs it."""

from __future__ import annotations

from making import kept, python_face

import recveil

project = "recveil"
author = "the recveil developers"
copyright = author  # noqa: A001
release = version = recveil.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_design"]
html_theme = "furo"
html_title = "recveil"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_favicon = None
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c74", "color-brand-content": "#0b5c74"},
    "dark_css_variables": {"color-brand-primary": "#7fd0e6", "color-brand-content": "#7fd0e6"},
}
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"

myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 4
myst_substitutions = kept.facts()
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_execution_excludepatterns = ["**/on_spark.ipynb"]  # needs Java; the tests run it
nb_merge_streams = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
default_role = "code"
suppress_warnings = ["myst.header", "ref.python"]


def setup(app: object) -> None:
    app.connect("autodoc-process-docstring", python_face.as_rst)  # type: ignore[attr-defined]
