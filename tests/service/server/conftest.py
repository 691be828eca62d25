import os

import pytest


@pytest.fixture
def plain_environment(monkeypatch):
    """No variable that the command or the service reads is set, but for the folder of compiled kernels."""
    for name in list(os.environ):
        if name.startswith(("RANKCORR_", "PROMETHEUS_", "MALLOC_", "OPENBLAS_")):
            monkeypatch.delenv(name)
