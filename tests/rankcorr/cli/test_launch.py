"""The commands of the other distributions, if other packages have the same names as theirs."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wide

OURS = '"""Ours."""\n__distribution__ = "rankcorr-{package}"\nprint("imported", "{package}")\n'
FOREIGN = 'raise SystemExit("a foreign package was imported")\n'
MAINS = {"adaptive": ("_cli/main.py",), "service": ("server/launch.py",)}
PROGRAM = """
import sys
from pathlib import Path

from rankcorr._cli import launch

# Only the standard library, installed packages, and the folder of the test: not the packages of this repository.
sys.path[:] = [sys.argv[2], *(place for place in sys.path if not Path(place, "adaptive").is_dir())]
sys.argv = ["command", "--check"]
getattr(launch, "{function}")()
"""


def make_package(folder, package, init):
    """Make a package with the modules of its commands; without an `init`, there is no `__init__.py`."""
    for name in MAINS[package]:
        main = folder / package / name
        main.parent.mkdir(parents=True, exist_ok=True)
        main.write_text("import sys\ndef main():\n    print(__name__, *sys.argv[1:])\nserve = collect = main\n")
    if init is not None:
        (folder / package / "__init__.py").write_text(init.format(package=package))


def run(function, folder):
    command = [sys.executable, "-c", PROGRAM.format(function=function), "--check", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refusal(function, folder):
    process = run(function, folder)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.count("\n") == 1
    return process.stderr.strip()


def test_the_commands_run_with_the_packages_of_this_project(tmp_path):
    make_package(tmp_path, "adaptive", OURS)
    make_package(tmp_path, "service", OURS)
    assert run("ballots", tmp_path).stdout == "imported adaptive\nadaptive._cli.main --check\n"
    assert run("serve", tmp_path).stdout == "imported service\nservice.server.launch --check\n"
    assert run("collect", tmp_path).stdout == "imported service\nservice.server.launch --check\n"


@pytest.mark.parametrize("init", [FOREIGN, "", '__distribution__ = "rankcorr-adaptive-2"\n'])
def test_a_foreign_package_is_named_and_not_imported(tmp_path, init):
    make_package(tmp_path, "adaptive", init)
    make_package(tmp_path, "service", OURS)
    place = tmp_path / "adaptive" / "__init__.py"
    rest = (
        f"error: the package adaptive in {place} belongs to another project, not to rankcorr-adaptive: install "
        "rankcorr-adaptive in a separate environment, or uninstall that project and reinstall rankcorr-adaptive"
    )
    assert refusal("ballots", tmp_path) == f"ballots: {rest}"
    assert refusal("serve", tmp_path) == f"rankcorr-serve: {rest}"


def test_the_service_needs_its_own_package_too(tmp_path):
    make_package(tmp_path, "adaptive", OURS)
    make_package(tmp_path, "service", FOREIGN)
    assert run("ballots", tmp_path).returncode == 0
    line = refusal("serve", tmp_path)
    assert line.startswith(f"rankcorr-serve: error: the package service in {tmp_path}/service/__init__.py belongs to ")


def test_an_installed_foreign_distribution_is_named(tmp_path):
    make_package(tmp_path, "adaptive", FOREIGN)
    installed = tmp_path / "active_learner-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: active-learner\nVersion: 1.0\n")
    (installed / "RECORD").write_text("adaptive/__init__.py,,\n")
    assert "belongs to active-learner, not to rankcorr-adaptive: " in refusal("ballots", tmp_path)


def test_a_package_without_init_needs_reinstalling(tmp_path):
    make_package(tmp_path, "adaptive", None)
    line = f"the package adaptive in {tmp_path / 'adaptive'} has no __init__.py: reinstall rankcorr-adaptive"
    assert refusal("ballots", tmp_path) == f"ballots: error: {line}"


def test_a_missing_package_is_named(tmp_path):
    line = "the package adaptive is not installed: run pip install rankcorr-adaptive"
    assert refusal("ballots", tmp_path) == f"ballots: error: {line}"
    make_package(tmp_path, "adaptive", OURS)
    line = "the package service is not installed: run pip install rankcorr-service"
    assert refusal("serve", tmp_path) == f"rankcorr-serve: error: {line}"


@pytest.mark.parametrize("package", sorted(MAINS))
def test_the_packages_of_this_repository_are_recognised(package):
    text = (Path(__file__).parents[3] / package / "__init__.py").read_text(encoding="utf-8")
    assert f'\n__distribution__ = "rankcorr-{package}"\n' in text
