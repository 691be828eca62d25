"""Approaches beside the paper's two: what each is made of, their budgets, and accuracy against votes."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import rankdata

from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive._protocol import run_protocol
from adaptive.errors import PlanError, SimilarityError
from adaptive.model._comparisons import Comparisons
from adaptive.model._estimators import bradley_terry
from adaptive.model._matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.model._matching import Matching, run_matching
from adaptive.simulation._approaches import APPROACHES, ApproachOptions, simulate_ranking, simulated_comparisons
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate, simulate_curve
from adaptive.simulation._voters import VoterPool, VoterPopulation
from rankcorr import Ranking
from rankcorr._coefficients import COEFFICIENTS

pytestmark = pytest.mark.wide
PLAN = plan_ballots(24, n_ballots=3, fraction=0.5, presentations=6)  # 126 comparisons
SIMILARITY = exponential_similarity(24)
POPULATION = VoterPopulation(n_voters=9)


def voting(seed):
    """A generator, and voters and opinions that are drawn with it first, as every approach does."""
    rng = np.random.default_rng(seed)
    voters = POPULATION.draw(rng)
    opinions = voters.opinions(SIMILARITY, rng)
    return rng, lambda asked: voters.answer(asked, opinions, rng), opinions


def table(result):
    return np.array([[result.statistics[a][c] for c in COEFFICIENTS] for a in result.statistics])


def test_matched_is_a_run_of_matching():
    matching = Matching(batch=10, n0=5.0)
    settings = ApproachOptions(matching=matching)
    found = simulate_ranking(PLAN, POPULATION, SIMILARITY, "matched", np.random.default_rng(8), settings)
    rng, answer, _ = voting(8)
    strengths = run_matching(24, answer, 126, rng=rng.spawn(1)[0], voters=9, matching=matching)
    assert found == Ranking.from_scores(strengths.theta)


def test_matched_ballots_have_a_plan_of_their_own():
    match = MatchedBallots(noise=1.0, n_ballots=3)
    settings = ApproachOptions(matched_ballots=match)
    found = simulate_ranking(PLAN, POPULATION, SIMILARITY, "matched_ballots", np.random.default_rng(8), settings)
    rng, answer, _ = voting(8)
    strengths = run_matched_ballots(match.plan(24, 126), answer, items=24, rng=rng, voters=9, match=match)
    assert found == Ranking.from_scores(strengths.theta)


def test_fitted_approaches_take_the_votes_of_the_others():
    found = simulate_ranking(PLAN, POPULATION, SIMILARITY, "adaptive_fitted", np.random.default_rng(8))
    rng, answer, _ = voting(8)
    answered = []

    def vote(ballot):
        answered.append((ballot, answer(ballot)))
        return answered[-1][1]

    run_protocol(PLAN, vote, items=24, rng=rng, voters=9)
    votes = Comparisons.from_ballots(answered, n_items=24)
    assert found == Ranking.from_scores(bradley_terry(votes, voters=True).theta)

    found = simulate_ranking(PLAN, POPULATION, SIMILARITY, "uniform_fitted", np.random.default_rng(8))
    rng, answer, _ = voting(8)
    ballot = draw_ballot(24, 10, 9, rng)
    votes = Comparisons.from_ballots([(ballot, answer(ballot))], n_items=24)
    assert found == Ranking.from_scores(bradley_terry(votes, voters=True).theta)


def test_full_rankings_are_the_mean_ranks_of_all_opinions():
    found = simulate_ranking(PLAN, POPULATION, SIMILARITY, "full_rankings", np.random.default_rng(8))
    _, _, opinions = voting(8)
    assert found == Ranking.from_ranks(np.mean([rankdata(-of_voter) for of_voter in opinions], axis=0))


@pytest.mark.parametrize("approach", APPROACHES)
def test_voters_without_error_find_the_true_top(approach):
    similarity = [0.1, -0.9, 0.5, 0.3, -0.2, 0.05]
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=20)
    ranking = simulate_ranking(plan, VoterPool([0.0], [0.0]), similarity, approach, np.random.default_rng(0))
    assert ranking.ranks[1] == 1


def test_random_numbers_do_not_depend_on_the_other_approaches():
    options = {"n_simulations": 2, "seed": 5}
    together = simulate(PLAN, POPULATION, SIMILARITY, approaches=APPROACHES, **options)
    assert list(together.statistics) == list(APPROACHES)
    for number, approach in enumerate(APPROACHES):
        alone = simulate(PLAN, POPULATION, SIMILARITY, approaches=(approach,), **options)
        assert_array_equal(table(alone)[0], table(together)[number])
    # The default is the paper's two, and their numbers stay what they were.
    assert_array_equal(table(simulate(PLAN, POPULATION, SIMILARITY, **options)), table(together)[:2])


@pytest.mark.needs_numba
def test_matching_is_better_at_the_top():
    plan = plan_ballots(200, n_ballots=5, fraction=0.5, presentations=10)
    approaches = ("adaptive", "matched", "matched_ballots")
    options = {"n_simulations": 8, "seed": 2, "approaches": approaches}
    mean = simulate(plan, VoterPopulation(), exponential_similarity(200), **options).mean
    for approach in approaches[1:]:
        assert mean[approach]["tau_w"] > mean["adaptive"]["tau_w"] + 0.1
        assert mean[approach]["rho_w"] > mean["adaptive"]["rho_w"]


def test_comparisons_of_each_approach():
    counts = {approach: sum(simulated_comparisons(PLAN, approach)) for approach in APPROACHES}
    own = MatchedBallots().plan(24, 126)
    assert counts == {
        "adaptive": 126,
        "uniform": 120,  # 10.5 presentations of 24 items, and half to even
        "matched": 126,
        "matched_ballots": own.n_comparisons,
        "adaptive_fitted": 126,
        "uniform_fitted": 120,
        "full_rankings": 0,
    }
    assert own.n_comparisons <= 126
    few = MatchedBallots(n_ballots=2)
    assert simulated_comparisons(PLAN, "matched_ballots", matched_ballots=few) == few.plan(24, 126).comparisons
    with pytest.raises(SimilarityError, match=r"an approach is one of 'adaptive', .*; got 'both'"):
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
    asked = []

    class Watched(VoterPool):
        def answer(self, ballot, opinions, rng):
            asked.append(ballot.n_comparisons)
            return super().answer(ballot, opinions, rng)

    pool = Watched([0.1, 0.2], [0.0, 0.1])
    options = {**CURVE, "n_simulations": 1, "approaches": ("matched",)}
    simulate_curve([60, 90, 120], pool, SIMILARITY, **options)
    assert sum(asked) == 120


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
        ([60.5], SimilarityError, "budgets must be different positive whole numbers; got"),
        ([3], PlanError, "a budget of 3 comparisons is too small"),
    ],
)
def test_budgets_that_are_none(budgets, error, message):
    with pytest.raises(error, match=message):
        simulate_curve(budgets, POPULATION, SIMILARITY, **CURVE)


def test_a_curve_checks_its_voters():
    with pytest.raises(SimilarityError, match="voters are a VoterPool or a VoterPopulation; got 100"):
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
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == ["63", "126"]
    mean, se = (getattr(expected.results[126], name)["matched"]["tau_w"] for name in ("mean", "se"))
    assert found[1][1] == f"{mean:.4f} ({se:.4f})"
    tree = accuracy.merge_curves([curves])
    assert tree["matched"]["exponential"]["126"]["tau_w"] == {"mean": mean, "se": se}


def test_all_other_approaches(accuracy, bench, capsys):
    accuracy.bench_all(bench, 126)
    found = [row[0] for row in rows(capsys.readouterr().out)]
    assert found == ["adaptive", "uniform", "matched_ballots", "adaptive_fitted", "uniform_fitted", "full_rankings"]


def test_unknown_voters_are_four(accuracy, bench, capsys):
    accuracy.bench_unknown_voters(bench, (126,))
    found = rows(capsys.readouterr().out)
    assert len(found) == 4 * 3
    assert {row[2] for row in found} == {"adaptive", "matched", "matched_ballots"}
    assert all(row[-1] == "-" for row in found if row[2] == "adaptive")


def test_the_indifference_gives_the_share_of_ties(accuracy):
    threshold = accuracy.indifference(exponential_similarity(300))
    rng = np.random.default_rng(5)
    opinions = VoterPopulation().draw(rng).opinions(exponential_similarity(300), rng)
    ties = np.abs(opinions - rng.permuted(opinions, axis=1)) <= threshold
    assert abs(ties.mean() - accuracy.TIE_SHARE) < 0.02


def test_the_curve_is_drawn(accuracy, bench, tmp_path):
    curves = accuracy.draw_curve(bench, (63, 126), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(curves["exponential"].results) == [63, 126]
