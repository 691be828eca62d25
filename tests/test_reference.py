"""Each public name is in the reference once; its docstring has an example and See Also."""

import ast
import builtins
import doctest
import inspect
import re
import subprocess
import sys
from functools import reduce
from importlib import import_module

import rankcorr
from tests.repository import ROOT

PAGES = "".join(path.read_text() for path in sorted((ROOT / "docs/reference").glob("*.rst")))
LISTS = re.findall(r"^.. currentmodule:: (\S+)$.*?:nosignatures:\n\n((?:   \w+\n)+)", PAGES, re.MULTILINE | re.DOTALL)
PUBLIC_NAMES = [(import_module(module), name) for module, names in LISTS for name in names.split()]


def docstrings():
    """Module, name and docstring of public objects; constants and types of options have none."""
    for module, name in PUBLIC_NAMES:
        result = getattr(module, name)
        if inspect.isclass(result) or inspect.isroutine(result):
            yield module, f"{module.__name__}.{name}", inspect.getdoc(result)


def section(doc, title):
    """Lines of a section of a docstring, up to the next one."""
    parts = re.split(r"^(\w[\w ]*)\n-+$", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip().splitlines()


def is_known(name, module):
    """Whether a name in See Also is in this module, or begins with a module of the reference, as Sphinx requires."""
    modules = {known.__name__: known for known, _ in PUBLIC_NAMES}
    start = max((known for known in modules if name.startswith(f"{known}.")), key=len, default="")
    path = name[len(start) + 1 :] if start else name
    return (
        reduce(lambda result, part: getattr(result, part, None), path.split("."), modules.get(start, module))
        is not None
    )


def test_every_public_name_is_in_the_reference_once():
    assert len(PUBLIC_NAMES) == len(set(PUBLIC_NAMES)) > 300
    objects = {id(getattr(module, name)) for module, name in PUBLIC_NAMES}
    for module in {module for module, _ in PUBLIC_NAMES}:
        missing = [name for name in module.__all__ if id(getattr(module, name)) not in objects]
        assert missing == [], f"list these names of {module.__name__} in docs/reference/*.rst"


def test_every_public_name_has_an_example():
    lacking = [name for _, name, doc in docstrings() if not any(">>> " in line for line in section(doc, "Examples"))]
    assert lacking == []


def unknown_names(doc):
    """Names that the examples use, and neither import nor define."""
    tree = ast.parse("\n".join(example.source for example in doctest.DocTestParser().get_examples(doc)))
    used, known = set(), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ExceptHandler(name=name):
                known.add(name)
            case ast.alias(name=name, asname=None) | ast.alias(asname=name):
                known.add(name.partition(".")[0])
    return used - known


def test_every_example_imports_what_it_uses():
    assert {name: unknown for _, name, doc in docstrings() if (unknown := unknown_names(doc))} == {}


def test_every_public_name_has_see_also():
    assert [name for _, name, doc in docstrings() if not section(doc, "See Also")] == []


def test_see_also_gives_names_that_exist_and_a_reason():
    for module, name, doc in docstrings():
        for line in section(doc, "See Also"):
            others, _, reason = line.partition(" : ")
            assert reason.endswith("."), (name, line)
            assert [other for other in others.split(", ") if not is_known(other, module)] == [], (name, line)


def test_every_name_on_the_page_of_papers_exists():
    page = (ROOT / "docs/explain/papers.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:rankcorr|adaptive)\.[\w.]+)`", page)
    assert len(set(names)) > 50
    assert [name for name in names if not is_known(name, None)] == []


def test_no_cell_on_the_page_of_papers_is_empty():
    page = (ROOT / "docs/explain/papers.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) > 50
    assert [row for row in rows if "" in map(str.strip, row.replace("\\|", "").strip("|").split("|"))] == []


def test_the_import_loads_no_heavy_packages():
    light = "rankcorr, rankcorr.datasets, rankcorr._io.rankings, rankcorr.evaluation, rankcorr.vectors"
    heavy = "numba narwhals scipy.stats pandas matplotlib click ir_measures gensim sklearn polars evaluate torch"
    program = f"import sys, {light}, rankcorr.integrations.metric; print(*set('{heavy}'.split()) & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == ""


def test_all_names_are_public_and_exist():
    assert len(set(rankcorr.__all__)) == len(rankcorr.__all__)
    assert all(hasattr(rankcorr, name) for name in rankcorr.__all__)
