"""The packaged table as published, and the synthetic files."""

from dataclasses import FrozenInstanceError
from importlib.resources import files
from itertools import pairwise

import pytest

from rankcorr import datasets
from rankcorr.datasets import Dataset, load_battles, load_search_runs, load_word_similarity, russian_relatedness_systems
from rankcorr.evaluation import evaluate
from rankcorr.vectors import evaluate_vectors

# Table 4 of Panchenko et al. 2017, arXiv:1708.09702: rho, AvgP and AveP.
NAMES = ["HJ", "RT", "AE"]
PUBLISHED = {
    "win10-iter3": (0.700, 0.918, 0.975),
    "win10-iter5": (0.675, 0.885, 0.970),
    "win5-iter3": (0.678, 0.886, 0.966),
    "win3-iter3": (0.680, 0.887, 0.959),
    "5-rt-3": (0.763, 0.923, 0.975),
    "9-ae-9": (0.719, 0.884, 0.952),
    "9-ae-6": (0.704, 0.863, 0.965),
    "17-rt-1": (0.703, 0.815, 0.950),
}


def test_numbers_are_as_published_by_row_and_by_column():
    systems = russian_relatedness_systems()
    assert systems.rows() == {system: dict(zip(NAMES, row, strict=True)) for system, row in PUBLISHED.items()}
    for position, name in enumerate(NAMES):
        assert systems[name] == {system: row[position] for system, row in PUBLISHED.items()}


def test_the_data_have_columns_and_a_source():
    systems = russian_relatedness_systems()
    assert list(systems.columns) == NAMES
    assert systems.name == "russian_relatedness_systems"
    assert "arXiv:1708.09702, Table 4" in systems.source
    assert "HJ" in systems.description


def test_changing_a_loaded_table_does_not_change_the_next():
    systems = russian_relatedness_systems()
    with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
        systems.name = "mine"
    with pytest.raises(TypeError, match="item assignment"):
        systems.columns["HJ"] = {}
    with pytest.raises(KeyError, match="XX"):
        systems["XX"]
    systems["HJ"]["5-rt-3"] = 0.0
    assert russian_relatedness_systems()["HJ"]["5-rt-3"] == 0.763


def test_each_data_set_has_its_licence_and_files():
    sets = [getattr(datasets, name)() for name in datasets.__all__ if name.startswith("load_")]
    assert len(sets) == 6
    for data in sets:
        assert data.licence == "CC0 1.0"
        assert data.source.startswith("synthetic: ")
        assert data.name in repr(data)
    paths = [path for data in sets if not isinstance(data, Dataset) for path in data.paths.values()]
    terms = (files("rankcorr.datasets") / "synthetic/LICENCE.md").read_text(encoding="utf-8")
    assert [path.name for path in paths if not path.is_file() or path.name not in terms] == []
    assert sum(path.stat().st_size for path in paths[0].parent.iterdir()) < 300_000


@pytest.mark.needs_numba
def test_synthetic_systems_are_as_good_as_their_pages_say():
    search, words = load_search_runs(), load_word_similarity()
    means = evaluate(search["qrels"], [search["bm25"], search["dense"]], metrics=["ndcg@10"]).table()
    assert means[1]["mean"] > means[0]["mean"] + 0.05
    sizes = ("small", "medium", "large")
    values = [evaluate_vectors(words[size], words["similarity"], coefficients=["rho"]) for size in sizes]
    assert [value.n_compared < 350 for value in values] == [True, False, False]
    assert all(a.coefficients[0].statistic < b.coefficients[0].statistic for a, b in pairwise(values))


def test_the_program_answers_each_battle_from_both_sides():
    header, *rows = (line.split(",") for line in load_battles()["battles"].read_text(encoding="utf-8").splitlines())
    assert header == ["question_id", "model_a", "model_b", "winner", "judge", "tokens_a", "tokens_b"]
    program = [row for row in rows if row[4] == "program"]
    assert len(rows) == 1_800
    assert len({row[4] for row in rows}) == 13
    assert all(one[1:3] == other[2:0:-1] for one, other in zip(program[::2], program[1::2], strict=True))
