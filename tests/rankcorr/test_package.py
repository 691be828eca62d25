"""What the package promises as a whole: light imports, and one version everywhere."""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import rankcorr

ROOT = Path(__file__).parents[2]


def test_importing_leaves_heavy_packages_alone():
    program = (
        "import sys, rankcorr, rankcorr.datasets, rankcorr.io.tables;"
        "print(*{'numba', 'scipy.stats', 'pandas', 'matplotlib', 'click'} & set(sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == ""


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == rankcorr.__version__ == version("rankcorr")


def test_all_names_are_public_and_exist():
    assert sorted(rankcorr.__all__) == rankcorr.__all__
    assert all(hasattr(rankcorr, name) for name in rankcorr.__all__)
