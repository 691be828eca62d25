"""Compare real rankings, and simulate how many votes on pairs of items give a good ranking."""

from itertools import combinations
from textwrap import fill

from adaptive import SimulationResult, VoterPopulation, exponential_similarity, simulate_curve
from rankcorr import Ranking, compare_systems, holm, permutation_test
from rankcorr.datasets import russian_relatedness_systems

SIMULATIONS, SECONDS = 10, 5
APPROACH_TITLES = {"matched": "matched pairs", "uniform": "random pairs"}


def say(text: str) -> None:
    """Print a paragraph, and an empty line."""
    print(fill(text, 100), end="\n\n")


def compare() -> None:
    """Test whether three benchmarks rank eight programs alike, and which of two is closer to the third."""
    say(
        "1. COMPARE RANKINGS. Eight programs estimate how related two Russian words are. Three benchmarks rank the "
        "programs: HJ by judgements of people, RT by a thesaurus, AE by associations, where two programs tie. (Scores: "
        "Panchenko et al. 2017, arXiv:1708.09702, Table 4.)"
    )
    systems = russian_relatedness_systems()
    rankings = {benchmark: Ranking.from_scores(scores) for benchmark, scores in systems.columns.items()}
    print(f"{'rank of the program by':<24}{''.join(f'{benchmark:>8}' for benchmark in rankings)}")
    for name in sorted(systems["HJ"], key=systems["HJ"].get, reverse=True):
        ranks = [ranking.ranks[ranking.labels.index(name)] for ranking in rankings.values()]
        print(f"  {name:<22}{''.join(f'{rank:>8g}' for rank in ranks)}")

    pairs = list(combinations(rankings, 2))
    tests = [permutation_test(rankings[first], rankings[second], coefficient="tau_w") for first, second in pairs]
    corrected = holm([test.pvalue for test in tests])
    print(f"\n{'agreement of':<24}{'tau_w':>8}{'by chance':>12}{'p':>8}{'corrected p':>14}{'trust it?':>12}")
    for (first, second), test, p in zip(pairs, tests, corrected, strict=True):
        numbers = f"{test.statistic:>8.2f}{test.null.mean:>12.2f}{test.pvalue:>8.2f}{p:>14.2f}"
        print(f"  {f'{first} and {second}':<22}{numbers}{'yes' if p <= 0.05 else 'no':>12}")
    print()
    comparison = compare_systems(rankings["HJ"], rankings["RT"], rankings["AE"], coefficient="tau_w")
    say(
        "tau_w is 1 for equal rankings, and the top counts most. p is the probability that unrelated rankings are at "
        "least as far from chance. Each test is another chance of a small p, so p is corrected for three tests (Holm); "
        "trust an agreement if the result is at most 0.05. A single question that you fix before you see the data "
        f"needs no correction, such as: is RT closer to HJ than AE is? The difference is {comparison.difference:.2f}, "
        f"with p = {comparison.pvalue:.2f}, so {'trust it' if comparison.pvalue <= 0.05 else 'it may be chance'}. "
        f"Eight programs are few: the difference would have to be {comparison.detectable:.2f} to be found four times "
        "out of five."
    )


def plan() -> None:
    """Simulate numbers of votes, with pairs chosen from earlier votes and with random pairs."""
    say(
        "2. PLAN VOTES. If you have no ranking that you trust, let people vote: which of two items is better? Matched "
        "pairs are chosen from the votes so far: items that seem close. The table shows tau_w with the true ranking, "
        f"mean +- standard deviation of {SIMULATIONS} simulations: 100 items whose best are far apart, and 100 voters "
        "who make mistakes. Random pairs rank items by the share of comparisons won, matched pairs by fitted strengths."
    )
    population, items = VoterPopulation(), exponential_similarity(100)
    # Random pairs ask about each item equally often: with 125 votes for 100 items, they would ask only 100.
    curve = simulate_curve(
        [100, 200, 500], population, items, n_simulations=SIMULATIONS, seed=1, approaches=tuple(APPROACH_TITLES)
    )
    print(f"{'votes':>7}{f'work, {SECONDS} s a vote':>20}{''.join(f'{name:>18}' for name in APPROACH_TITLES.values())}")
    for votes, result in curve.results.items():
        cells = [f"{result.mean[name]['tau_w']:.2f} +- {result.sd[name]['tau_w']:.2f}" for name in APPROACH_TITLES]
        print(f"{votes:>7,}{f'{votes * SECONDS / 60:.0f} minutes':>20}{''.join(f'{cell:>18}' for cell in cells)}")
    print()
    for votes, result in curve.results.items():
        behind, error = loss_of_matching(result)
        if behind > 0:
            chance = "more than chance explains" if behind > 2 * error else "which may be chance"
            text = (
                f"With {votes:,} votes matched pairs are behind random ones, by {behind:.2f} +- {error:.2f} (standard "
                f"error), {chance}. Matching helps once each item has a few votes by which to choose its opponents."
            )
            print(fill(text, 100))


def loss_of_matching(result: SimulationResult) -> tuple[float, float]:
    """How far matched pairs are behind random ones in tau_w, and the standard error."""
    ways = [result.statistics[way]["tau_w"] for way in ("uniform", "matched")]
    behind = ways[0] - ways[1]
    return float(behind.mean()), float(behind.std(ddof=1) / len(behind) ** 0.5)


if __name__ == "__main__":
    compare()
    plan()
    print("\nNEXT: vote in a browser with `make collect`. For your own rankings and votes, see docs/start/index.md;")
    print("for other items, voters and numbers of votes, see docs/how-to/plan-votes.md.")
