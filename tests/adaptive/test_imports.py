"""Which room of the package may import which; in the idea, a module imports only from earlier steps."""

import ast
from pathlib import Path

import pytest

import adaptive

PACKAGE = Path(adaptive.__file__).parent
IDEA = (
    "errors", "pairing", "advice", "plan", "budget", "kernels", "draw", "votes", "scores", "selection", "record",
    "protocol", "replay", "tables",
)  # fmt: skip
ROOMS = {
    "idea": {"idea"},
    "session": {"idea", "session"},
    "simulation": {"idea", "simulation"},
    "paper": {"idea", "simulation", "paper"},
    "cli": {"idea", "session", "simulation", "paper", "cli"},
}
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "__init__.py"
}


def imported(path):
    """Modules of the package that a module imports, inside functions and for types alone too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "adaptive":
            if node.module == "adaptive":
                yield from (alias.name for alias in node.names)
            else:
                yield node.module.removeprefix("adaptive.")
        if isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from (name.removeprefix("adaptive.") for name in names if name.startswith("adaptive."))


def room(module):
    return module.split(".")[0] if "." in module else "idea"


def test_every_module_of_the_idea_has_its_step():
    assert sorted(module for module in MODULES if room(module) == "idea") == sorted(IDEA)


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module):
    for other in imported(MODULES[module]):
        assert other in MODULES, f"{module} imports {other}, which is not a module"
        assert room(other) in ROOMS[room(module)], f"{module} imports {other}"
        if room(module) == "idea":
            assert IDEA.index(other) < IDEA.index(module), f"{module} imports the later step {other}"


@pytest.mark.parametrize("name", ["session", "simulation", "paper", "cli"])
def test_no_circle_inside_a_room(name):
    inside = {module: {other for other in imported(path) if room(other) == name} for module, path in MODULES.items()}
    waiting = {module: others for module, others in inside.items() if room(module) == name}
    while free := [module for module, others in waiting.items() if not others & set(waiting)]:
        for module in free:
            del waiting[module]
    assert waiting == {}
