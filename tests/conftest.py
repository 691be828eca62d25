"""Hypothesis profiles, shared fixtures, and the order of tests in parallel runs."""

import gc
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import settings

DATA_DIR = Path(__file__).resolve().parents[2] / "shared" / "data"

# Doctests that `make test` leaves out, because they cannot have a mark.
WIDE_EXAMPLES = (
    *("adaptive/_tuning/", "adaptive/simulation/", "docs/how-to/plan-votes.md"),
    *("docs/how-to/integrations.md", "rankcorr/integrations/huggingface.py"),  # packages are not installed
)

# Of these, the examples that search for plans, which take 15 s.
NIGHTLY_EXAMPLES = "docs/how-to/plan-votes.md"

# Tests of differences between the two databases; `make test-wide` runs no other wide test on PostgreSQL.
DATABASE_FILES = {f"test_{name}.py" for name in ("crashes", "database", "files", "live", "memory", "races")}

# A file whose tests are all wide has this line.
WIDE_FILE = re.compile(rb"^pytestmark = (\[\s*)?pytest\.mark\.wide\b", re.MULTILINE)

# All processes of a run compile into one folder, which is kept for later runs.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache"))

gc.set_threshold(50_000, 20, 50)  # fewer garbage collections save an eighth of the time

# No deadline: the first call of a numba kernel compiles it, so one example takes far longer than the rest.
# Every setting is given in each, because hypothesis changes its own defaults where CI is set.
CI = bool(os.environ.get("CI"))
settings.register_profile("dev", max_examples=10, deadline=None, derandomize=CI, print_blob=CI)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("few", max_examples=5, deadline=None, derandomize=True, print_blob=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files without a test to run: this saves `make test-wide` 15 s.

    Some files of wide tests need packages that `make test` does not install.
    """
    if not collection_path.is_file() or not collection_path.is_relative_to(config.rootpath):
        return None
    expression, path = config.option.markexpr, collection_path.relative_to(config.rootpath).as_posix()
    text = collection_path.read_bytes()
    if "not wide" in expression:
        return path.startswith(WIDE_EXAMPLES) or bool(WIDE_FILE.search(text)) or None
    if expression.startswith("wide and "):
        has_wide = b"mark.wide" in text if path.startswith("tests/") else path.startswith(WIDE_EXAMPLES)
        # The fixtures of the ledger run its tests on PostgreSQL too.
        return None if has_wide or path.startswith("tests/adaptive/ledger/") else True
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest applies -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark wide doctests and tests on PostgreSQL, and run tests that start servers first: they wait more than compute.

    A wide test that runs on SQLite by day runs on PostgreSQL in nightly runs.

    Next are the doctests whose kernels many other tests need. Two processes compile different ones and share them.
    Long files come before short ones, so that no process starts one of them late.
    """
    servers = ("tests/service/server/", "tests/service/deploy/")
    compiling = ("adaptive/_draw.py", "adaptive/README.md", "rankcorr/errors.py", "adaptive/model/_accuracy.py")
    long = (
        "tests/test_processes.py",
        "tests/test_docs.py",
        "tests/test_distributions.py",
        "tests/service/http/test_pool.py",
        "tests/service/test_contract.py",
    )
    first = (*servers, *compiling, *long)
    for item in items:
        postgresql = "[postgresql" in item.nodeid or "postgresql" in item.fixturenames
        if "[postgresql" in item.nodeid and item.get_closest_marker("wide") and item.path.name not in DATABASE_FILES:
            item.add_marker("nightly")
        if item.nodeid.startswith(NIGHTLY_EXAMPLES):
            item.add_marker("nightly")
        if postgresql or item.nodeid.startswith(WIDE_EXAMPLES):
            item.add_marker("wide")
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in first])


def pytest_collection_finish() -> None:
    """Exclude the objects made by collection from later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_data") and not DATA_DIR.is_dir():
        pytest.skip(f"published data are not part of the repository: there is no folder {DATA_DIR}")
    if item.get_closest_marker("needs_numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("too slow with kernels as plain Python")


@pytest.fixture
def write(tmp_path, request):
    """Write a file, named by the module's FILE, and return its path."""
    usual = getattr(request.module, "FILE", "votes.csv")

    def write(content, name=usual):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; tests that use it are marked `real_data`."""
    return DATA_DIR
