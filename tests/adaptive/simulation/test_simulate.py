"""Simulations: equal results under any executor, Table 2 as published, and all other approaches."""

import io
import json
import math
import os
import re
import sys
import types
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata, sem

from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive._protocol import run_protocol
from adaptive._scores import borda_scores, select_top
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import PlanError, SimilarityError
from adaptive.matching._matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.matching._matching import Matching
from adaptive.matching._rounds import run_matching
from adaptive.model._models import bradley_terry
from adaptive.simulation._approaches import (
    APPROACHES,
    PAPER_APPROACHES,
    ApproachOptions,
    simulate_ranking,
    simulated_comparisons,
)
from adaptive.simulation._similarity import embedding_similarity, exponential_similarity, read_similarities
from adaptive.simulation._simulate import SimulationResult, coefficients, simulate, simulate_curve
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking, weighted_tau
from rankcorr._coefficients import COEFFICIENTS
from tests.processes import two_workers

pytestmark = pytest.mark.wide

PLAN = plan_ballots(24, n_ballots=3, fraction=0.5, presentations=6)
SIMILARITY = exponential_similarity(24)
POPULATION = VoterPopulation(n_voters=9)


def select_by_x(scores, n_selected, rng):
    return select_top(scores.x, n_selected, rng)


def keep_latest(_previous, y, _ballot_number):
    return y


def table(result):
    return np.array([[result.statistics[a][c] for c in COEFFICIENTS] for a in result.statistics])


class BackwardsExecutor(Executor):
    """Runs the tasks from last to first when the first result is requested."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, /, *args, **options):
        executor = self

        class Lazy(Future):
            def result(self, timeout=None):
                while executor.tasks:
                    future, task = executor.tasks.pop()
                    future.set_result(task())
                return super().result(timeout)

        future = Lazy()
        self.tasks.append((future, lambda: function(*args, **options)))
        return future


@pytest.mark.parametrize("make", [BackwardsExecutor, lambda: ThreadPoolExecutor(2), lambda: ThreadPoolExecutor(5)])
@pytest.mark.parametrize("n_simulations", [7, 70])  # 70 simulations are sent in tasks of several
def test_any_executor_gives_the_same_numbers(make, n_simulations):
    alone = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=n_simulations, seed=11)
    with make() as executor:
        parallel = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=n_simulations, seed=11, executor=executor)
    assert_array_equal(table(parallel), table(alone))


def test_processes_give_the_same_numbers():
    options = {"n_simulations": 6, "seed": 11, "select": select_by_x, "average": keep_latest}
    alone = simulate(PLAN, POPULATION, SIMILARITY, **options)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        parallel = simulate(PLAN, POPULATION, SIMILARITY, executor=executor, **options)
    assert_array_equal(table(parallel), table(alone))


def test_more_simulations_begin_with_the_same():
    few = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=2, seed=5)
    more = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=4, seed=5)
    assert_array_equal(table(more)[:, :, :2], table(few))
    assert np.unique(table(more)[0, 1]).size == 4


def test_seeds_are_spawned_for_each_simulation_and_approach():
    result = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=3, seed=5)
    gold = true_ranking(SIMILARITY)
    for i, of_simulation in enumerate(np.random.SeedSequence(5).spawn(3)):
        for approach, seed in zip(PAPER_APPROACHES, of_simulation.spawn(2), strict=True):
            ranking = simulate_ranking(PLAN, POPULATION, SIMILARITY, approach, np.random.default_rng(seed))
            assert tuple(result.statistics[approach][c][i] for c in COEFFICIENTS) == coefficients(gold, ranking)


def test_a_pool_keeps_its_voters_and_a_population_does_not():
    nonconformities = []

    class Watched(VoterPool):
        def opinions(self, similarity, rng, *, relatedness=True):
            nonconformities.append(self.nonconformity)
            return super().opinions(similarity, rng, relatedness=relatedness)

    pool = Watched([0.1, 0.2], [0.0, 0.1])
    result = simulate(PLAN, pool, SIMILARITY, n_simulations=2, seed=1)
    assert len(nonconformities) == 4
    assert all(levels is pool.nonconformity for levels in nonconformities)
    assert np.unique(result.statistics["uniform"]["rho"]).size == 2


def test_one_simulation_equals_its_steps():
    rng, twin = np.random.default_rng(8), np.random.default_rng(8)
    adaptive = simulate_ranking(PLAN, POPULATION, SIMILARITY, "adaptive", rng)
    voters = POPULATION.draw(twin)
    opinions = voters.opinions(SIMILARITY, twin)
    result = run_protocol(PLAN, lambda b: voters.answer(b, opinions, twin), items=24, rng=twin, voters=9)
    assert adaptive == Ranking.from_scores(result.ybar)
    uniform = simulate_ranking(PLAN, POPULATION, SIMILARITY, "uniform", rng)
    voters = POPULATION.draw(twin)
    opinions = voters.opinions(SIMILARITY, twin)
    # 24, 12 and 6 items with 6 presentations each: 126 comparisons, 10.5 presentations of 24 items, and half to even.
    ballot = draw_ballot(24, 10, 9, twin)
    assert uniform == Ranking.from_scores(borda_scores(ballot, voters.answer(ballot, opinions, twin)))


@pytest.mark.parametrize("relatedness", [True, False])
@pytest.mark.parametrize("approach", PAPER_APPROACHES)
def test_voters_without_error_find_the_true_top(relatedness, approach):
    similarity = [0.1, -0.9, 0.5, 0.3, -0.2, 0.05]
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=20)
    perfect = VoterPool([0.0], [0.0])
    rng = np.random.default_rng(0)
    ranking = simulate_ranking(plan, perfect, similarity, approach, rng, ApproachOptions(relatedness))
    assert ranking == true_ranking(similarity, relatedness=relatedness)
    options = {"relatedness": relatedness, "approaches": (approach,)}
    result = simulate(plan, perfect, similarity, n_simulations=2, seed=0, **options)
    assert_array_equal(table(result), 1.0)


def test_n0_changes_only_the_weighted_coefficients():
    default = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=2, seed=0)
    other = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=2, seed=0, n0=20.0)
    changed = (table(default) != table(other)).any(axis=(0, 2))
    assert changed.tolist() == [True, True, False, False]


def test_steps_of_the_protocol_can_be_replaced():
    options = {"n_simulations": 4, "seed": 0}
    default = simulate(PLAN, POPULATION, SIMILARITY, **options)
    for replaced in ({"select": select_by_x}, {"average": keep_latest}):
        other = simulate(PLAN, POPULATION, SIMILARITY, **options, **replaced)
        assert (table(other)[0] != table(default)[0]).any()
        assert_array_equal(table(other)[1], table(default)[1])


def test_coefficients_by_name():
    x, y = Ranking.from_scores([4, 3, 2, 1]), Ranking.from_scores([4, 3, 1, 2])
    assert COEFFICIENTS == ("rho_w", "tau_w", "rho", "tau")
    values = coefficients(x, y)
    assert values[1] == weighted_tau(x, y).statistic
    assert_allclose(values[2:], (0.8, 2 / 3))  # Spearman: 1 - 6 * 2 / (4 * 15); Kendall: 5 of 6 pairs agree
    assert coefficients(x, y, n0=0.0)[1] == weighted_tau(x, y, n0=0).statistic


@pytest.mark.needs_numba
def test_adaptive_is_better_at_the_top():
    plan = plan_ballots(200, n_ballots=5, fraction=0.5, presentations=20)
    mean = simulate(plan, VoterPopulation(), exponential_similarity(200), n_simulations=30, seed=2).mean
    assert mean["adaptive"]["tau_w"] > mean["uniform"]["tau_w"] + 0.2
    assert mean["adaptive"]["rho_w"] > mean["uniform"]["rho_w"]


def test_results_have_mean_unbiased_sd_and_se():
    values = np.array([0.1, 0.4, 0.7])
    result = SimulationResult({"uniform": dict.fromkeys(COEFFICIENTS, values)})
    assert result.n_simulations == 3
    expected = {"mean": 0.4, "sd": 0.3, "se": sem(values)}  # sqrt((0.09 + 0 + 0.09) / 2) is 0.3
    assert {name: getattr(result, name)["uniform"]["tau"] for name in expected} == pytest.approx(expected)
    assert result.to_dict()["uniform"]["rho"] == pytest.approx(expected)
    assert result.cells() == {"uniform": 4 * ["0.4000 +- 0.3000 (0.1732)"]}
    with pytest.raises(ValueError, match="read-only"):
        simulate(PLAN, POPULATION, SIMILARITY, n_simulations=1, seed=0).statistics["uniform"]["rho"][0] = 1
    assert repr(result) == "<SimulationResult of 3 simulations: uniform tau_w 0.400 +- 0.300>"


def test_undefined_values_are_null_in_json():
    result = simulate(PLAN, POPULATION, SIMILARITY, n_simulations=1, seed=0)
    assert math.isnan(result.sd["adaptive"]["rho"])
    cells = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(cells) == ["adaptive", "uniform"]
    assert list(cells["adaptive"]) == ["rho_w", "tau_w", "rho", "tau"]
    assert cells["adaptive"]["rho"] == {"mean": result.mean["adaptive"]["rho"], "sd": None, "se": None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": SIMILARITY[:5]}, "the plan has 24 items; got 5 similarities"),
        ({"similarity": SIMILARITY * 2}, r"every similarity must lie in \[-1, 1\]"),
        ({"pool": 100}, "voters must be a VoterPool or a VoterPopulation; got 100"),
        ({"n_simulations": 0}, "n_simulations must be a positive whole number; got 0"),
        ({"seed": -1}, "seed must be a whole number of 0 or more; got -1"),
        ({"approaches": ("adaptive", "random")}, r"an approach must be one of 'adaptive', 'uniform', .*; got 'random'"),
        ({"approaches": "uniform"}, "approaches must be a tuple of different approaches; got 'uniform'"),
        ({"approaches": ("uniform", "uniform")}, "approaches must be a tuple of different approaches"),
    ],
)
def test_invalid_simulations_are_refused(options, message):
    arguments = {"pool": POPULATION, "similarity": SIMILARITY, "n_simulations": 1, "seed": 0, **options}
    with pytest.raises(SimilarityError, match=message):
        simulate(PLAN, **arguments)


def test_one_run_checks_its_input():
    rng = np.random.default_rng(0)
    with pytest.raises(SimilarityError, match="the plan has 24 items; got 5 similarities"):
        simulate_ranking(PLAN, POPULATION, SIMILARITY[:5], "uniform", rng)
    with pytest.raises(SimilarityError, match=r"an approach must be one of 'adaptive', 'uniform', .*; got 'both'"):
        simulate_ranking(PLAN, POPULATION, SIMILARITY, "both", rng)


def test_an_error_in_a_task_ends_the_others():
    class Refusing(Executor):
        def __init__(self):
            self.futures = []

        def submit(self, _function, /, *_args, **_options):
            self.futures.append(Future())
            if len(self.futures) == 1:
                self.futures[0].set_exception(RuntimeError("lost a worker"))
            return self.futures[-1]

    executor = Refusing()
    with pytest.raises(RuntimeError, match="lost a worker"):
        simulate(PLAN, POPULATION, SIMILARITY, n_simulations=5, seed=0, executor=executor)
    assert [future.cancelled() for future in executor.futures] == [False, True, True, True]


def test_progress_counts_the_simulations_and_may_stop_them():
    progress = []
    simulate(PLAN, POPULATION, SIMILARITY, n_simulations=5, seed=1, progress=progress.append)
    assert progress == [1, 1, 1, 1, 1]

    def stop(_):
        raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        simulate(PLAN, POPULATION, SIMILARITY, n_simulations=5, seed=1, progress=stop)


def test_a_progress_bar_is_shown_only_on_request(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=lambda **_: pytest.fail("a bar was drawn")))
    simulate(PLAN, POPULATION, SIMILARITY, n_simulations=1, seed=0)
    assert sys.stderr.getvalue() == ""


@pytest.fixture(scope="module")
def table_as_published(script):
    return script("table2_as_published")


def cells_of_the_paper(table_as_published, n_simulations):
    cells = table_as_published.cells(n_simulations=n_simulations, seed=1)
    cells_of_table = [cell for cell in cells if cell.similarity in {"exponential", "power_law", "embedding"}]
    assert len(cells_of_table) == 24
    return cells_of_table


@pytest.mark.needs_numba
def test_a_few_simulations_are_close_to_table_2_as_published(table_as_published):
    far = 0
    for cell in cells_of_the_paper(table_as_published, 3):
        mean, sd = cell.paper
        error = sd * math.sqrt(1 / 3 + 1 / 50)  # the deviation of three simulations alone would be too uncertain
        assert abs(cell.reproduced[0] - mean) < 3 * error
        far += abs(cell.corrected[0] - mean) > 5 * error
    assert far > 10


@pytest.mark.figures
@pytest.mark.needs_numba
def test_table_2_as_published_is_reproduced(table_as_published):
    cells = cells_of_the_paper(table_as_published, 50)
    assert [cell for cell in cells if abs(cell.distance) > 3] == []
    # The definitions in the text give very different numbers.
    assert sum(abs(cell.corrected[0] - cell.paper[0]) > 5 * cell.paper[1] / math.sqrt(50) for cell in cells) > 15


def test_figures_by_the_text_are_those_of_simulate(table_as_published):
    simulated = table(simulate(PLAN, VoterPopulation(), SIMILARITY, n_simulations=5, seed=3))
    for approach, expected in zip(PAPER_APPROACHES, simulated, strict=True):
        result = table_as_published.by_the_text(PLAN, SIMILARITY, approach, 5, 3)
        assert_array_equal(result[:, 0].T, expected)
        assert (result[:, 1] != result[:, 0]).any()  # 24 items at 6 presentations tie


def test_departures_from_the_text_are_those_of_the_published_program(table_as_published):
    assert table_as_published.published_amplitude(np.array([0.5, -0.5, 1.0])).tolist() == [0.25, -0.75, 0.0]
    x, y = np.array([0.9, 0.1]), np.array([0.5, 0.3])
    assert table_as_published.mean_without_ballot_1(x, y, 2).tolist() == y.tolist()
    assert_allclose(table_as_published.mean_without_ballot_1(x, y, 3), (x + y) / 2)
    ranking = Ranking.from_scores([0.1, 0.9, 0.5])  # best to worst: items 1, 2, 0
    misread = table_as_published.order_read_as_ranks(ranking, np.random.default_rng(0))
    assert misread.ranks.tolist() == [2, 3, 1]


@pytest.mark.needs_numba
@pytest.mark.real_data
@pytest.mark.parametrize("n_simulations", [8, pytest.param(60, marks=pytest.mark.figures)])
def test_embedding_row_from_the_table_and_from_the_file_agree(data_dir, n_simulations):
    plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    cosines = read_similarities(data_dir / "similarity_samearea.csv")
    ours = simulate(plan, VoterPopulation(), embedding_similarity(990), n_simulations=n_simulations, seed=1)
    theirs = simulate(plan, VoterPopulation(), cosines, n_simulations=n_simulations, seed=2)
    for approach in PAPER_APPROACHES:
        for name in COEFFICIENTS:
            error = math.hypot(ours.sd[approach][name], theirs.sd[approach][name]) / math.sqrt(n_simulations)
            assert abs(ours.mean[approach][name] - theirs.mean[approach][name]) < 3 * error


@pytest.mark.parametrize("presentations", [1, 3, 6, 20])
@pytest.mark.parametrize("approach", PAPER_APPROACHES)
def test_the_number_of_comparisons_is_the_number_of_answers(monkeypatch, approach, presentations):
    plan = plan_ballots(7, n_ballots=3, fraction=0.6, presentations=presentations)
    answered, answer = [], VoterPool.answer

    def count_answers(pool, ballot, *rest):
        answered.append(ballot.left.size)
        return answer(pool, ballot, *rest)

    monkeypatch.setattr(VoterPool, "answer", count_answers)
    simulate_ranking(plan, POPULATION, exponential_similarity(7), approach, np.random.default_rng(1))
    assert simulated_comparisons(plan, approach) == tuple(answered)


def test_the_number_of_comparisons_in_the_paper():
    """Section 4.2: 990 items, 20 presentations in 7 ballots against 40 in one; 19,660 by Eq. 3."""
    plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    assert sum(simulated_comparisons(plan, "adaptive")) == 19_660
    assert simulated_comparisons(plan, "uniform") == (19_800,)


pytest.importorskip("distributed", reason="distributed is not installed: it is the extra 'cluster'")


@pytest.fixture
def client():
    with two_workers() as client:
        yield client


def test_two_worker_processes_give_the_numbers_of_a_serial_run(client):
    plan = plan_ballots(24, n_ballots=3, fraction=0.5, presentations=6)
    arguments = plan, VoterPopulation(n_voters=9), exponential_similarity(24)
    alone = simulate(*arguments, n_simulations=13, seed=11)
    with client.get_executor() as executor:
        parallel = simulate(*arguments, n_simulations=13, seed=11, executor=executor)
    for approach, values_by_name in alone.statistics.items():
        for name, values in values_by_name.items():
            assert_array_equal(parallel.statistics[approach][name], values)
            assert np.unique(values).size > 1

    # Equal numbers do not prove that the workers took part, so count the tasks of each.
    processes = client.run(os.getpid)
    assert len({os.getpid(), *processes.values()}) == 3
    ran = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert sum(ran.values()) == 12  # the first simulation runs here, to compile the kernels once
    assert min(ran.values()) > 0


def draw_voters(seed):
    """A generator, and voters and opinions drawn from it first, as in every approach."""
    rng = np.random.default_rng(seed)
    voters = POPULATION.draw(rng)
    opinions = voters.opinions(SIMILARITY, rng)
    return rng, lambda ballot: voters.answer(ballot, opinions, rng), opinions


def test_matched_is_a_run_of_matching():
    matching = Matching(batch=10, n0=5.0)
    settings = ApproachOptions(matching=matching)
    result = simulate_ranking(PLAN, POPULATION, SIMILARITY, "matched", np.random.default_rng(8), settings)
    rng, answer, _ = draw_voters(8)
    strengths = run_matching(24, answer, 126, rng=rng.spawn(1)[0], voters=9, matching=matching)
    assert result == Ranking.from_scores(strengths.theta)


def test_matched_ballots_use_their_own_plan():
    match = MatchedBallots(noise=1.0, n_ballots=3)
    settings = ApproachOptions(matched_ballots=match)
    result = simulate_ranking(PLAN, POPULATION, SIMILARITY, "matched_ballots", np.random.default_rng(8), settings)
    rng, answer, _ = draw_voters(8)
    strengths = run_matched_ballots(match.plan(24, 126), answer, items=24, rng=rng, voters=9, match=match)
    assert result == Ranking.from_scores(strengths.theta)


def test_fitted_approaches_use_the_votes_of_the_others():
    result = simulate_ranking(PLAN, POPULATION, SIMILARITY, "adaptive_fitted", np.random.default_rng(8))
    rng, answer, _ = draw_voters(8)
    answered = []

    def vote(ballot):
        answered.append((ballot, answer(ballot)))
        return answered[-1][1]

    run_protocol(PLAN, vote, items=24, rng=rng, voters=9)
    votes = Comparisons.from_ballots(answered, n_items=24)
    assert result == Ranking.from_scores(bradley_terry(votes, voters=True).theta)

    result = simulate_ranking(PLAN, POPULATION, SIMILARITY, "uniform_fitted", np.random.default_rng(8))
    rng, answer, _ = draw_voters(8)
    ballot = draw_ballot(24, 10, 9, rng)
    votes = Comparisons.from_ballots([(ballot, answer(ballot))], n_items=24)
    assert result == Ranking.from_scores(bradley_terry(votes, voters=True).theta)


def test_full_rankings_are_the_mean_ranks_of_all_opinions():
    result = simulate_ranking(PLAN, POPULATION, SIMILARITY, "full_rankings", np.random.default_rng(8))
    _, _, opinions = draw_voters(8)
    assert result == Ranking.from_ranks(np.mean([rankdata(-of_voter) for of_voter in opinions], axis=0))


@pytest.mark.parametrize("approach", APPROACHES)
def test_voters_without_error_find_the_best_item(approach):
    similarity = [0.1, -0.9, 0.5, 0.3, -0.2, 0.05]
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=20)
    ranking = simulate_ranking(plan, VoterPool([0.0], [0.0]), similarity, approach, np.random.default_rng(0))
    assert ranking.ranks[1] == 1


def test_random_numbers_do_not_depend_on_the_other_approaches():
    options = {"n_simulations": 2, "seed": 5}
    simulation_of_all = simulate(PLAN, POPULATION, SIMILARITY, approaches=APPROACHES, **options)
    assert list(simulation_of_all.statistics) == list(APPROACHES)
    for number, approach in enumerate(APPROACHES):
        alone = simulate(PLAN, POPULATION, SIMILARITY, approaches=(approach,), **options)
        assert_array_equal(table(alone)[0], table(simulation_of_all)[number])
    # The paper's two approaches are the default, and their numbers do not change.
    assert_array_equal(table(simulate(PLAN, POPULATION, SIMILARITY, **options)), table(simulation_of_all)[:2])


@pytest.mark.needs_numba
def test_matching_is_better_at_the_top():
    plan = plan_ballots(100, n_ballots=5, fraction=0.5, presentations=10)
    approaches = ("adaptive", "matched", "matched_ballots")
    options = {"n_simulations": 4, "seed": 2, "approaches": approaches}
    mean = simulate(plan, VoterPopulation(), exponential_similarity(100), **options).mean
    for approach in approaches[1:]:
        assert mean[approach]["tau_w"] > mean["adaptive"]["tau_w"] + 0.1
        assert mean[approach]["rho_w"] > mean["adaptive"]["rho_w"]


def test_approaches_have_equal_numbers_of_comparisons():
    counts = {approach: sum(simulated_comparisons(PLAN, approach)) for approach in APPROACHES}
    plan = MatchedBallots().plan(24, 126)
    assert counts == {
        "adaptive": 126,
        "uniform": 120,  # 10.5 presentations of 24 items, and half to even
        "matched": 126,
        "matched_ballots": plan.n_comparisons,
        "adaptive_fitted": 126,
        "uniform_fitted": 120,
        "full_rankings": 0,
    }
    assert plan.n_comparisons <= 126
    few = MatchedBallots(n_ballots=2)
    assert simulated_comparisons(PLAN, "matched_ballots", matched_ballots=few) == few.plan(24, 126).comparisons
    with pytest.raises(SimilarityError, match=r"an approach must be one of 'adaptive', .*; got 'both'"):
        simulated_comparisons(PLAN, "both")


CURVE = {"n_ballots": 3, "n_simulations": 2, "seed": 4}


def test_a_point_of_the_curve_is_a_simulation_of_its_plan():
    half = plan_ballots(24, n_ballots=3, fraction=0.5, presentations=3)  # 63 comparisons
    curve = simulate_curve([126, 63], POPULATION, SIMILARITY, approaches=APPROACHES, **CURVE)
    assert list(curve.results) == [126, 63]
    for plan in (PLAN, half):
        alone = simulate(plan, POPULATION, SIMILARITY, approaches=APPROACHES, n_simulations=2, seed=4)
        assert_array_equal(table(curve.results[plan.n_comparisons]), table(alone))


def test_matching_runs_once_for_all_budgets():
    calls = []

    class Watched(VoterPool):
        def answer(self, ballot, opinions, rng):
            calls.append(ballot.n_comparisons)
            return super().answer(ballot, opinions, rng)

    pool = Watched([0.1, 0.2], [0.0, 0.1])
    options = {**CURVE, "n_simulations": 1, "approaches": ("matched",)}
    simulate_curve([60, 90, 120], pool, SIMILARITY, **options)
    assert sum(calls) == 120


def test_budgets_beyond_all_pairs_change_nothing():
    pool = VoterPool([0.1], [0.0])
    similarity = SIMILARITY[:6]
    curve = simulate_curve([15, 40], pool, similarity, **CURVE, fraction=0.6, approaches=("matched",))
    assert_array_equal(table(curve.results[15]), table(curve.results[40]))  # one voter, 15 pairs


def test_a_curve_as_table_and_json():
    curve = simulate_curve([63, 126], POPULATION, SIMILARITY, **CURVE)
    cells = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    assert cells == {str(budget): result.to_dict() for budget, result in curve.results.items()}
    frame = curve.to_frame()
    assert list(frame.columns) == ["budget", "approach", "coefficient", "mean", "sd", "se"]
    assert len(frame) == 2 * 2 * 4
    assert frame["budget"].tolist() == [63] * 8 + [126] * 8
    assert frame["mean"].iloc[-1] == curve.results[126].mean["uniform"]["tau"]
    assert repr(curve) == "<AccuracyCurve of 2 simulations: 63, 126 comparisons>"
    budgets, means, errors = curve.lines("rho")["uniform"]
    assert budgets == [63, 126]
    assert means == [result.mean["uniform"]["rho"] for result in curve.results.values()]
    assert errors == [result.se["uniform"]["rho"] for result in curve.results.values()]
    assert re.findall("<th>(.*?)</th>", curve.results[63]._repr_html_()) == ["approach", "rho_w", "tau_w", "rho", "tau"]


@pytest.mark.parametrize(
    ("budgets", "error", "message"),
    [
        ([], SimilarityError, r"budgets must be different positive whole numbers; got \[\]"),
        ([60, 60], SimilarityError, "budgets must be different positive whole numbers; got"),
        ([60, 0], SimilarityError, "budgets must be different positive whole numbers; got"),
        ([3], PlanError, "a budget of 3 comparisons is too small"),
    ],
)
def test_invalid_budgets_are_refused(budgets, error, message):
    with pytest.raises(error, match=message):
        simulate_curve(budgets, POPULATION, SIMILARITY, **CURVE)


def test_a_curve_checks_its_voters():
    with pytest.raises(SimilarityError, match="voters must be a VoterPool or a VoterPopulation; got 100"):
        simulate_curve([60], 100, SIMILARITY, **CURVE)


@pytest.fixture(scope="module")
def accuracy(script):
    module = script("accuracy")
    module.N_ITEMS, module.N_BALLOTS = 24, 3
    return module


@pytest.fixture(scope="module")
def bench(accuracy):
    return accuracy.Bench(2, 7, ["exponential"], None)


def rows(printed):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "| " in line][2:]


def test_states_of_matching_and_their_json(accuracy, bench, capsys):
    curves = accuracy.bench_matched(bench, (63, 126))
    options = {
        "n_simulations": 2,
        "seed": accuracy.row_seeds(7)["exponential"],
        "n_ballots": 3,
        "approaches": ("matched",),
    }
    expected = simulate_curve([63, 126], VoterPopulation(), exponential_similarity(24), **options)
    assert curves["exponential"].to_dict() == expected.to_dict()
    result = rows(capsys.readouterr().out)
    assert [row[0] for row in result] == ["63", "126"]
    mean, se = (getattr(expected.results[126], name)["matched"]["tau_w"] for name in ("mean", "se"))
    assert result[1][1] == f"{mean:.4f} ({se:.4f})"
    tree = accuracy.merge_curves([curves])
    assert tree["matched"]["exponential"]["126"]["tau_w"] == {"mean": mean, "se": se}


def test_the_other_approaches_have_a_row_each(accuracy, bench, capsys):
    accuracy.bench_all(bench, 126)
    result = [row[0] for row in rows(capsys.readouterr().out)]
    assert result == ["adaptive", "uniform", "matched_ballots", "adaptive_fitted", "uniform_fitted", "full_rankings"]


def test_there_are_four_kinds_of_unknown_voters(accuracy, bench, capsys):
    accuracy.bench_unknown_voters(bench, (126,))
    result = rows(capsys.readouterr().out)
    assert len(result) == 4 * 3
    assert {row[2] for row in result} == {"adaptive", "matched", "matched_ballots"}
    assert all(row[-1] == "-" for row in result if row[2] == "adaptive")


def test_the_indifference_determines_the_share_of_ties(accuracy):
    threshold = accuracy.indifference(exponential_similarity(300))
    rng = np.random.default_rng(5)
    opinions = VoterPopulation().draw(rng).opinions(exponential_similarity(300), rng)
    ties = np.abs(opinions - rng.permuted(opinions, axis=1)) <= threshold
    assert abs(ties.mean() - accuracy.TIE_SHARE) < 0.02


def test_the_curve_is_drawn(accuracy, bench, tmp_path):
    curves = accuracy.draw_curve(bench, (63, 126), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(curves["exponential"].results) == [63, 126]
