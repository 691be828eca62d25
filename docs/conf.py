"""Settings of the site that `make docs` builds with Sphinx."""

import os
import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.ext import autosummary

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project, release = PROJECT["name"], PROJECT["version"]
author = "The rankcorr developers"
copyright = author  # noqa: A001 - Sphinx asks for this name

extensions = [
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_click", "sphinx_copybutton")
]
exclude_patterns = ["_build", "jupyter_execute", ".jupyter_cache", "**/generated/*.txt"]  # myst-nb writes two of them
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


# CHANGELOG and CONTRIBUTING stand beside README, and the site includes them.
INCLUDED = {ROOT / f"{name}.md": ROOT / f"docs/project/{name.lower()}.md" for name in ("CHANGELOG", "CONTRIBUTING")}


def mend_links(text, page, shown):
    """Point links from a page, which the site shows as another, to pages of the site, or to files in the repository."""

    def mended(match):
        target, anchor = match[1], match[2] or ""
        path = Path(os.path.normpath(page.parent / target))
        path = INCLUDED.get(path, path)
        if "://" in target or not path.is_relative_to(ROOT):
            return match[0]
        if path.is_relative_to(ROOT / "docs"):
            return f"]({os.path.relpath(path, shown.parent)}{anchor})"
        return f"]({PROJECT['urls']['Source']}/blob/main/{path.relative_to(ROOT)}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)]*)?\)", mended, text)


def mend_page(app, docname, source):
    page = Path(app.srcdir) / f"{docname}.md"
    if page not in INCLUDED.values():
        source[0] = mend_links(source[0], page, page)


def mend_included(app, path, parent, content):
    page = ROOT / path.name if path.name in {p.name for p in INCLUDED} else Path(app.srcdir) / path
    content[0] = mend_links(content[0], page, INCLUDED[page])


# Help texts of commands are plain text, which sphinx-click takes for reStructuredText.
def literal(text):
    """Set names in backquotes, options and calls of pip as code."""
    code = r"`([^`]+)`|(?<![\w-])(--?[a-z][a-z0-9-]*)|(pip install '[^'\n]+')"
    return re.sub(code, lambda found: f"``{found[1] or found[2] or found[3]}``", text)


def list_description(app, ctx, lines):
    lines[:] = literal("\n".join(lines)).split("\n")  # a name may continue on the next line


def list_options(app, ctx, lines):
    """List each option as the help shows it, with its default and its range."""
    records = [each.get_help_record(ctx) for each in ctx.command.params if each.param_type_name == "option"]
    lines[:] = [line for names, text in records for line in (f".. option:: {names}", "", f"   {literal(text)}", "")]


def omit_arguments(app, ctx, lines):
    lines.clear()  # the usage names them, and the text above it explains them


def list_examples(app, ctx, lines):
    """Show the examples as code."""
    first, *examples = [line.removeprefix("| ") for line in lines if line]
    lines[:] = [f".. rubric:: {first.rstrip(':')}", "", ".. code-block:: shell", ""]
    lines += [f"   {line.strip()}" for line in examples] + [""]


def place_commands(app, doctree):
    """Make the section of each command one of the page, and give it a title that its page does not have."""
    if not app.env.docname.startswith("reference/commands/"):
        return
    page = next(doctree.findall(nodes.section))
    made = [each for each in doctree.findall(nodes.section) if "slug" not in each]  # by sphinx-click, not by MyST
    for section in reversed(made):
        name = section["names"][0]
        repeats = page[0].astext().startswith(f"{name}:")
        section[0].children = [nodes.Text("Usage and options" if repeats else name)]
        above = section.parent
        if above is not page and "slug" in above:
            above.remove(section)
            page.insert(page.index(above) + 1, section)


def setup(app):
    app.connect("sphinx-click-process-description", list_description)
    app.connect("sphinx-click-process-options", list_options)
    app.connect("sphinx-click-process-arguments", omit_arguments)
    app.connect("sphinx-click-process-epilog", list_examples)
    app.connect("doctree-read", place_commands, priority=400)  # before Sphinx collects the contents of the page
    app.connect("source-read", mend_page)
    app.connect("include-read", mend_included)
