import gzip
import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import OptionError, TableError, UndefinedCorrelationWarning
from rankcorr._checks import alpha_of
from rankcorr.measures import AnnotatorError, comparison_agreement
from rankcorr.vectors import (
    LowCoverageWarning,
    TargetGroupError,
    TargetGroups,
    UnknownWordError,
    compare_reliability,
    hubness,
    read_target_groups,
    reliability_score,
)
from rankcorr.vectors._reliability import _exchange, _interval
from tests import naive

CATEGORIES = {
    "singer": {"musician": "positive", "performer": "positive", "person": "positive", "song": "distractor"},
    "car": {"vehicle": "positive", "machine": "positive", "wheel": "distractor", "cloud": "random"},
}
SHARES = {
    ("singer", "musician", "person"): 0.9,
    ("singer", "person", "performer"): 0.25,
    ("car", "vehicle", "machine"): 1,
}
GROUPS = TargetGroups(CATEGORIES, SHARES)


def similarities(numbers):
    """A similarity in tenths for each pair of target and candidate, so that ties are common."""
    pairs = [(target, candidate) for target, group in CATEGORIES.items() for candidate in group]
    return dict(zip(pairs, numbers, strict=True))


MODELS = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=8, max_size=8).map(similarities)


@given(MODELS)
def test_score_is_the_sum_over_triplets(model):
    expected = naive.reliability(GROUPS.triplets, lambda *pair: model[pair])
    result = reliability_score(GROUPS, model)
    assert_allclose(result.score, expected, rtol=0, atol=1e-12)
    assert result.n_triplets == len(GROUPS.triplets) == 3 + 3 + 4
    for part in result.targets:
        rows = [row for row in GROUPS.triplets if row[0] == part.name]
        assert_allclose(part.score, naive.reliability(rows, lambda *pair: model[pair]), rtol=0, atol=1e-12)
    weights = sum(part.weight for part in result.kinds)
    assert_allclose(sum(part.score * part.weight for part in result.kinds) / weights, expected, rtol=0, atol=1e-12)


@given(MODELS)
def test_input_types_of_a_model_agree(model):
    swapped = {pair[::-1]: value for pair, value in model.items()}
    results = [reliability_score(GROUPS, form) for form in (model, swapped, lambda t, c: model[t, c])]
    assert results[0] == results[1] == results[2]


@given(MODELS, MODELS)
def test_difference_is_that_of_the_scores_and_changes_sign_with_them(first, second):
    forth, back = compare_reliability(GROUPS, first, second), compare_reliability(GROUPS, second, first)
    scores = [reliability_score(GROUPS, model).score for model in (first, second)]
    assert_allclose(forth.difference, scores[0] - scores[1], rtol=0, atol=1e-12)
    assert_allclose(back.difference, -forth.difference, rtol=0, atol=1e-12)
    assert forth.pvalue == back.pvalue


def test_triplets_are_those_of_the_paper():
    assert GROUPS.triplets[:3] == (
        ("singer", "musician", "person", 0.9),
        ("singer", "person", "performer", 0.25),
        ("singer", "musician", "song", 1.0),
    )
    assert GROUPS.uncompared == [("singer", "musician", "performer")]
    agreeing = similarities([0.9, 0.8, 0.3, 0.1, 0.9, 0.5, 0.2, 0.1])
    perfect = reliability_score(GROUPS, agreeing)
    assert (perfect.score, perfect.low, perfect.high) == (1, 0, 1)  # two targets do not bound it
    assert [part.n_contradicted for part in perfect.kinds] == [0, 0, 0]
    # One decision with R = .25 against the model costs .5 of 0.8 + 0.5 + 3 + 1 + 4.
    contradicting = {**agreeing, ("singer", "performer"): 0.2}
    assert reliability_score(GROUPS, contradicting).score == pytest.approx(1 - 0.5 / 9.3)


def test_undecided_comparisons_cost_nothing():
    groups = TargetGroups({"t": {"a": "positive", "b": "positive", "c": "random"}}, {("t", "a", "b"): 0.5})
    assert reliability_score(groups, {("t", "a"): 1, ("t", "b"): 2, ("t", "c"): 0}).score == 1
    undecided = TargetGroups({"t": {"a": "positive", "b": "positive"}}, {("t", "a", "b"): 0.5})
    with pytest.warns(UndefinedCorrelationWarning, match="annotators are divided on every comparison"):
        result = reliability_score(undecided, {("t", "a"): 1, ("t", "b"): 2})
    assert math.isnan(result.score)
    assert math.isnan(result.low)
    assert result.to_dict()["score"] is None


def test_invalid_counts_and_votes_are_named():
    key = ("car", "vehicle", "machine")
    with pytest.raises(TargetGroupError, match="n_answers must be whole numbers from 1; got: -3"):
        TargetGroups(CATEGORIES, {key: 0.5}, {key: -3})
    for vote in (key, ("a", ["car"], "vehicle", "machine"), ("a", "car", "vehicle", {"machine"})):
        with pytest.raises(TargetGroupError, match=r"a vote is .annotator, target, better, worse.; got"):
            TargetGroups.of_votes([vote], CATEGORIES)
    with pytest.raises(TargetGroupError, match="'a' compared 'vehicle' with itself"):
        TargetGroups.of_votes([("a", "car", "vehicle", "vehicle")], CATEGORIES)


def test_votes_become_shares():
    votes = [(annotator, "car", "vehicle", "machine") for annotator in "abc"] + [("d", "car", "machine", "vehicle")]
    groups = TargetGroups.of_votes(votes, CATEGORIES)
    assert groups.shares == {("car", "vehicle", "machine"): 0.75}
    assert groups.n_answers == {("car", "vehicle", "machine"): 4}
    with pytest.raises(TargetGroupError, match="'a' compared 'machine' and 'vehicle' for 'car' twice"):
        TargetGroups.of_votes([*votes, ("a", "car", "machine", "vehicle")], CATEGORIES)


VECTORS = {
    "singer": [1.0, 0.0], "musician": [0.9, 0.1], "performer": [0.4, 0.9], "person": [0.6, 0.5], "song": [0.2, 0.9],
    "car": [0.0, 1.0], "vehicle": [0.1, 0.9], "machine": [0.5, 0.6], "wheel": [0.7, 0.5],
}  # fmt: skip


def test_words_without_a_vector_follow_the_policy():
    omitted = reliability_score(GROUPS, VECTORS)
    assert (omitted.oov_words, omitted.n_omitted, omitted.score) == (("cloud",), 2, pytest.approx(1 - 0.5 / 7.3))
    lowest = reliability_score(GROUPS, VECTORS, oov="lowest")
    assert (lowest.n_omitted, lowest.score) == (0, pytest.approx(1 - 0.5 / 9.3))
    with pytest.raises(UnknownWordError, match="words without a similarity: 'cloud'"):
        reliability_score(GROUPS, VECTORS, oov="error")
    assert reliability_score(GROUPS, {word.upper(): v for word, v in VECTORS.items()} | VECTORS, lower=True).score
    few = {word: VECTORS[word] for word in ("singer", "musician", "song", "car", "vehicle")}
    with pytest.warns(LowCoverageWarning, match="only 1 of 10 triplets have similarities"):
        assert reliability_score(GROUPS, few).n_omitted == 9


def test_a_tie_of_lowest_candidates_counts_half():
    model = {("t", "a"): 1.0}
    groups = TargetGroups({"t": {"a": "positive", "b": "positive", "c": "random"}}, {("t", "a", "b"): 1.0})
    assert reliability_score(groups, model, oov="lowest").score == pytest.approx(2.5 / 3)


def test_exchanges_of_few_targets_are_exact():
    words = [f"t{number}" for number in range(6)]
    groups = TargetGroups({word: {"a": "positive", "b": "positive", "c": "random"} for word in words})
    result = compare_reliability(groups, lambda _, c: -ord(c), lambda _, c: ord(c))
    assert (result.difference, result.pvalue, result.n_targets) == (1.0, 2 / 2**6, 6)


@pytest.mark.parametrize(
    ("categories", "shares", "message"),
    [
        ({}, {}, "target groups are needed; got none"),
        ([CATEGORIES], {}, "categories must be a mapping"),
        (CATEGORIES, [1], "shares must be a mapping"),
        ({"t": {"t": "positive", "a": "positive"}}, {}, "target 't' is among its own candidates"),
        ({"t": {"a": "positive", "b": "random"}}, {}, "target 't' needs two positive candidates or more; it has 1"),
        ({"t": {"a": "positive", "b": "near"}}, {}, "the category of 'b' for 't' must be one of .*; got 'near'"),
        ({"t": ["a", "b"]}, {}, "candidates of 't' must map each to its category"),
        ({"t": {"a": "positive", "": "positive"}}, {}, "words must be text, not empty"),
        (CATEGORIES, {("singer", "musician", "song"): 1}, "annotators compare positive candidates of 'singer' only"),
        (CATEGORIES, {("ship", "a", "b"): 1}, "'ship' is not a target"),
        (CATEGORIES, {("car", "vehicle"): 1}, "a comparison is"),
        (CATEGORIES, {("car", "vehicle", "vehicle"): 1}, "'vehicle' is compared with itself for 'car'"),
        (CATEGORIES, {("car", "vehicle", "machine"): 1.5}, "a share must be a number from 0 to 1; .* is 1.5"),
        (CATEGORIES, {("car", "vehicle", "machine"): math.nan}, "a share must be a number from 0 to 1"),
        (CATEGORIES, {("car", "vehicle", "machine"): 1, ("car", "machine", "vehicle"): 0}, "have two shares for 'car'"),
    ],
)
def test_invalid_groups_are_named(categories, shares, message):
    with pytest.raises(TargetGroupError, match=message):
        TargetGroups(categories, shares)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ({("t", "a"): 1}, UnknownWordError, "none of the 8 pairs of target and candidate has a similarity"),
        (lambda *_: "high", TargetGroupError, "similarities must be numbers; not those of"),
        (lambda *_: math.nan, TargetGroupError, "similarities must be numbers; not those of"),
        ({("car", "wheel"): 1, ("wheel", "car"): 2}, TargetGroupError, "has two similarities, one for each order"),
    ],
)
def test_invalid_models_are_named(model, error, message):
    with pytest.raises(error, match=message):
        reliability_score(GROUPS, model)


def test_groups_must_be_target_groups():
    with pytest.raises(TargetGroupError, match="groups must be TargetGroups"):
        reliability_score(CATEGORIES, VECTORS)


def test_results_pickle_and_print_a_table():
    result = reliability_score(GROUPS, VECTORS)
    assert pickle.loads(pickle.dumps(result)) == result
    assert result.to_markdown().splitlines()[2].startswith("| positive-positive |")
    assert result.to_dict()["targets"][0]["name"] == "singer"
    assert GROUPS.to_dict()["groups"][1]["comparisons"] == [
        {"first": "vehicle", "second": "machine", "share": 1.0, "n_answers": None}
    ]


def test_agreement_of_annotators_is_the_share_of_equal_answers():
    rng = np.random.default_rng(3)
    pairs = [(target, *pair) for target, pair in product("tuvw", [("a", "b"), ("a", "c"), ("b", "c")])]
    votes = []
    for annotator, error in (("ann", 0.0), ("bob", 0.1), ("cat", 0.1), ("dan", 0.9)):
        for target, better, worse in pairs:
            votes.append((annotator, target, *((worse, better) if rng.random() < error else (better, worse))))
    agreement = comparison_agreement(votes)
    answers = {(annotator, target, frozenset(rest)): rest[0] for annotator, target, *rest in votes}
    expected = np.mean(
        [answers["ann", t, frozenset((a, b))] == answers["bob", t, frozenset((a, b))] for t, a, b in pairs]
    )
    assert agreement.pairs[0, 1] == expected
    assert agreement.outliers() == ("dan",)
    rest = agreement.without(agreement.outliers())
    assert rest == comparison_agreement([vote for vote in votes if vote[0] != "dan"])
    assert rest.mean > agreement.mean


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([("ann", "t", "a", "b")], "agreement needs at least two annotators; got 1"),
        ([("ann", "t", "a", "b"), ("bob", "t", "a", "c")], "no two of 2 annotators made the same comparison"),
        ([("ann", "t", "a")], r"a vote is .annotator, target, better, worse.; got"),
        ([("ann", ["t"], "a", "b")], r"a vote is .annotator, target, better, worse.; got"),
        ([("ann", "t", "a", "a")], "'ann' compared 'a' with itself"),
        ([("ann", "t", "a", "b"), ("ann", "t", "b", "a")], "'ann' compared 'b' and 'a' for 't' twice"),
    ],
)
def test_invalid_votes_are_named(votes, message):
    with pytest.raises(AnnotatorError, match=message):
        comparison_agreement(votes)


def test_an_annotator_who_saw_one_pair_counts_with_it():
    votes = [(name, "t", "a", "b") for name in ("ann", "bob", "cat")] + [("ann", "t", "a", "c"), ("bob", "t", "c", "a")]
    agreement = comparison_agreement(votes)
    assert agreement.with_others.tolist() == [0.75, 0.75, 1.0]
    assert agreement.n_common[0, 2] == 1
    with pytest.raises(AnnotatorError, match="unknown annotators: 'dan'"):
        agreement.without(["dan"])
    with pytest.raises(AnnotatorError, match="at least two annotators; 1 would be left"):
        agreement.without(["ann", "bob"])
    with pytest.raises(OptionError, match="n_deviations must be a positive number; got 0"):
        agreement.outliers(0)


WHOLE_VECTORS = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2).filter(any), min_size=3, max_size=8)


@given(WHOLE_VECTORS, st.integers(1, 2))
def test_occurrences_equal_a_naive_count_of_neighbours(vectors, k):
    by_word = {f"w{number}": [float(x) for x in vector] for number, vector in enumerate(vectors)}
    result = hubness(by_word, k=k)
    cosines = [[round(np.dot(a, b) / math.sqrt(np.dot(a, a) * np.dot(b, b)), 9) for b in vectors] for a in vectors]
    expected = naive.k_occurrences(cosines, k)
    assert_allclose(result.occurrences, expected, rtol=0, atol=1e-12)
    assert sum(expected) == pytest.approx(k * len(vectors))


def test_hubness_follows_its_options():
    rng = np.random.default_rng(5)
    vectors = {f"w{row}": vector for row, vector in enumerate(rng.normal(1.0, size=(60, 30)))}
    result = hubness(vectors, k=3)
    occurrences = result.occurrences
    assert result.skewness == pytest.approx(((occurrences - 3) ** 3).mean() / occurrences.std() ** 3)
    assert result.hubs(1)[0][1] == occurrences.max()
    assert result.orphan_share == (occurrences == 0).mean()
    subset = hubness(vectors, words=["w1", "w2", "w3", "none"], k=1)
    assert set(subset.words) == {"w1", "w2", "w3"}
    assert subset.occurrences.sum() == 3
    with pytest.raises(OptionError, match="k must be less than the number of words with vectors, 3; got 3"):
        hubness(vectors, words=["w1", "w2", "w3"], k=3)
    with pytest.raises(OptionError, match="k must be a positive whole number; got 0"):
        hubness(vectors, k=0)


@pytest.mark.parametrize("ending", ["csv", "tsv", "json"])
@pytest.mark.parametrize(
    "groups", [GROUPS, TargetGroups(CATEGORIES), TargetGroups(CATEGORIES, SHARES, {("car", "vehicle", "machine"): 7})]
)
def test_written_groups_are_read_unchanged(groups, ending, tmp_path):
    path = tmp_path / f"groups.{ending}"
    groups.write(path)
    assert read_target_groups(path) == groups


def test_a_table_may_have_any_order_and_fewer_columns(tmp_path):
    path = tmp_path / "groups.csv.gz"
    lines = [
        "share;second_category;second;first;first_category;target",
        ";positive;person;song;distractor;singer",  # a positive on the right wins
        "0.25;positive;person;musician;positive;singer",
        '"1";random;"ink, black";person;positive;singer',
    ]
    path.write_bytes(gzip.compress("\r\n".join(lines).encode("utf-8-sig")))
    groups = read_target_groups(path)
    assert groups.shares == {("singer", "musician", "person"): 0.25}
    assert groups.categories["singer"] == {
        "person": "positive", "song": "distractor", "musician": "positive", "ink, black": "random"
    }  # fmt: skip


HEADER = "target,first,first_category,second,second_category,share,n_answers"


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        (["target,first,second", "t,a,b"], TableError, '1: no column "first_category", "second_category", "share"'),
        ([f"{HEADER},prompt", ""], TableError, '1: unknown or repeated column "prompt"'),
        ([HEADER, "t,a,positive,b,positive"], TableError, "2: 5 cells; the header has 7"),
        ([HEADER, "t,a,good,b,positive,1,"], TableError, "2: column \"first_category\": must be one of .*; got 'good'"),
        ([HEADER, "t,a,positive,b,positive,x,"], TableError, '2: column "share": "x" is not a number'),
        ([HEADER, "t,a,positive,b,positive,2,"], TargetGroupError, "a share must be a number from 0 to 1"),
        ([HEADER, "t,a,positive,b,positive,1,3.5"], TableError, '2: column "n_answers": must be a whole number'),
        ([HEADER, "t,a,positive,b,positive,1,\u0663"], TableError, '2: column "n_answers": must be a whole number'),
        ([HEADER, "t,a,positive,b,positive,1," + 5000 * "3"], TableError, '2: column "n_answers": must be a whole num'),
        ([HEADER, "t,a,positive,b,random,0.5,"], TableError, '2: column "share": a positive candidate .* it is 1'),
        ([HEADER, "t,a,random,b,distractor,1,"], TableError, "2: one of the two candidates must be positive"),
        (
            [HEADER, "t,a,positive,b,positive,1,", "t,b,random,a,positive,,"],
            TableError,
            "3: column \"first_category\": 'b' was positive for 't' before",
        ),
        ([HEADER, *["t,a,positive,b,positive,1,"] * 2], TableError, "3: 'a' and 'b' have a share for 't' already"),
        ([HEADER, "t,a,positive,c,random,,"], TargetGroupError, "groups.csv: target 't' needs two positive"),
        (['{"groups": [{"target": "t"}]}'], TargetGroupError, "target groups lack the field 'candidates'"),
        (['{"groups": [], "groups": []}'], TableError, "field 'groups' is given twice"),
        (['{"groups": [{"target": "t", "candidates": 5}]}'], TargetGroupError, "must have a list of groups, each with"),
        (['{"groups": []}'], TargetGroupError, "target groups are needed; got none"),
    ],
)
def test_invalid_files_are_named(lines, error, message, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(error, match=message):
        read_target_groups(path)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(4, 6)), min_size=1, max_size=6), st.floats(0.5, 0.99))
def test_the_interval_of_a_difference_has_the_shifts_that_are_not_rejected(rows, level):
    differences, weights = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    pvalue, low, high = _exchange(differences, weights, level, 9_999, 0)

    def pvalue_of(shift):
        """The p-value by all sign flips."""
        sums = [abs(np.dot(signs, differences - shift * weights)) for signs in product((1, -1), repeat=len(rows))]
        return np.mean([value >= sums[0] - 1e-9 for value in sums])

    assert pvalue == pvalue_of(0)
    for shift in np.linspace(-1, 1, 41):
        if min(abs(shift - low), abs(shift - high)) > 1e-9:
            assert (pvalue_of(shift) > alpha_of(level)) == (low < shift < high)


def test_many_targets_are_exchanged_at_random():
    rng = np.random.default_rng(8)
    differences, weights = rng.normal(0.3, 1, 40), np.full(40, 5.0)
    exact = [_exchange(differences[:12], weights[:12], 0.95, n, 0) for n in (4_096, 4_095)]
    assert exact[0] == pytest.approx(exact[1], abs=0.03)
    assert exact[0] != exact[1]
    assert _exchange(differences, weights, 0.95, 999, 1) == _exchange(differences, weights, 0.95, 999, 1)


def test_a_folder_cannot_be_written_as_a_file(tmp_path):
    groups = TargetGroups({"oak": {"tree": "positive", "plant": "positive"}})
    with pytest.raises(TableError, match=r"is a folder: name a file that ends in \.csv"):
        groups.write(tmp_path)


OF_TARGET = {"a": "positive", "b": "positive", "c": "distractor"}


@pytest.mark.parametrize(
    ("n_targets", "level", "ends"),
    [(5, 0.95, (0, 1)), (6, 0.95, (1, 1)), (2, 0.5, (1, 1)), (2, 0.51, (0, 1))],  # 2^(1 - n) <= 1 - level bounds it
)
def test_equal_scores_of_few_targets_do_not_bound_the_score(n_targets, level, ends):
    groups = TargetGroups({f"t{i}": OF_TARGET for i in range(n_targets)})
    result = reliability_score(groups, lambda _, candidate: -ord(candidate), level=level)
    assert (result.score, result.low, result.high) == (1, *ends)


def test_two_targets_with_different_scores_do_not_bound_the_score():
    groups = TargetGroups({f"t{i}": OF_TARGET for i in range(2)})
    result = reliability_score(groups, lambda target, candidate: ord(candidate) if target == "t0" else -ord(candidate))
    assert (result.score, result.low, result.high) == (0.5, 0, 1)


@pytest.mark.parametrize("scores", [(1, 0.5, 0), (1, 1, 1, 1, 1, 1, 1, 0), (1, 0.5, 0.5, 0, 1, 1, 0.5, 1)])
def test_resamples_of_equal_targets_have_infinite_t_statistics(scores):
    credit, weights, n = np.array(scores), np.arange(1.0, 1 + len(scores)), len(scores)
    credit = credit * weights

    def ratio(numbers):
        score = (numbers @ credit) / (numbers @ weights)
        squares = sum(k * (c - score * w) ** 2 for k, c, w in zip(numbers, credit, weights, strict=True))
        return score, math.sqrt(squares * n / (n - 1)) / (numbers @ weights)

    (score, error), statistics = ratio(np.ones(n)), []
    for numbers in np.random.default_rng(3).multinomial(n, [1 / n] * n, size=199):
        new_score, new_error = ratio(numbers)
        is_equal = abs(new_score - score) < 1e-9
        deviation = 0.0 if is_equal else new_score - score
        statistics.append(deviation / new_error if new_error > 1e-9 else 0.0 if is_equal else deviation * math.inf)
    statistics.sort()
    expected = (
        score - statistics[math.ceil(0.975 * 199) - 1] * error,
        score - statistics[math.ceil(0.025 * 199) - 1] * error,
    )
    np.testing.assert_allclose(_interval(credit, weights, 0.95, 199, 3), expected, rtol=1e-9)


def test_three_targets_do_not_bound_the_score():
    similarity_of = {"t0": (1, 2, 3), "t1": (3, 2, 1), "t2": (3, 1, 2)}
    groups = TargetGroups(dict.fromkeys(similarity_of, OF_TARGET))
    result = reliability_score(groups, lambda target, candidate: similarity_of[target]["abc".index(candidate)])
    assert 0 < result.score < 1
    assert (result.low, result.high) == (0, 1)
