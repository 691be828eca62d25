"""The steps of the Dockerfile without Docker: its commands, in its order, with its folders moved to a clean place."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.service.live import REPOSITORY, running

pytestmark = pytest.mark.wide

PAIR = {"gold": {"scores": [3, 1, 2]}, "system": {"scores": [1, 2, 3]}}
FOLDERS = ("/src", "/wheels", "/opt/rankcorr", "/assets")

Step = tuple[str, str]

takes_minutes = pytest.mark.skipif(
    not os.environ.get("CI"), reason="builds and installs the service anew, which takes minutes: set CI to run it"
)


def can_mount() -> bool:
    command = shutil.which("unshare")
    probe = "mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp"
    return (
        bool(command)
        and subprocess.run([command, "--mount", "sh", "-c", probe], capture_output=True, check=False).returncode == 0
    )


def steps() -> list[Step]:
    """Instruction and arguments of each step; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", (REPOSITORY / "service" / "server" / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.strip().partition(" ") for line in lines if line.strip())]


def the_only(word: str) -> str:
    (found,) = [rest for name, rest in steps() if name == word]
    return found


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file out: the last pattern that fits it, or a folder above it, decides."""
    above = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)]
    out = False
    for line in (REPOSITORY / ".dockerignore").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.removeprefix("!")
        names = [name.split("/")[-1] for name in above] if pattern.startswith("**/") else above
        if any(fnmatch(name, pattern.removeprefix("**/")) for name in names):
            out = not line.startswith("!")
    return out


def test_the_build_sees_what_the_wheel_needs_and_no_more():
    copied = [
        source for word, rest in steps() if word == "COPY" and "--from" not in rest for source in rest.split()[:-1]
    ]
    assert {"pyproject.toml", "README.md", "LICENSE", "rankcorr", "adaptive", "service"} == set(copied)
    assert not any(ignored(source) for source in copied)
    assert not ignored("service/openapi/static/docs.js")
    for path in (".git/config", "tests/naive.py", ".venv/bin/python", "service/deploy/compose.yaml", "x.pyc"):
        assert ignored(path)
    assert ignored("service/__pycache__/app.cpython-313.pyc")


def test_the_image_runs_as_nobody_of_importance_and_names_no_registry():
    words = [word for word, _ in steps()]
    assert the_only("USER") == "10001:10001"
    assert words.index("USER") > words.index("ENV")
    assert json.loads(the_only("CMD")) == ["rankcorr-serve"]
    *_, kept = [rest.split() for word, rest in steps() if word == "ENV"]
    assert "RANKCORR_BIND=0.0.0.0:8000" in kept
    assert the_only("EXPOSE") == "8000"
    text = (REPOSITORY / "service" / "server" / "Dockerfile").read_text() + (REPOSITORY / ".dockerignore").read_text()
    assert "://" not in text
    assert "index-url" not in text


def health_check(port: int) -> list[str]:
    """The command of the health check, for another port."""
    command = json.loads(re.search(r"CMD (\[.*\])", the_only("HEALTHCHECK"))[1])
    return [word.replace("8000", str(port)) for word in command]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Folder with what the steps make, and the environment that the image sets."""
    root = tmp_path_factory.mktemp("image")
    foreign = ("RANKCORR_", "NUMBA_", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment["PIP_NO_COMPILE"] = "1"  # the whole of scipy takes 10 s: what is imported is compiled by then
    kept: dict[str, str] = {}

    def moved(text: str) -> str:
        for folder in FOLDERS:
            text = text.replace(folder, f"{root}{folder}")
        return text

    folder = root
    for word, rest in steps():
        if word == "WORKDIR":
            folder = Path(moved(rest))
            folder.mkdir(parents=True)
        elif word == "COPY" and "--from" not in rest:
            *sources, target = rest.split()
            for source in sources:
                copy(REPOSITORY / source, folder if target == "./" else folder / target)
        elif word == "COPY":
            _, source, target = rest.split()
            assert source == target  # a virtual environment works in the folder where it was made
            assert Path(moved(source)).is_dir()
        elif word == "RUN":
            command = re.sub(r"(?<![\w./-])python ", f"{shlex.quote(sys.executable)} ", moved(rest))
            done = ran(["sh", "-c", command], environment, cwd=folder)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        elif word == "FROM":
            kept = {}
        elif word == "ENV":
            pairs = [pair.partition("=") for pair in moved(rest).split()]
            kept |= {name: value.replace("$PATH", os.environ["PATH"]) for name, _, value in pairs}
            environment |= kept
        else:
            assert word in ("USER", "EXPOSE", "HEALTHCHECK", "CMD")
    return root, kept


def copy(source: Path, target: Path) -> None:
    if source.is_file():
        shutil.copy2(source, target)
        return
    for file in sorted(source.rglob("*")):
        name = file.relative_to(REPOSITORY).as_posix()
        if file.is_file() and not ignored(name):
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)


def ran(command: list[str], environment: dict[str, str], **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def started(root: Path) -> tuple[str, ...]:
    name, *rest = json.loads(the_only("CMD"))
    return (str(root / "opt/rankcorr/bin" / name), *rest)


def outside(kept: dict[str, str]) -> dict[str, str]:
    """Variables of a container, but on a free port of this machine."""
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": "", **kept, "RANKCORR_BIND": "127.0.0.1:0"}


@takes_minutes
def test_the_steps_give_a_service_that_starts_answers_and_stops(image, tmp_path):
    root, kept = image
    environment = outside(kept)
    kernels = times_of(Path(kept["NUMBA_CACHE_DIR"]))
    with running(tmp_path, environment, started(root), cwd=tmp_path) as server:
        check = ran(health_check(server.port), environment)
        assert check.returncode == 0, check.stderr
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
        assert server.ask("GET", "/docs/swagger-ui.css")[0] == 200
        port = server.port
        assert server.stop() == 0
    assert ran(health_check(port), environment).returncode != 0
    assert times_of(Path(kept["NUMBA_CACHE_DIR"])) == kernels  # nothing was compiled


@takes_minutes
def test_the_steps_give_rankcorr_collect_with_its_pages(image, tmp_path):
    root, kept = image
    environment = {**outside(kept), "RANKCORR_LEDGER": str(tmp_path / "votes.db")}
    kernels = times_of(Path(kept["NUMBA_CACHE_DIR"]))
    with running(tmp_path, environment, (str(root / "opt/rankcorr/bin/rankcorr-collect"),), cwd=tmp_path) as server:
        assert ran(health_check(server.port), environment).returncode == 0
        assert server.ask("GET", "/health/ready")[0] == 200
        assert server.ask("GET", "/static/base.css")[0] == 200
        assert server.stop() == 0
    assert times_of(Path(kept["NUMBA_CACHE_DIR"])) == kernels


@takes_minutes
def test_the_kernels_of_the_image_run_on_every_processor(image):
    """numba looks for a kernel by the name of the processor that it was compiled for."""
    _, kept = image
    found = [file.read_bytes() for file in Path(kept["NUMBA_CACHE_DIR"]).rglob("*.nbi")]
    assert found
    assert all(b"generic" in index for index in found)


@takes_minutes
def test_the_wheels_bring_the_commands_and_the_contract(image, tmp_path):
    root, _ = image
    commands = root / "opt/rankcorr/bin"
    environment = {"PATH": "/usr/bin:/bin"}
    checks = [[command, "--check"] for command in ("rankcorr-serve", "rankcorr-collect")]
    for words in (["rankcorr", "--version"], ["ballots", "--version"], *checks, ["python", "-c", "import psycopg"]):
        done = ran([str(commands / words[0]), *words[1:]], environment, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    contract = ran([str(commands / "python"), "-I", "-m", "service.contract"], environment, cwd=tmp_path)
    assert contract.stdout == (REPOSITORY / "tests" / "service" / "openapi.json").read_text(encoding="utf-8")
    packages = {path.name for path in (root / "opt/rankcorr/lib").glob("*/site-packages/*")}
    assert {"rankcorr", "adaptive", "service"} <= packages
    assert not {"tests", "benchmarks", "pytest", "mypy"} & packages


def times_of(folder: Path) -> dict[str, int]:
    found = {file.relative_to(folder).as_posix(): file.stat().st_mtime_ns for file in folder.rglob("*.nb*")}
    assert found
    return found


# Of a service that finds no compiled kernels: those of one request. All of them would take a minute, and the image
# has compiled them already.
FEW_KERNELS = """
from rankcorr import correlate

def warm_up():
    correlate([3, 1, 2], [1, 2, 3])

warm_up_correlations = warm_up
"""
REPLACED = """
mount --bind "$1" "$2" && shift 2 &&"""
READ_ONLY = """
mount -o remount,bind,ro / && mount -t tmpfs tmpfs "$1" && export TMPDIR="$1" && shift && exec "$@"
"""


@takes_minutes
@pytest.mark.skipif(not can_mount(), reason="this user cannot mount folders, so that none can be made read-only")
@pytest.mark.parametrize("kernels", ["of the image", "none"])
def test_the_service_needs_no_folder_but_the_temporary_one(image, tmp_path, kernels):
    root, kept = image
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**outside(kept), "HOME": "/nonexistent"}
    script, arguments = READ_ONLY, (str(folder), *started(root))
    if kernels == "none":
        environment["NUMBA_CACHE_DIR"] = ""
        (tmp_path / "few.py").write_text(FEW_KERNELS)
        (warm_up,) = root.glob("opt/rankcorr/lib/*/site-packages/service/server/warm_up.py")
        script, arguments = REPLACED + READ_ONLY.lstrip(), (str(tmp_path / "few.py"), str(warm_up), *arguments)
    command = ("unshare", "--mount", "sh", "-c", script, "sh", *arguments)
    with running(tmp_path, environment, command, cwd="/") as server:
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
        assert server.metrics()["rankcorr_requests_in_progress"] == 1
        with pytest.raises(OSError, match="Read-only file system"):
            Path(f"/proc/{server.process.pid}/root{root}/new").touch()
        if kernels == "of the image":
            (copied,) = Path(f"/proc/{server.process.pid}/root{folder}").glob("rankcorr-serve-*/kernels")
            assert times_of(copied) == times_of(Path(kept["NUMBA_CACHE_DIR"]))  # those of others were compiled here
        assert server.stop() == 0
    assert not list(folder.iterdir())
