"""The three distributions of this repository: their folders, and what their pyproject.toml says."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# Distribution, its folder, and the one package that it holds.
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
