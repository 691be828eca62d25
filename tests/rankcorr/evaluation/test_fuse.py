import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import MissingValueError, NonNumericError, OptionError
from rankcorr.evaluation import ColumnError, QueryMismatchError, Run, SplitQueryError, fuse, read_run
from rankcorr.evaluation._fuse import trec_lines
from tests import naive

METHODS = [("rrf", "min-max"), ("combsum", "min-max"), ("combsum", "z"), ("combmnz", "min-max"), ("combmnz", "z")]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["q1", "q2", "q3"]),
            st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 4).map(float), min_size=1),
            min_size=1,
        ),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from(METHODS),
    st.sampled_from([0.0, 1.0, 60.0]),
)
def test_fused_scores_follow_their_definition(runs, choice, k):
    method, norm = choice
    named = {f"run{number}": run for number, run in enumerate(runs)}
    fused = fuse(named, method=method, norm=norm, k=k, missing="skip")
    assert set(fused.queries) == {query for run in runs for query in run}
    for query in fused.queries:
        expected = naive.fused_scores(runs, query, method, norm, k)
        assert fused[query] == pytest.approx(expected, abs=1e-12)
        assert list(fused[query].values()) == sorted(fused[query].values(), reverse=True)
    again = fuse(dict(reversed(named.items())), method=method, norm=norm, k=k, missing="skip")
    assert again.to_dict() == fused.to_dict()


def test_fusing_files_and_ids_of_two_types(tmp_path):
    file = tmp_path / "bm25.run"
    file.write_text("1 Q0 7 1 9.5 bm25\n1 Q0 8 2 3.1 bm25\n")
    fused = fuse({"bm25": str(file), "dense": {1: {8: 0.9, 9: 0.5}}}, name="both")
    assert fused["1"] == pytest.approx({"8": 1 / 61 + 1 / 62, "7": 1 / 61, "9": 1 / 62})
    assert fused.name == "both"
    (tmp_path / "fused.run").write_text("\n".join(trec_lines(fused)))
    assert read_run(tmp_path / "fused.run") == fused


ONE = {"q": {"a": 2.0, "b": 1.0}}


@pytest.mark.parametrize(
    ("runs", "options", "error", "message"),
    [
        ({"a": ONE}, {}, OptionError, "at least two runs are needed to fuse; got 'a'"),
        (ONE, {}, OptionError, "at least two runs are needed to fuse; got 'run'"),
        ([ONE, ONE], {}, SplitQueryError, "more than one: 'q'. A list of dicts is one run in parts; pass several runs"),
        ({"a": ONE, "b": {"r": {"a": 1}}}, {}, QueryMismatchError, "'a' lacks queries of other runs: 'r'; missing="),
        ({"a": ONE, "b": ONE}, {"k": math.nan}, OptionError, "k must be a finite number"),
        ({"a": ONE, "b": {"q": {"a": math.nan}}}, {}, MissingValueError, "nan"),
        (
            {"a": ONE, "b": {"q": {"a": -math.inf, "b": 1}}},
            {"method": "combsum"},
            NonNumericError,
            "run 'b': scores must be finite to be normalised; got 1 infinite one; method=\"rrf\" takes them",
        ),
    ],
)
def test_runs_that_cannot_be_fused(runs, options, error, message):
    with pytest.raises(error, match=message):
        fuse(runs, **options)


@pytest.mark.parametrize("k", [1e15, 1e200, 1e290, 1e300])
def test_a_large_offset_makes_scores_equal(k):
    runs = {"x": {"q": {"a": 2.0, "b": 1.0, "c": 0.5}}, "y": {"q": {"b": 2.0, "a": 1.0}}}
    fused = fuse(runs, k=k)["q"]
    assert fused["a"] == fused["b"] > fused["c"] > 0
    assert fused["a"] == pytest.approx(2 / k, rel=1e-9)


@pytest.mark.parametrize("unit", [2.0**1020, 2.0**600, 2.0**-600, 2.0**-1000])
@pytest.mark.parametrize("norm", ["min-max", "z"])
def test_normalised_scores_do_not_depend_on_the_unit(unit, norm):
    scores = {"x": {"q": {"a": 4.0, "b": -3.0, "c": 0.5}}, "y": {"q": {"b": 2.0, "a": 1.0}}}
    scaled = {name: {"q": {d: score * unit for d, score in run["q"].items()}} for name, run in scores.items()}
    for method in ("combsum", "combmnz"):
        expected = fuse(scores, method=method, norm=norm)["q"]
        assert dict(fuse(scaled, method=method, norm=norm)["q"]) == pytest.approx(dict(expected))


def test_infinite_scores_have_ranks():
    assert fuse({"a": {"q": {"a": -math.inf, "b": 1}}, "b": {"q": {"a": math.inf}}})["q"] == pytest.approx(
        {"a": 1 / 62 + 1 / 61, "b": 1 / 61}
    )


@pytest.mark.parametrize("label", ["two words", "tab\there", ""])
def test_ids_that_trec_files_cannot_hold_are_refused(label):
    run = Run.from_dict({"q": {label: 1.0, "b": 0.5}}) if label else Run.from_dict({"q r": {"a": 1.0}})
    with pytest.raises(ColumnError, match="ids with white space cannot be written in TREC's form"):
        list(trec_lines(run))


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("options", "peer"),
    [
        ({"method": "rrf"}, {"norm": None, "method": "rrf", "params": {"k": 60}}),
        ({"method": "combsum"}, {"norm": "min-max", "method": "sum"}),
        ({"method": "combmnz"}, {"norm": "min-max", "method": "mnz"}),
        ({"method": "combsum", "norm": "z"}, {"norm": "zmuv", "method": "sum"}),
        ({"method": "combmnz", "norm": "z"}, {"norm": "zmuv", "method": "mnz"}),
    ],
)
def test_50_sets_of_runs_are_fused_as_by_ranx(options, peer):
    ranx = pytest.importorskip("ranx")
    rng = np.random.default_rng(11)
    for _ in range(50):
        queries = [f"q{n}" for n in range(int(rng.integers(1, 5)))]
        runs = {}
        for name in "abc"[: int(rng.integers(2, 4))]:
            runs[name] = {}
            for query in queries:
                documents = rng.choice(12, int(rng.integers(2, 10)), replace=False)
                runs[name][query] = {
                    f"d{d}": float(score) for d, score in zip(documents, rng.normal(size=12), strict=False)
                }
        expected = ranx.fuse([ranx.Run(run, name=name) for name, run in runs.items()], **peer).to_dict()
        fused = fuse(runs, **options)
        for query in queries:
            assert dict(fused[query]) == pytest.approx(dict(expected[query]), abs=1e-12)
