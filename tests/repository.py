"""The repository: its three distributions, and its documents with their fenced and console blocks."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# Distribution, its folder, and its only package
DISTRIBUTIONS = (
    ("rankcorr", ROOT, "rankcorr"),
    ("rankcorr-adaptive", ROOT / "adaptive", "adaptive"),
    ("rankcorr-service", ROOT / "service", "service"),
)
NAMES = tuple(name for name, _, _ in DISTRIBUTIONS)


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(folder: Path) -> dict[str, list[Requirement]]:
    """Requirements of a distribution, under "", and of each of its extras."""
    declared = project(folder)
    lists = {"": declared["dependencies"], **declared.get("optional-dependencies", {})}
    return {extra: [Requirement(line) for line in lines] for extra, lines in lists.items()}


PATHS = [
    *ROOT.glob("*.md"),
    *(path for path in sorted(ROOT.glob("docs/**/*.md")) if "_build" not in path.parts),
    *ROOT.glob("[as]*/README.md"),
]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}


def find_fenced(text: str, language: str) -> list[str]:
    """Contents of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def console_steps(block: str) -> list[tuple[str, str]]:
    """Each command of a console block, with continued lines joined, and the output below it."""
    steps = re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (step.partition("\n") for step in steps)]
