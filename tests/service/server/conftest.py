import os

import pytest


@pytest.fixture
def plain_environment(monkeypatch):
    """No variable that the command or the service reads is set."""
    for name in list(os.environ):
        if name.startswith(("RANKCORR_", "PROMETHEUS_", "NUMBA_CACHE", "MALLOC_", "OPENBLAS_")):
            monkeypatch.delenv(name)
