import datasets
import evaluate
import numpy as np
import pytest

from rankcorr import DimensionError, MissingValueError, NonNumericError, OptionError, TauW, TooFewItemsError, correlate
from rankcorr.evaluation import FewTasksWarning, Qrels, correlate_groups, leaderboard_of_scores
from rankcorr.integrations import huggingface
from rankcorr.integrations.huggingface import RankCorrelationMetric

pytestmark = pytest.mark.wide

GOLD = [4.0, 3.0, 2.0, 1.0, 1.0, 0.5]
SYSTEM = [9.5, 7.5, 0.5, 1.5, 8.0, 0.5]
QUERIES = ["q", "q", "q", "r", "r", "r"]


@pytest.fixture
def metric(tmp_path):
    return RankCorrelationMetric(cache_dir=str(tmp_path))


def test_data_sets_are_read_as_frames():
    qrels = datasets.Dataset.from_dict({"query-id": ["q", "q"], "corpus-id": ["a", "b"], "score": [1, 0]})
    assert Qrels.of(qrels.select([1])).documents == ("b",)
    table = datasets.Dataset.from_dict({"model": list("aabb"), "task": list("xyxy"), "score": [0.5, 0.25, 0.75, 1.0]})
    with pytest.warns(FewTasksWarning):
        assert leaderboard_of_scores(table, n_resamples=99).tasks == ("x", "y")
    with pytest.raises(DimensionError, match="got a data frame: pass one of its columns"):
        correlate(GOLD, table)


def test_values_are_those_of_the_library(metric):
    result = metric.compute(predictions=SYSTEM, references=GOLD)
    assert result == {name: value.statistic for name, value in correlate(GOLD, SYSTEM).items()}


def test_coefficients_may_have_options(metric):
    result = metric.compute(predictions=SYSTEM, references=GOLD, coefficients=["rho", TauW(n0=10), TauW()])
    assert list(result) == ["rho", "TauW(n0=10)", "tau_w"]
    assert result["TauW(n0=10)"] == TauW(n0=10)(GOLD, SYSTEM).statistic


def test_batches_and_rows_can_be_added(metric):
    expected = metric.compute(predictions=SYSTEM, references=GOLD)
    metric.add_batch(predictions=np.array(SYSTEM[:4]), references=np.array(GOLD[:4]))
    for prediction, reference in zip(SYSTEM[4:], GOLD[4:], strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute() == expected


def test_means_over_groups_are_those_of_the_library(metric):
    result = metric.compute(predictions=SYSTEM, references=GOLD, groups=QUERIES, coefficients=["tau", "rho_w"])
    for name, value in result.items():
        assert value == correlate_groups(SYSTEM, GOLD, QUERIES, coefficient=name).mean


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"predictions": [1.0, float("nan")]}, MissingValueError, "nan"),
        ({"predictions": [1.0], "references": [1.0]}, TooFewItemsError, "at least two"),
        ({"coefficients": []}, OptionError, "coefficients must be"),
        ({"coefficients": ["best"]}, OptionError, "coefficient must"),
    ],
)
def test_invalid_input_is_refused(metric, options, error, message):
    with pytest.raises(error, match=message):
        metric.compute(**{"predictions": [1.0, 2.0], "references": [1.0, 2.0], **options})


def test_whole_numbers_beyond_floats_are_refused(metric):
    with pytest.raises(NonNumericError, match="scores must be in the range of 64-bit floats"):
        metric.compute(predictions=[1.0, 2.0], references=[10**400, 1])
    with pytest.raises(NonNumericError, match="scores must be in the range of 64-bit floats"):
        metric.add(prediction=10**400, reference=1.0)


def test_the_module_is_loaded_by_its_path(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(evaluate.loading, "HF_MODULES_CACHE", str(tmp_path / "modules"), raising=False)
    metric = evaluate.load(huggingface.__file__, cache_dir=str(tmp_path), download_mode="force_redownload")
    result = metric.compute(predictions=SYSTEM, references=GOLD, coefficients=["tau_w"])
    assert result == {"tau_w": TauW()(GOLD, SYSTEM).statistic}
    assert "coefficients" in metric.inputs_description
