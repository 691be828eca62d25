"""Each figure draws what the stored version of it drew; tests/figures.py says how to renew that."""

import json

import pytest

from tests.figures import STORED, elements, figures

pytestmark = pytest.mark.wide


@pytest.mark.needs_numba
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_figures_draw_what_is_stored():
    pytest.importorskip("matplotlib")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    found = {name: elements(figure) for name, figure in figures().items()}
    assert list(found) == list(stored)
    for name, figure in found.items():
        assert figure == stored[name], f"{name}: if this is meant, renew tests/figures.json as tests/figures.py says"
        assert figure["pixels"][1] <= 1_200
        assert figure["title"] or figure["axes"][0]["title"]
