import importlib
import sys

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, Qrel, ScoredDoc, nDCG

import rankcorr.integrations.ir_measures as ours
from rankcorr import Hyperbolic, OptionError, Rho, RhoW, Tau, TauW, UndefinedCorrelationWarning, WeightError
from rankcorr.evaluation import MissingMeasuresError, evaluate
from tests.rankcorr.evaluation.comparison.test_compare import case

needs_parser = pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir_measures 0.4.3 reads no names on Python 3.14")


@pytest.fixture(scope="module")
def files():
    """Qrels and a run; one query is all tied, one is not in the run, some documents are unjudged or not retrieved."""
    qrels, runs = case(12)
    run = {query: dict(scores) for query, scores in runs["a"].items()}
    first, second, third = list(qrels)[:3]
    qrels[first] = dict.fromkeys(qrels[first], 1)
    del run[second]
    dropped = next(iter(run[third]))
    run[third] = {document: score for document, score in run[third].items() if document != dropped} | {"new": 0.5}
    return qrels, run


NAMES = [
    ("tau_w", TauW(), {}),
    ("tau_w(n0=10)", TauW(n0=10), {}),
    ("tau_w(n0=0.5,scheme='first',variant='a',tied_weights='expected')@5", None, {"depth": 5}),
    ("tau_w(weigher='hyperbolic')", TauW(weigher=Hyperbolic()), {}),
    ("tau_w(standardized=True)", TauW(), {"standardized": True}),
    ("rho_w(unjudged='omit',unretrieved='omit')@8", RhoW(), {"unjudged": "omit", "unretrieved": "omit", "depth": 8}),
    ("rho", Rho(), {}),
    ("tau(variant='a')@4", Tau(variant="a"), {"depth": 4}),
]


@needs_parser
@pytest.mark.parametrize(("name", "coefficient", "options"), NAMES)
def test_values_are_those_of_an_evaluation_by_query(files, name, coefficient, options):
    coefficient = coefficient or TauW(n0=0.5, scheme="first", variant="a", tied_weights="expected")
    measure = ir_measures.parse_measure(name)
    expected = evaluate(*files, metrics=coefficient, **{"standardized": False, **options})
    values = expected.of(standardized=expected.standardized is not None)
    result = {value.query_id: value.value for value in ir_measures.iter_calc([measure], *files)}
    assert np.isnan(list(result.values())).any()
    assert [result[query] for query in expected.queries] == pytest.approx(values.tolist(), abs=0, nan_ok=True)
    mean = expected.mean(standardized=expected.standardized is not None)
    assert ir_measures.calc_aggregate([measure], *files) == {measure: pytest.approx(mean, abs=1e-15)}
    assert measure.calc_aggregate(*files) == pytest.approx(mean, abs=1e-15)


def test_several_measures_with_those_of_ir_measures(files):
    measures = [ours.tau_w, ours.tau_w(n0=2), ours.tau_w(n0=2.5) @ 3, ours.rho, AP, nDCG @ 5]
    result = ir_measures.calc_aggregate(measures, *files)
    assert result[ours.tau_w] == evaluate(*files).mean()
    assert result[ours.tau_w(n0=2.5) @ 3] == evaluate(*files, metrics=TauW(n0=2.5), depth=3).mean()
    assert result[ours.rho] == evaluate(*files, metrics="rho").mean()
    assert result[nDCG @ 5] == pytest.approx(evaluate(*files, metrics="ndcg@5").mean())
    # The default value is not part of the name, so ir_measures sees one measure.
    assert (str(ours.tau_w(n0=2)), str(ours.tau_w(n0=10) @ 20)) == ("tau_w", "tau_w(n0=10)@20")


def test_each_form_of_input_is_accepted(files):
    qrels, run = files
    rows = [Qrel(query, document, value) for query, grades in qrels.items() for document, value in grades.items()]
    scored = [ScoredDoc(query, document, score) for query, scores in run.items() for document, score in scores.items()]
    expected = evaluate(qrels, run).mean()
    for gold, scores in ((iter(rows), iter(scored)), (rows, run), (qrels, scored)):
        assert ir_measures.calc_aggregate([ours.tau_w], gold, scores)[ours.tau_w] == expected
    evaluator = ir_measures.evaluator([ours.tau_w, AP], rows)
    assert [evaluator.calc_aggregate(run)[ours.tau_w] for _ in range(2)] == [expected] * 2


def test_no_query_with_a_value():
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    with pytest.warns(UndefinedCorrelationWarning, match="a mean is undefined"):
        assert np.isnan(ir_measures.calc_aggregate([ours.tau], qrels, run)[ours.tau])


@pytest.mark.parametrize("run", [{}, [], {"q0": {}}])
def test_an_empty_run_has_the_default_value_of_each_query(files, run):
    qrels, _ = files
    result = list(ir_measures.iter_calc([ours.tau_w, AP], qrels, run))
    for measure in (ours.tau_w, AP):
        values = {value.query_id: value.value for value in result if value.measure == measure}
        assert values == pytest.approx(dict.fromkeys(qrels, measure.DEFAULT), nan_ok=True)
    assert np.isnan(ours.tau_w.calc_aggregate(qrels, run))


def test_without_ir_measures_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "rankcorr.integrations.ir_measures")
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingMeasuresError, match=r"pip install ir_measures"):
        importlib.import_module("rankcorr.integrations.ir_measures")


@needs_parser
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("tau_w(n0=-2)", ValueError, "values must be str, float, int, bool"),  # names have no negative numbers
        ("tau_w(m=3)", OptionError, "tau_w has no option 'm'; it has cutoff, unjudged, "),
        ("tau_w(scheme='frist')", OptionError, "scheme cannot be 'frist': tau_w takes one of 'additive'"),
        ("rho(n0=3)", OptionError, "rho has no option 'n0'"),
        ("tau_w(n0='two')", OptionError, "n0 cannot be 'two': tau_w takes int or float"),
        ("tau_w(weigher='best')", WeightError, "best"),
        ("tau_w@0", OptionError, "depth must be a positive whole number"),
    ],
)
def test_invalid_options_are_refused(files, name, error, message):
    with pytest.raises(error, match=message):
        ir_measures.calc_aggregate([ir_measures.parse_measure(name)], *files)


def test_offsets_may_be_negative(files):
    result = ours.tau_w(n0=-0.5).calc_aggregate(*files)
    assert result == evaluate(*files, metrics=TauW(n0=-0.5)).mean()
    with pytest.raises(WeightError, match="n0"):
        ours.tau_w(n0=-2)


def test_a_second_import_changes_nothing():
    before = list(ir_measures.DefaultPipeline.providers)
    assert importlib.reload(ours).tau_w is ir_measures.measures.registry["tau_w"]
    assert ir_measures.DefaultPipeline.providers == before
