import pytest

from rankcorr import OptionError, ShareError, first_rank_share, offset_for_share, top_share
from rankcorr.weight_table import weight_table


def test_rows_are_the_shares():
    table = weight_table(2, top=4, n_items=990)
    assert table.first_rank_share == first_rank_share(2, 990) == table.weights[0]
    assert table.cumulative == tuple(top_share(k, 2, 990) for k in (1, 2, 3, 4))
    differences = [later - earlier for earlier, later in zip(table.cumulative, table.cumulative[1:], strict=False)]
    assert table.weights[1:] == pytest.approx(differences, rel=1e-12, abs=0)
    assert table.rows()[1] == {"rank": 2, "weight": table.weights[1], "cumulative_share": table.cumulative[1]}


def test_n0_from_a_share():
    table = weight_table(share=0.5, k=12, n_items=990)
    assert table.n0 == offset_for_share(0.5, 12, 990)
    assert len(table.weights) == 12


@pytest.mark.parametrize(
    ("options", "length"),
    [({}, 10), ({"n_items": 4}, 4), ({"n_items": 4, "top": 3}, 3), ({"n_items": 10**6, "share": 0.5, "k": 20}, 20)],
)
def test_length(options, length):
    table = weight_table(**options)
    assert len(table.weights) == len(table.cumulative) == length
    assert table.n0 == (2.0 if "share" not in options else offset_for_share(0.5, 20, 10**6))


def test_no_more_than_the_largest_number_of_rows(monkeypatch):
    monkeypatch.setattr("rankcorr.weight_table.MAX_TOP", 15)
    assert len(weight_table(share=0.5, k=20, n_items=100).weights) == 15


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n0": 1, "share": 0.5}, OptionError, "n0 and share exclude each other"),
        ({"k": 3}, OptionError, "k belongs to share, which is missing"),
        ({"top": 5, "n_items": 4}, OptionError, "top is 5, but n_items is 4"),
        ({"top": 0}, ShareError, "top must be a whole number from 1 to 100000; got 0"),
        ({"top": 100_001}, ShareError, "top must be a whole number from 1 to 100000; got 100001"),
        ({"n_items": "5"}, ShareError, "n_items must be None or an integer .*; got '5'"),
        ({"n_items": 2.5, "top": 2}, ShareError, "n_items must be None or an integer .*; got 2.5"),
        ({"share": 0.5, "k": 0}, ShareError, "k must be a positive integer"),
    ],
)
def test_refused(options, error, message):
    with pytest.raises(error, match=message):
        weight_table(**options)
