"""How items are weighed: the options of every comparison."""

import pytest

from rankcorr import Logarithmic, Ranking, TopK, Uniform, weighted_rho
from tests.service.answers import GOLD, SYSTEM, posted, problem_of


def test_every_wrong_field_is_named_at_once():
    assert list(problem_of(posted(system=3, n0="x", extra=1))["errors"]) == ["/n0", "/gold", "/system", "/extra"]


def test_weighers_by_name():
    for name, weigher in [("logarithmic", Logarithmic()), ("uniform", Uniform()), ("top-k:2", TopK(2))]:
        answer = posted(gold=GOLD, system=SYSTEM, weigher=name, coefficients=["rho_w"])
        expected = weighted_rho(GOLD["scores"], Ranking.from_order(SYSTEM["order"]), weigher=weigher)
        assert answer.json["coefficients"]["rho_w"] == expected.statistic


@pytest.mark.parametrize("weigher", ["top-k:010", "top-k:0", "top-k:" + "9" * 19, "top-k: 1", "top-k:1\n"])
def test_a_weigher_that_is_not_of_the_documented_form(client, weigher):
    answer = client.post("/v1/correlations", json={"gold": GOLD, "system": SYSTEM, "weigher": weigher})
    assert list(answer.json["errors"]) == ["/weigher"]
