"""`RankMetric` in torchmetrics, which is too large for the development dependencies."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from rankcorr import MissingValueError, OptionError, TooFewItemsError
from rankcorr.integrations import metric as plain

torch = pytest.importorskip("torch", reason="torch is too large for the development extra")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics needs torch")
RankMetric = pytest.importorskip("rankcorr.integrations.torchmetrics").RankMetric

NAMES = ("tau_w", "rho_w", "tau", "rho")


def batches(n_batches=3, with_queries=True):
    rng = np.random.default_rng(0)
    for _ in range(n_batches):
        result = rng.normal(size=7).round(1), rng.integers(0, 4, 7), rng.integers(0, 3, 7)
        yield [torch.tensor(column) for column in result[: 2 + with_queries]]


def plain_value(name, rows):
    metric = plain.RankMetric(name)
    for batch in rows:
        metric.update(*batch)
    return pytest.approx(metric.compute(), rel=1e-6)  # single precision


@pytest.mark.parametrize("with_queries", [True, False])
def test_a_collection_computes_all_coefficients(with_queries):
    rows = list(batches(with_queries=with_queries))
    metrics = torchmetrics.MetricCollection({name: RankMetric(name) for name in NAMES})
    assert "tau_w" in metrics
    for batch in rows:
        result = metrics(*batch)  # of this batch
        assert {name: float(value) for name, value in result.items()} == {
            name: plain_value(name, [batch]) for name in NAMES
        }
    expected_values = {name: plain_value(name, rows) for name in NAMES}
    assert {name: float(value) for name, value in metrics.compute().items()} == expected_values
    copy = pickle.loads(pickle.dumps(metrics.clone(prefix="val_")))
    assert float(copy.compute()["val_tau"]) == expected_values["tau"]
    metrics.to("cpu").reset()
    metrics.update(*rows[0])
    assert float(metrics.compute()["rho"]) == plain_value("rho", rows[:1])


def test_processes_gather_their_rows():
    """Like torchmetrics, this concatenates each state of all processes."""
    rows = list(batches(2))

    def gather(state, group):  # noqa: ARG001
        return [state, state + 1]

    result = RankMetric("tau_w", dist_sync_fn=gather, distributed_available_fn=lambda: True)
    result.update(*rows[0])
    gathered_rows = [rows[0], [column + 1 for column in rows[0]]]
    assert float(result.compute()) == plain_value("tau_w", gathered_rows)


def test_states_are_saved():
    first, second = RankMetric("rho"), RankMetric("rho")
    for metric in (first, second):
        metric.persistent(True)
    rows = list(batches())
    for batch in rows:
        first.update(*batch)
    second.load_state_dict(first.state_dict())
    second._update_count = 1
    assert float(second.compute()) == plain_value("rho", rows)


def test_an_invalid_batch_is_not_added():
    result = RankMetric()
    result.update([1.0, 2.0, 3.0], [1, 3, 2])
    before = float(result.compute())
    with pytest.raises(MissingValueError, match="nan in row 0"):
        result.update(torch.tensor([float("nan"), 1.0]), torch.tensor([1, 2]))
    with pytest.raises(OptionError, match="indexes must come with every batch, or with none"):
        result.update([1.0, 2.0], [1, 2], [0, 0])
    result._computed = None
    assert float(result.compute()) == before
    with pytest.raises(OptionError, match="coefficient must be"):
        RankMetric("best")
    with pytest.warns(UserWarning, match="before the ``update`` method"), pytest.raises(TooFewItemsError):
        RankMetric().compute()


def test_numbers_that_are_no_tensors_are_read_as_elsewhere():
    metric = RankMetric("tau")
    metric.update([Decimal(1), 2, Fraction(7, 2)], [1, 2, 3])
    assert float(metric.compute()) == 1
