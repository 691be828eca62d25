import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError, weighted_tau
from rankcorr.evaluation import evaluate
from rankcorr.measures import average_precision
from rankcorr.vectors import UnknownWordError, evaluate_relata, relata_by_relation
from tests import naive


def case(seed=0, n_words=6, n_relata=12):
    """Vectors, and labels of relata; one word and two relata have no vector."""
    rng = np.random.default_rng(seed)
    words = [f"t{number}" for number in range(n_words)]
    relata = [f"r{number}" for number in range(n_relata)]
    gold = {
        (word, relatum): int(rng.integers(0, 2)) for word in words for relatum in rng.choice(relata, 7, False).tolist()
    }
    vectors = {word: rng.normal(size=5) for word in [*words[1:], *relata[2:]]}
    return vectors, gold


def ranked(vectors, gold, candidates="gold"):
    """Run of the words that have vectors, spelt out."""
    relata = {relatum for _, relatum in gold}
    run = {}
    for word in {word for word, _ in gold} & vectors.keys():
        own = relata - {word} if candidates == "all" else {relatum for first, relatum in gold if first == word}
        run[word] = {other: naive.cosine(vectors[word], vectors[other]) for other in own & vectors.keys()}
    return run


def by_word(gold):
    qrels = {}
    for (word, relatum), score in gold.items():
        qrels.setdefault(word, {})[relatum] = score
    return qrels


@given(st.integers(0, 1000), st.sampled_from(["gold", "all"]), st.sampled_from([None, 3]))
def test_values_are_those_of_an_evaluation_by_query(seed, candidates, depth):
    vectors, gold = case(seed)
    options = {"metrics": ["tau", "ap"], "depth": depth, "standardized": False}
    found = evaluate_relata(vectors, gold, candidates=candidates, **options)
    known = {pair: score for pair, score in gold.items() if vectors.keys() >= set(pair)}
    expected = evaluate(by_word(known), ranked(vectors, gold, candidates), **options)
    for metric in ("tau", "ap"):
        assert found.evaluation.of(metric) == pytest.approx(expected.of(metric), abs=1e-12, nan_ok=True)
    assert (found.oov_words, set(found.oov_relata)) == (("t0",), {"r0", "r1"} & {relatum for _, relatum in gold})
    assert (found.n_words, found.n_relata) == (6, len(gold))


def test_relata_without_a_vector_are_last():
    vectors = {"t": [1.0, 0.0], "a": [1.0, 0.1], "b": [0.5, 1.0]}
    gold = {("t", "b"): 2, ("t", "a"): 1, ("t", "absent"): 1, ("u", "a"): 1, ("u", "b"): 0}
    found = evaluate_relata(vectors, gold, oov="lowest", metrics=["tau_w", "ap"])
    assert found.evaluation.queries == ("t", "u")
    tau_w = weighted_tau([2, 1, 1], [2, 3, 1])  # nothing is ranked for u
    assert found.mean("tau_w") == pytest.approx(tau_w, abs=1e-12)
    assert found.mean("ap") == pytest.approx((2 / 3 + 0) / 2)  # two of three are found first; u finds nothing


def test_words_without_a_vector_are_an_error_by_name():
    vectors, gold = case()
    with pytest.raises(UnknownWordError, match="words without a vector: 't0', "):
        evaluate_relata(vectors, gold, oov="error")
    with pytest.raises(UnknownWordError, match="no word has a vector and a relatum with one, in 2 pairs"):
        evaluate_relata({"t": [1.0], "b": [1.0]}, {("t", "a"): 1, ("u", "b"): 0})


def test_lower_case_is_that_of_the_vectors():
    vectors, gold = case()
    upper = {(word.upper(), relatum.upper()): score for (word, relatum), score in gold.items()}
    assert evaluate_relata(vectors, upper, lower=True).mean("ap") == evaluate_relata(vectors, gold).mean("ap")


def test_json_and_repr():
    vectors, gold = case()
    found = evaluate_relata(vectors, gold)
    content = found.to_dict()
    assert content["options"] == {"oov": "omit", "lower": False, "candidates": "gold"}
    assert content["evaluation"]["means"][1]["mean"] == found.mean("ap")
    assert repr(found) == (
        f"<RelataEvaluation of 6 words, {len(gold)} relata: tau_w {found.mean('tau_w'):.4f}, ap {found.mean('ap'):.4f}>"
    )


def test_options_that_cannot_be_used():
    vectors, gold = case()
    with pytest.raises(OptionError, match="candidates must be one of 'gold', 'all'; got 'vocabulary'"):
        evaluate_relata(vectors, gold, candidates="vocabulary")
    with pytest.raises(OptionError, match="oov must be one of"):
        evaluate_relata(vectors, gold, oov="zero")


@given(st.integers(0, 1000), st.sampled_from(["omit", "lowest"]))
def test_pooled_average_precision_ranks_all_pairs_in_one_list(seed, oov):
    vectors, gold = case(seed)
    cosines = {
        (first, second): naive.cosine(vectors[first], vectors[second]) if vectors.keys() >= {first, second} else -2.0
        for first, second in gold
    }
    pairs = [pair for pair in gold if oov == "lowest" or cosines[pair] > -2]
    relevance = [gold[pair] for pair in pairs]
    result = evaluate_relata(vectors, gold, oov=oov, standardized=False)
    if any(relevance):
        assert result.pooled_ap == pytest.approx(average_precision(relevance, [cosines[pair] for pair in pairs]))
    else:
        assert np.isnan(result.pooled_ap)


def test_each_relation_is_evaluated_with_the_unrelated_pairs_of_its_words():
    rng = np.random.default_rng(5)
    vectors = {word: rng.normal(size=4) for word in "abcdefgh"}
    gold = {("a", "b"): 1, ("a", "c"): 1, ("a", "d"): 0, ("a", "e"): 0, ("f", "g"): 1, ("f", "h"): 0}
    relations = {("a", "b"): "hyper", ("a", "c"): "mero", ("f", "g"): "hyper"}
    by_relation = relata_by_relation(vectors, gold, relations, metrics=["ap"])
    assert list(by_relation) == ["hyper", "mero"]
    alone = evaluate_relata(vectors, {pair: gold[pair] for pair in gold if pair != ("a", "c")}, metrics=["ap"])
    assert by_relation["hyper"].mean("ap") == alone.mean("ap")
    assert by_relation["mero"].n_relata == 3
    with pytest.raises(OptionError, match="every related pair needs a relation; without one"):
        relata_by_relation(vectors, gold, {})
