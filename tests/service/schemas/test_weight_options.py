"""How items are weighed: the options of every comparison."""

import pytest

from rankcorr import Logarithmic, Ranking, TopK, Uniform, weighted_rho
from tests.service.answers import GOLD, SYSTEM, posted, problem_of


@pytest.mark.parametrize(
    ("options", "pointer", "message"),
    [
        ({"n0": -1}, "/n0", "must be a number above -1 and of at most"),
        ({"n0": "2"}, "/n0", "must be a number above -1"),
        ({"n0": True}, "/n0", "got true"),
        ({"n0": None}, "/n0", "this field may not be null"),
        ({"weigher": "square"}, "/weigher", "a weigher is one of hyperbolic, logarithmic, top-k:K"),
        ({"weigher": 3}, "/weigher", "must be the name of a weigher; got 3"),
        ({"scheme": "last"}, "/scheme", 'must be one of "additive", "multiplicative", "first", "second"; got "last"'),
        ({"tied_weights": 1}, "/tied_weights", 'must be one of "midrank", "expected"; got 1'),
        ({"variant": "c"}, "/variant", 'must be one of "a", "b"; got "c"'),
        ({"coefficients": []}, "/coefficients", 'must be a list of some of "rho_w"'),
        ({"coefficients": "tau"}, "/coefficients", 'must be a list of some of "rho_w"'),
        ({"coefficients": ["tau", "x"]}, "/coefficients", 'must hold some of "rho_w", "tau_w", "rho", "tau"; got "x"'),
        ({"coefficients": ["tau", "tau"]}, "/coefficients", "must name each of its entries once"),
        ({"n": 2}, "/n", "unknown field"),
    ],
)
def test_options_that_are_refused(options, pointer, message):
    found = problem_of(posted(gold=GOLD, system=SYSTEM, **options))
    assert list(found["errors"]) == [pointer]
    assert message in found["errors"][pointer][0]


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
