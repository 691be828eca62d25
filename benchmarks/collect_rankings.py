"""Print whether a campaign that is answered over HTTP ranks as accurately as `simulate` predicts.

Simulated voters answer a campaign of 200 items through the API of rankcorr-collect. They arrive in random order and
each takes the next free sheet. tau_w between the true ranking and the result is compared with that of `simulate`, where
the order of arrival does not matter. Run it with ``.venv/bin/python benchmarks/collect_rankings.py``. The script checks
nothing.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import scipy.stats
from report import heading, machine, row

sys.path.insert(0, str(Path(__file__).parents[1]))

from adaptive._plan import BallotPlan, plan_ballots
from adaptive.ledger import ContinuousPlan
from adaptive.model._models import bradley_terry
from adaptive.simulation._approaches import simulate_ranking
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._voters import VoterPopulation, true_ranking
from rankcorr import Ranking, weighted_tau
from service.collect import CollectSettings, create_app
from service.http.state import state
from tests.service.collect.browsing import Voter
from tests.service.collect.live import Minds, answer_all, join_in_process, run_ballots, simulated_campaign

N_ITEMS, N_VOTERS = 200, 40
POPULATION = VoterPopulation(N_VOTERS)
SIMILARITY = exponential_similarity(N_ITEMS)
GOLD = true_ranking(SIMILARITY)
PAPER = plan_ballots(N_ITEMS, n_ballots=5, fraction=0.5, presentations=10)
MATCHED = plan_ballots(N_ITEMS, n_ballots=5, fraction=0.5, presentations=5)  # gives matching its number of comparisons


def over_http(plan: BallotPlan | ContinuousPlan, seed: int) -> dict[str, float]:
    """Return tau_w of one campaign, and counts that may explain a difference from `simulate`."""
    rng = np.random.default_rng([seed, 1])
    pool = POPULATION.draw(rng)
    minds = Minds(pool, pool.opinions(SIMILARITY, rng), seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        target = str(Path(folder) / "votes.db")
        campaign = simulated_campaign(target, plan, N_VOTERS, seed)
        app = create_app(CollectSettings(ledger=target))
        asks = [join_in_process(Voter(app.test_client(), campaign)) for _ in range(N_VOTERS)]
        if isinstance(plan, BallotPlan):
            run_ballots(campaign, asks, minds, rng)
        else:
            campaign.open_next()
            answer_all(asks, minds, rng)
            campaign.close(len(campaign.ballots()), least_answered=0.0)
        result = campaign.result()
        votes = campaign.counted_votes()
        state(app).resources.close()
        campaign.database.close()
    repeats = Counter(zip(votes.voter, np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)))  # noqa: B905
    loads = np.bincount(votes.voter)
    return {
        "result": agreement(result.ranking),
        "fitted": agreement(bradley_terry(votes, voters=True).ranking),
        "votes": votes.n_comparisons,
        "again": sum(repeats.values()) - len(repeats),
        "least": int(loads.min()),
        "most": int(loads.max()),
    }


def simulated(plan: BallotPlan, approach: str, seed: int) -> float:
    return agreement(simulate_ranking(plan, POPULATION, SIMILARITY, approach, np.random.default_rng([seed, 2])))


def agreement(ranking: Ranking) -> float:
    return weighted_tau(GOLD, Ranking.from_ranks(ranking.ranks)).statistic


def print_comparison(mode: str, score: str, over: np.ndarray, simulations: np.ndarray) -> None:
    difference = over.mean() - simulations.mean()
    welch = scipy.stats.ttest_ind(over, simulations, equal_var=False)
    interval = welch.confidence_interval(0.95)
    row(
        *(mode, score, over.size, f"{over.mean():.4f}", f"{over.std(ddof=1):.4f}"),
        *(simulations.size, f"{simulations.mean():.4f}", f"{simulations.std(ddof=1):.4f}"),
        f"{difference:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})",
        f"{welch.pvalue:.2f}",
        f"{scipy.stats.ks_2samp(over, simulations).pvalue:.2f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare rankings over HTTP with simulated ones.")
    parser.add_argument("--repetitions", type=int, default=30, help="campaigns over HTTP (default: 30)")
    parser.add_argument("--simulations", type=int, default=200, help="simulations for comparison (default: 200)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=["ballots", "continuous"], default=["ballots", "continuous"])
    options = parser.parse_args()
    machine("numpy", "scipy", "flask")
    plans = {"ballots": PAPER, "continuous": ContinuousPlan(N_ITEMS, MATCHED.n_comparisons)}
    heading(
        f"tau_w of the true ranking and the result; {N_ITEMS} items, {N_VOTERS} voters, {PAPER.n_comparisons:,} votes "
        f"in ballots, {MATCHED.n_comparisons:,} matched ones",
        *("mode", "score", "over HTTP", "mean", "sd", "simulated", "mean", "sd", "difference (95 %)", "Welch, p"),
        "Kolmogorov-Smirnov, p",
    )
    notes = []
    with ProcessPoolExecutor(options.workers) as executor:
        for mode in options.only:
            approach, same = ("adaptive", PAPER) if mode == "ballots" else ("matched", MATCHED)
            plan, seeds = plans[mode], range(1, options.repetitions + 1)
            over = list(executor.map(over_http, [plan] * len(seeds), seeds))
            many = range(1, options.simulations + 1)
            alone = np.array(list(executor.map(simulated, [same] * len(many), [approach] * len(many), many)))
            scores = {"result": "as the organiser has it", "fitted": "strengths, voters fitted"}
            for key, name in scores.items():
                if mode == "continuous" or key == "result":
                    print_comparison(mode, name, np.array([campaign[key] for campaign in over]), alone)
            means = {key: np.mean([campaign[key] for campaign in over]) for key in ("votes", "again", "least", "most")}
            notes.append(
                f"{mode}: {means['votes']:,.0f} votes a campaign, {means['again']:.1f} of them on a pair that their "
                f"voter had seen; a voter gives {means['least']:.0f} to {means['most']:.0f} votes"
            )
    print()
    print("\n".join(notes))


if __name__ == "__main__":
    main()
