"""What the tests of figures share: matplotlib is there, or is made to be missing."""

import pytest


@pytest.fixture(autouse=True)
def matplotlib(request):
    if "without_matplotlib" not in request.fixturenames:
        pytest.importorskip("matplotlib")
