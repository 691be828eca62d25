"""What the tests of figures share: matplotlib is there, or is made to be missing."""

import sys

import pytest


@pytest.fixture(autouse=True)
def matplotlib(request):
    if "without_matplotlib" not in request.fixturenames:
        pytest.importorskip("matplotlib")


@pytest.fixture
def without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
