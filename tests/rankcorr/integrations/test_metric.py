import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import (
    DimensionError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    RhoW,
    TauW,
    TooFewItemsError,
    UndefinedCorrelationWarning,
)
from rankcorr.evaluation import correlate_groups
from rankcorr.integrations.metric import RankMetric


def rows(seed=0, size=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=size).round(1), rng.integers(0, 5, size), rng.integers(0, 9, size)


def update_in_batches(metric, columns, edges):
    """The metric after batches that end at `edges`."""
    for start, stop in zip([0, *edges], [*edges, len(columns[0])], strict=True):
        metric.update(*(column[start:stop] for column in columns))
    return metric


EDGES = st.lists(st.integers(0, 60), max_size=5).map(sorted)


@given(EDGES, st.booleans())
def test_batches_do_not_change_the_value(edges, has_queries):
    preds, target, indexes = rows()
    columns = rows()[: 2 + has_queries]
    result = update_in_batches(RankMetric("rho_w"), columns, edges).compute()
    assert result == update_in_batches(RankMetric(RhoW()), columns, []).compute()
    of_queries = correlate_groups(preds, target, indexes, coefficient="rho_w").mean
    assert result == pytest.approx(of_queries if has_queries else RhoW()(target, preds), abs=1e-12)


@given(EDGES, st.booleans(), st.randoms())
def test_metrics_of_processes_are_merged_to_the_last_bit(edges, has_queries, random):
    columns = rows(1)[: 2 + has_queries]
    parts = [RankMetric() for _ in range(3)]
    for start, stop in zip([0, *edges], [*edges, 60], strict=True):
        random.choice(parts).update(*(column[start:stop] for column in columns))
    first, *others = random.sample(parts, 3)
    assert first.merge(others).compute() == update_in_batches(RankMetric(), columns, []).compute()


def metric_of(part):
    metric = RankMetric(TauW(n0=10))
    metric.update(*part)
    return metric


@pytest.mark.wide
def test_parts_of_several_processes_are_merged():
    columns = rows(2)
    parts = [tuple(column[start : start + 20] for column in columns) for start in (0, 20, 40)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        first, *others = pool.map(metric_of, parts)
    assert first.merge(others).compute() == update_in_batches(RankMetric(TauW(n0=10)), columns, []).compute()


def test_the_state_is_kept_until_reset():
    metric = update_in_batches(RankMetric(), rows(3), [20])
    copy = RankMetric()
    copy.load_state_dict(pickle.loads(pickle.dumps(metric)).state_dict())
    assert copy.compute() == metric.compute()
    assert repr(metric) == "RankMetric(TauW(): 60 rows in 2 batches)"
    metric.reset()
    assert repr(metric) == "RankMetric(TauW(): 0 rows in 0 batches)"
    metric.update([1, 2], [1, 2])  # without the earlier queries
    assert metric.compute() == 1


def test_an_invalid_state_keeps_the_rows():
    metric = RankMetric("tau")
    metric.update([1, 2], [1, 2])
    with pytest.raises(LengthError, match="must have the same length; got 2, 1"):
        metric.load_state_dict({"preds": [1, 2], "target": [1], "indexes": None})
    assert metric.compute() == 1


def test_forward_returns_the_value_of_the_batch():
    metric = RankMetric("tau")
    assert metric([1, 2, 3], [1, 2, 3]) == 1
    assert metric([1, 2, 3], [3, 2, 1]) == -1
    assert metric.compute() == pytest.approx(0, abs=1e-15)
    assert metric.state_dict()["preds"].tolist() == [1, 2, 3, 1, 2, 3]


def test_arguments_are_copied():
    preds = np.array([1.0, 2.0, 3.0])
    metric = RankMetric("tau")
    metric.update(preds, [1, 2, 3])
    preds[:] = 0
    assert metric.compute() == 1


class Tensor:
    """The used part of a torch tensor; numpy refuses it, like bfloat16 and tensors that need a gradient."""

    def __init__(self, values, is_floating_point=True, calls=()):
        self._values, self._is_floating_point, self._calls = values, is_floating_point, calls

    def is_floating_point(self):
        return self._is_floating_point

    def numpy(self):
        assert self._calls == ("detach", "cpu", *["double"] * self._is_floating_point)
        return np.array(self._values)

    def __getattr__(self, name):
        if name not in ("detach", "cpu", "double"):
            raise AttributeError(name)
        return lambda: Tensor(self._values, self._is_floating_point, (*self._calls, name))


def test_tensors_are_copied_from_their_device():
    metric = RankMetric("tau")
    metric.update(Tensor([0.5, 0.25, 1.0]), Tensor([2, 1, 3], False), Tensor([7, 7, 7], False))
    assert metric.compute() == 1


def test_tensors_of_torch_are_accepted():
    torch = pytest.importorskip("torch", reason="torch is too large for the development extra")
    preds, target, indexes = rows(4)
    for kind in (torch.float64, torch.float32, torch.bfloat16):
        tensor = torch.tensor(preds, dtype=kind, requires_grad=True)
        metric = RankMetric()
        metric.update(tensor, torch.tensor(target), torch.tensor(indexes))
        expected = correlate_groups(tensor.detach().double().numpy(), target, indexes).mean
        assert metric.compute() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (([1, 2], [1, 2, 3]), LengthError, "preds, target and indexes must have the same length; got 2, 3"),
        (([1, 2], [1, 2], [0]), LengthError, "must have the same length; got 2, 2, 1"),
        (([[1], [2]], [1, 2]), DimensionError, "predictions must have one dimension; got 2"),
        (([1, math.nan], [1, 2]), MissingValueError, "needs a prediction; nan in row 1"),
        (([1, 2], ["a", "b"]), NonNumericError, "target must be a real number"),
        (([1, 2], [1, 2], [0.5, 1]), OptionError, r"indexes must be whole numbers in one dimension; got \[0.5, 1\]"),
        (([1, 2], [1, 2], [0, 1]), OptionError, "indexes must come with every batch, or with none"),
    ],
)
def test_an_invalid_batch_is_not_added(batch, error, message):
    metric = RankMetric()
    metric.update([1, 2, 3], [1, 3, 2])
    before = metric.compute()
    with pytest.raises(error, match=message):
        metric.update(*batch)
    assert metric.compute() == before


def test_invalid_input_is_refused():
    with pytest.raises(TooFewItemsError, match="a ranking needs at least two items; got 0"):
        RankMetric().compute()
    with pytest.raises(OptionError, match="coefficient must be"):
        RankMetric("best")
    with pytest.raises(OptionError, match=r"metrics must have the same coefficient; got TauW\(\) and RhoW\(\)"):
        RankMetric().merge([RankMetric("rho_w")])
    with pytest.raises(OptionError, match="a state has preds, target and indexes; got"):
        RankMetric().load_state_dict({"preds": []})
    metric = RankMetric()
    metric.update([1, 2], [1, 1])
    with pytest.warns(UndefinedCorrelationWarning):
        assert math.isnan(metric.compute())
