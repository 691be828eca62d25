"""Many comparisons of systems in one call: each as it is alone, and one correction over all."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rankcorr import (
    LabelError,
    LabelMismatchError,
    OptionError,
    Ranking,
    TauW,
    TooFewItemsError,
    compare_many,
    compare_systems,
    holm,
)
from rankcorr._checks import collected_notices
from tests.strategies import scores

GOLD = {
    "nouns": dict(zip("abcdef", [6, 5, 4, 3, 2, 1], strict=True)),
    "verbs": dict(zip("uvwx", [4, 3, 2, 1], strict=True)),
}
SYSTEMS = {
    "one": dict(zip("abcdefuvwx", [9, 8, 7, 5, 6, 4, 8, 7, 3, 1], strict=True)),
    "two": dict(zip("abcdefuvwx", [1, 5, 4, 8, 7, 3, 2, 6, 5, 9], strict=True)),
    "three": dict(zip("abcdefuvwx", [5, 5, 5, 8, 8, 8, 1, 1, 6, 9], strict=True)),
}


@given(st.data())
def test_each_comparison_is_that_of_the_two_systems_alone(data):
    n_items = data.draw(st.integers(3, 8))
    labels = "abcdefgh"[:n_items]
    gold, *given_ = (dict(zip(labels, data.draw(scores(n_items)), strict=True)) for _ in range(4))
    systems = dict(zip(("one", "two", "three"), given_, strict=True))
    with collected_notices():
        table = compare_many(gold, systems, coefficients=["tau_w", "rho"], n_resamples=60)
        pairs = [((systems[row.a], systems[row.b]), row.coefficient) for row in table.rows]
        alone = [compare_systems(gold, *pair, coefficient=name, n_resamples=60) for pair, name in pairs]
    pairs = [("one", "two"), ("one", "three"), ("two", "three")]
    expected = [(name, *pair) for name in ("tau_w", "rho") for pair in pairs]
    assert [(row.coefficient, row.a, row.b) for row in table.rows] == expected
    assert [repr(row.comparison) for row in table.rows] == [repr(each) for each in alone]
    assert_array_equal([row.corrected_pvalue for row in table.rows], holm([each.pvalue for each in alone]))


def test_systems_are_restricted_to_the_items_of_each_gold_set():
    table = compare_many(GOLD, SYSTEMS, baseline="one")
    assert [(row.gold_set, row.a, row.b) for row in table.rows] == [
        (name, other, "one") for name in GOLD for other in ("two", "three")
    ]
    for row in table.rows:
        own = GOLD[row.gold_set]
        a, b = ({label: SYSTEMS[name][label] for label in own} for name in (row.a, row.b))
        assert repr(row.comparison) == repr(compare_systems(own, a, b))


@pytest.mark.parametrize("form", [pandas.Series, Ranking.from_scores], ids=["series", "ranking"])
def test_systems_in_any_form(form):
    given_ = {name: form(own) for name, own in SYSTEMS.items()}
    found, wanted = (compare_many(GOLD, systems) for systems in (given_, SYSTEMS))
    assert found.to_dict() == wanted.to_dict()


def test_a_further_gold_set_changes_no_comparison():
    lacking = {name: {k: v for k, v in own.items() if k != name[0]} for name, own in SYSTEMS.items()}
    lacking["two"]["new"] = 3
    for missing in ("intersection", "bottom", "gold"):
        both = compare_many(GOLD, lacking, missing=missing)
        for row in both.rows:
            foreign = {label for name, gold in GOLD.items() if name != row.gold_set for label in gold}
            own = {name: {k: v for k, v in scores.items() if k not in foreign} for name, scores in lacking.items()}
            alone = compare_systems(GOLD[row.gold_set], own[row.a], own[row.b], missing=missing)
            assert repr(row.comparison) == repr(alone)
    exact = {"x": 2**53 + 1, "y": 2**53, "z": 0}
    golds = {"one": {"x": 3, "y": 2, "z": 1}, "two": {"x": 1, "y": 2}}
    rows = compare_many(golds, {"a": exact, "b": {"x": 1, "y": 2, "z": 3}}).rows
    assert rows[0].comparison.statistic_a == 1


def test_a_baseline_may_have_the_empty_name():
    table = compare_many(GOLD["nouns"], {"": SYSTEMS["one"], **SYSTEMS}, missing="gold", baseline="")
    assert [row.b for row in table.rows] == [""] * 3


def test_coefficients_of_one_name_show_their_options():
    table = compare_many(GOLD["nouns"], SYSTEMS, missing="gold", coefficients=[TauW(n0=1), TauW(n0=9)], baseline="one")
    assert [row.coefficient for row in table.rows] == ["TauW(n0=1)"] * 2 + ["TauW(n0=9)"] * 2


def test_the_table():
    table = compare_many(GOLD["nouns"], SYSTEMS, missing="gold", coefficients=[TauW(n0=10)])
    frame = table.to_frame()
    assert list(frame["gold_set"]) == ["gold"] * 3
    assert_array_equal(frame["corrected_pvalue"], [row.corrected_pvalue for row in table.rows])
    assert repr(table) == f"<SystemComparisons: 3 tests, least corrected p {frame.corrected_pvalue.min():.3g}>"
    assert table.to_markdown().splitlines()[0].startswith("| gold_set | coefficient | a | b |")


def test_an_undefined_comparison_says_which_and_counts_for_none():
    with collected_notices() as notices:
        table = compare_many([1, 2, 3], {"one": [1, 2, 3], "flat": [1, 1, 1], "two": [3, 1, 2]})
    assert [notice.split(": ")[:2] for notice in notices] == [
        [f"{pair} on 'gold'", "the correlation is undefined"] for pair in ("'one' and 'flat'", "'flat' and 'two'")
    ]
    assert_array_equal(np.isnan([row.corrected_pvalue for row in table.rows]), [True, False, True])
    assert table.rows[1].corrected_pvalue == table.rows[1].comparison.pvalue


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((GOLD, {"one": SYSTEMS["one"]}), {}, OptionError, "at least two systems are needed to compare; got 'one'"),
        ((GOLD, SYSTEMS), {"baseline": "four"}, OptionError, "baseline must be one of 'one', 'two', 'three'"),
        ((GOLD, SYSTEMS), {"coefficients": "tau"}, OptionError, "coefficients must be a list of different"),
        ((GOLD, SYSTEMS), {"coefficients": ["tau", "tau"]}, OptionError, "coefficients must be a list of different"),
        ((GOLD, {"one": [1, 2], "two": [2, 1]}), {}, LabelError, "several gold sets need labels, .*'one' has none"),
        (
            (GOLD, dict.fromkeys(SYSTEMS, Ranking.from_scores([1, 2]))),
            {},
            LabelError,
            "several gold sets need labels, .*'one' has none",
        ),
        (
            (GOLD, {**SYSTEMS, "more": SYSTEMS["one"] | {"z": 1}}),
            {},
            LabelMismatchError,
            "'one' and 'more' on 'nouns': .*'z'",
        ),
        (
            (GOLD, {"one": SYSTEMS["one"], "less": {"a": 1, "f": 2}}),
            {"missing": "intersection"},
            TooFewItemsError,
            "system 'less' has fewer than two items of gold set 'verbs'",
        ),
    ],
)
def test_invalid_inputs(arguments, options, error, message):
    with pytest.raises(error, match=message):
        compare_many(*arguments, **options)
