"""Settings of the site that `make docs` builds with Sphinx."""

import os
import re
import sys
import tomllib
from pathlib import Path

from sphinx.ext import autosummary

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project, release = PROJECT["name"], PROJECT["version"]
author = "The rankcorr developers"
copyright = author  # noqa: A001 - Sphinx asks for this name

sys.path.append(str(ROOT / "docs/extensions"))
extensions = [
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_nb"),
    *("sphinx_click", "sphinx_copybutton"),
    *("commands", "operations"),  # of docs/extensions/
]
exclude_patterns = ["_build", "extensions", ".jupyter_cache", "jupyter_execute", "**/generated/*.txt"]
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
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_in_temp = True  # tutorials write files
nb_execution_timeout = 300  # the first call of a function compiles it
# Tutorials run our commands.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_static_path, html_css_files = ["_static"], ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"gallery": []}
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


# Files at the root of the repository that the site includes.
INCLUDED = {
    ROOT / f"{name}.md": ROOT / f"docs/project/{page}.md"
    for name, page in (*(("CHANGELOG", "changelog"), ("CONTRIBUTING", "contributing"), ("SECURITY", "security")),)
}


def spread_tutorials(app, env, docnames):
    """Put pages that follow each other far apart: one process reads them together, and tutorials take longest.

    The longest is the first, so that no process starts it late.
    """
    docnames.sort(key=lambda name: name != "tutorials/budget")
    docnames[:] = [name for start in range(10) for name in docnames[start::10]]


def mend_links(text, page, site_page):
    """Point links from a page, which the site shows as another, to pages of the site, or to files in the repository."""

    def mend(match):
        target, anchor = match[1], match[2] or ""
        path = Path(os.path.normpath(page.parent / target))
        path = INCLUDED.get(path, path)
        if "://" in target or not path.is_relative_to(ROOT):
            return match[0]
        if path.is_relative_to(ROOT / "docs"):
            return f"]({os.path.relpath(path, site_page.parent)}{anchor})"
        return f"]({PROJECT['urls']['Source']}/blob/main/{path.relative_to(ROOT)}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)]*)?\)", mend, text)


def mend_page(app, docname, source):
    page = Path(app.srcdir) / f"{docname}.md"
    if page not in INCLUDED.values():
        # A doctest needs an empty line before the closing fence; readers do not.
        source[0] = re.sub(r"\n\n( *```\n)", r"\n\1", mend_links(source[0], page, page))


def mend_included(app, path, parent, content):
    page = ROOT / path.name if path.name in {p.name for p in INCLUDED} else Path(app.srcdir) / path
    content[0] = mend_links(content[0], page, INCLUDED[page])


def name_buttons(app, pagename, templatename, context, doctree):
    """Name the buttons of the side list for screen readers, for the theme does not."""
    generate = context["generate_toctree_html"]
    summary = '<summary aria-label="Pages of this section">'
    context["generate_toctree_html"] = lambda *args, **options: str(generate(*args, **options)).replace(
        "<summary>", summary
    )


def setup(app):
    app.connect("env-before-read-docs", spread_tutorials)
    app.connect("html-page-context", name_buttons, priority=900)  # after the theme
    app.connect("source-read", mend_page)
    app.connect("include-read", mend_included)
