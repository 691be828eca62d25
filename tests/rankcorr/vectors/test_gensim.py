"""Files written by gensim are read, and its evaluation of word pairs agrees."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr.vectors import VectorFileError, WordVectors, evaluate_vectors, read_pairs, read_vectors

pytestmark = pytest.mark.wide

gensim = pytest.importorskip("gensim.models")


@pytest.fixture(scope="module")
def model():
    """KeyedVectors of 200 words in 20 dimensions."""
    rng = np.random.default_rng(5)
    vectors = gensim.KeyedVectors(20)
    vectors.add_vectors([f"w{number}" for number in range(200)], rng.normal(size=(200, 20)).astype(np.float32))
    return vectors


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(6)
    words = [f"w{number}" for number in range(210)]  # ten of them without a vector
    sample = {tuple(rng.choice(words, 2, replace=False).tolist()) for _ in range(300)}
    unique = {pair for pair in sample if pair[::-1] not in sample or pair < pair[::-1]}  # gensim counts both orders
    return {pair: float(rng.integers(0, 41)) / 4 for pair in sorted(unique)}


def assert_same(word_vectors, model):
    assert word_vectors.words == tuple(model.index_to_key)
    assert_array_equal(word_vectors.vectors, model.vectors)


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.txt.gz", "v.bin.gz"])
def test_files_of_word2vec_are_read(tmp_path, model, name):
    model.save_word2vec_format(tmp_path / name, binary=".bin" in name)
    result = read_vectors(tmp_path / name)
    assert result.words == tuple(model.index_to_key)
    assert_array_equal(result.vectors.astype(np.float32), model.vectors)


def test_files_of_glove_are_read(tmp_path, model):
    model.save_word2vec_format(tmp_path / "v.txt", write_header=False)
    assert_array_equal(read_vectors(tmp_path / "v.txt").vectors.astype(np.float32), model.vectors)


def test_files_of_gensim_are_read(tmp_path, model):
    model.save(str(tmp_path / "v.kv"))
    assert_same(read_vectors(tmp_path / "v.kv"), model)
    some = read_vectors(tmp_path / "v.kv", words=["w3", "absent", "w1"])
    assert (some.words, some.n_known, some.form) == (("w3", "w1"), 200, "gensim")
    (tmp_path / "v.kv").rename(tmp_path / "v")
    with pytest.raises(VectorFileError, match="form 'gensim' loads it, and runs any code in it"):
        read_vectors(tmp_path / "v")
    assert_same(read_vectors(tmp_path / "v", form="gensim"), model)


def test_a_model_of_gensim_is_read(tmp_path):
    model = gensim.Word2Vec([["a", "b", "c"]] * 5, vector_size=4, min_count=1, workers=1, seed=1)
    model.save(str(tmp_path / "v.model"))
    assert_same(read_vectors(tmp_path / "v.model"), model.wv)


def test_other_files_with_the_suffix_of_gensim(tmp_path):
    (tmp_path / "v.kv").write_text("nothing")
    with pytest.raises(VectorFileError, match=r"v\.kv: gensim cannot load it: "):
        read_vectors(tmp_path / "v.kv")
    from gensim.corpora import Dictionary

    Dictionary([["a"]]).save(str(tmp_path / "d.model"))
    with pytest.raises(VectorFileError, match=r"d\.model: has no word vectors; it is <gensim\.corpora"):
        read_vectors(tmp_path / "d.model")


def test_keyed_vectors_are_accepted(model, pairs):
    assert_same(WordVectors.of(model), model)
    result = evaluate_vectors(model, pairs, coefficients=["rho"], n_resamples=40)
    known = ~np.isnan(result.cosines)
    expected = [model.similarity(*pair) for pair in pairs if all(word in model for word in pair)]
    assert_allclose(result.cosines[known], expected, atol=1e-6)  # gensim computes in float32


@pytest.mark.parametrize("oov", ["omit", "lowest"])
def test_spearman_is_that_of_gensim(tmp_path, model, pairs, oov):
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{first}\t{second}\t{score}\n" for (first, second), score in pairs.items()))
    # With dummy4unknown, gensim gives pairs without a vector a cosine of 0, not the lowest.
    known = pairs if oov == "omit" else {pair: score for pair, score in pairs.items() if all(w in model for w in pair)}
    result = evaluate_vectors(model, known, coefficients=["rho"], oov=oov, n_resamples=40)
    _, (spearman, _), missing = model.evaluate_word_pairs(str(file), case_insensitive=False)
    assert result.statistic("rho") == pytest.approx(spearman, abs=1e-9)
    assert read_pairs(file, header=False) == pairs
    if oov == "omit":
        assert 100 * len(result.oov_pairs) / result.n_pairs == pytest.approx(missing, abs=1e-9)


@pytest.mark.parametrize(("name", "n_rows"), [("wordsim353.tsv", 353), ("simlex999.txt", 999)])
def test_the_gold_scores_that_gensim_ships(name, n_rows):
    """In gensim's format, with comments instead of a header."""
    from gensim.test.utils import datapath

    gold = read_pairs(datapath(name), unordered=True, duplicates="mean")
    text = Path(datapath(name)).read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if "\t" in line and line[0] != "#"]
    assert len(lines) == n_rows
    assert {frozenset(pair) for pair in gold} == {frozenset(line[:2]) for line in lines}
