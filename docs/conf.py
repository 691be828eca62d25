"""Settings of the site that `make docs` builds with Sphinx."""

import re
import tomllib
from pathlib import Path

from sphinx.ext import autosummary

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project, release = PROJECT["name"], PROJECT["version"]
author = "The rankcorr developers"
copyright = author  # noqa: A001 - Sphinx asks for this name

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_copybutton"]
exclude_patterns = ["_build", "**/generated/*.txt"]
nitpicky = False

# Docstrings: names in single backquotes become links if they can be found.
default_role = "autolink"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.", "Eqs.")  # no end of a sentence
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Pages: examples in them are run by the tests, and tutorials by myst-nb.
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def mend_links(text, to_project):
    """Point links to pages of the project at their copies here, and links to other files at the repository."""
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = re.sub(rf"\]\((\.\./)?{name}\.md", f"]({to_project}{name.lower()}.md", text)
    return re.sub(r"\]\(\.\./([^)#]+)(#[^)]*)?\)", rf"]({PROJECT['urls']['Source']}/blob/main/\1)", text)


def mend_page(app, docname, source):
    if "/" not in docname:
        source[0] = mend_links(source[0], "project/")


def mend_included(app, path, parent, content):
    content[0] = mend_links(content[0], "")


def setup(app):
    app.connect("source-read", mend_page)
    app.connect("include-read", mend_included)
