"""The three distributions: one version, one package each, one licence, and a source archive that builds."""

import re
import shutil
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hatchling import build

import rankcorr
from tests.repository import DISTRIBUTIONS, NAMES, ROOT, project, requirements

pytestmark = pytest.mark.wide

each_distribution = pytest.mark.parametrize(("name", "folder", "package"), DISTRIBUTIONS, ids=NAMES)

# Files in a package's folder that are not part of the package
PROJECT_FILES = {
    *("pyproject.toml", "README.md", "LICENSE", "server/Dockerfile"),
    *("deploy/compose.yaml", "deploy/nginx.conf.template", "deploy/proxy.env"),
}


@each_distribution
def test_distributions_have_one_version(name, folder, package):  # noqa: ARG001 - the names of the parameters
    assert project(folder)["name"] == name
    assert project(folder)["version"] == rankcorr.__version__
    try:
        assert version(name) == rankcorr.__version__
    except PackageNotFoundError:
        assert name != "rankcorr"  # the others need not be installed: their folders are next to rankcorr/
    for requirement in requirements(folder)[""]:
        if requirement.name in NAMES:
            assert str(requirement.specifier) == f"=={rankcorr.__version__}"


def test_each_distribution_depends_on_those_below_it():
    result = {
        name: [requirement.name for requirement in requirements(folder)[""] if requirement.name in NAMES]
        for name, folder, _ in DISTRIBUTIONS
    }
    assert result == {
        "rankcorr": [],
        "rankcorr-adaptive": ["rankcorr"],
        "rankcorr-service": ["rankcorr", "rankcorr-adaptive"],
    }


def test_the_documents_name_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r'^version: "?([^"\n]+)"?$', citation, re.MULTILINE) == [rankcorr.__version__]
    releases = re.findall(
        r"^## \[(?!Unreleased)(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert releases[:1] == [rankcorr.__version__]


@each_distribution
def test_metadata_are_shared(name, folder, package):  # noqa: ARG001
    library, metadata = project(ROOT), project(folder)
    for key in ("license", "license-files", "requires-python", "authors", "urls"):
        assert metadata[key] == library[key]
    assert metadata["keywords"]


@each_distribution
def test_each_has_the_licence(name, folder, package):  # noqa: ARG001
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def build_distribution(folder: Path, target: Path, kind: str, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return target / getattr(build, f"build_{kind}")(str(target))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@each_distribution
def test_the_wheel_has_only_its_package(name, folder, package, tmp_path, monkeypatch):
    wheel = contents(build_distribution(folder, tmp_path, "wheel", monkeypatch))
    about = f"{name.replace('-', '_')}-{rankcorr.__version__}.dist-info"
    assert {file.split("/")[0] for file in wheel} == {package, about}
    place = ROOT / package
    files = [
        file.relative_to(place) for file in place.rglob("*") if file.is_file() and file.parent.name != "__pycache__"
    ]
    expected = {f"{package}/{file.as_posix()}" for file in files if file.as_posix() not in PROJECT_FILES}
    assert {file for file in wheel if not file.startswith(about)} == expected
    assert (f"{package}/py.typed" in wheel) == (package != "service")  # an application has no public types
    assert wheel[f"{about}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


@each_distribution
def test_links_of_the_description_work_on_a_package_index(name, folder, package, tmp_path, monkeypatch):  # noqa: ARG001
    wheel = contents(build_distribution(folder, tmp_path, "wheel", monkeypatch))
    description = wheel[f"{name.replace('-', '_')}-{rankcorr.__version__}.dist-info/METADATA"].decode()
    assert f"\n# {name}\n" in description
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


@each_distribution
def test_the_source_builds_the_same_wheel(name, folder, package, tmp_path, monkeypatch):  # noqa: ARG001
    source = build_distribution(folder, tmp_path, "sdist", monkeypatch)
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    assert (unpacked / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (unpacked / "README.md").is_file()
    again = contents(build_distribution(unpacked, tmp_path, "wheel", monkeypatch))
    shutil.rmtree(unpacked)
    assert again == contents(build_distribution(folder, tmp_path, "wheel", monkeypatch))
