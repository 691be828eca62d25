"""The pages of commands: their help texts are plain text, which sphinx-click takes for reStructuredText."""

import re

from docutils import nodes


def literal(text):
    """Set names in backquotes, options and calls of pip as code."""
    code = r"`([^`]+)`|(?<![\w-])(--?[a-z][a-z0-9-]*)|(pip install '[^'\n]+')"
    return re.sub(code, lambda match: f"``{match[1] or match[2] or match[3]}``", text)


def list_description(app, ctx, lines):
    lines[:] = literal("\n".join(lines)).split("\n")  # a name may continue on the next line


def list_options(app, ctx, lines):
    """List each option as the help shows it, with its default and its range; a line may break between its choices."""
    records = [option.get_help_record(ctx) for option in ctx.command.params if option.param_type_name == "option"]
    listed = [(names.replace("|", "|\N{ZERO WIDTH SPACE}"), literal(text)) for names, text in records]
    lines[:] = [line for names, text in listed for line in (f".. option:: {names}", "", f"   {text}", "")]


def omit_arguments(app, ctx, lines):
    lines.clear()  # the usage names them, and the text above it explains them


def list_examples(app, ctx, lines):
    """Show the examples as code."""
    first, *examples = [line.removeprefix("| ") for line in lines if line]
    lines[:] = [f".. rubric:: {first.rstrip(':')}", "", ".. code-block:: shell", ""]
    lines += [f"   {line.strip()}" for line in examples] + [""]


def place_commands(app, doctree):
    """Move the section of each command behind that of its example, and give it a title that its page lacks."""
    if not app.env.docname.startswith("reference/commands/"):
        return
    page = next(doctree.findall(nodes.section))
    commands = [section for section in doctree.findall(nodes.section) if "slug" not in section]  # MyST's have one
    for section in reversed(commands):
        name = section["names"][0]
        repeats = page[0].astext().startswith(f"{name}:")
        section[0].children = [nodes.Text("Usage and options" if repeats else name)]
        above = section.parent
        if above is not page and "slug" in above:
            above.remove(section)
            above.parent.insert(above.parent.index(above) + 1, section)


def setup(app):
    """Change what sphinx-click writes."""
    app.connect("sphinx-click-process-description", list_description)
    app.connect("sphinx-click-process-options", list_options)
    app.connect("sphinx-click-process-arguments", omit_arguments)
    app.connect("sphinx-click-process-epilog", list_examples)
    app.connect("doctree-read", place_commands, priority=400)  # before Sphinx collects the contents of the page
    return {"parallel_read_safe": True}
