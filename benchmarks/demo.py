"""Compare real rankings, then plan ballots and simulate them."""

from itertools import combinations
from textwrap import fill

from adaptive import VoterPopulation, exponential_similarity, plan_ballots, simulate
from rankcorr import Ranking, correlation_matrix, permutation_test
from rankcorr.datasets import russian_relatedness_systems

WIDTH = 100
COEFFICIENTS = ("rho", "tau", "rho_w", "tau_w")


def main() -> None:
    """Test whether three benchmarks of semantic relatedness rank eight systems alike, and alike at the top."""
    systems = russian_relatedness_systems()
    print(fill(systems.description, WIDTH), fill(f"Source: {systems.source}", WIDTH), "", sep="\n")

    rankings = {benchmark: Ranking.from_scores(scores) for benchmark, scores in systems.columns.items()}
    names = sorted(systems["HJ"], key=systems["HJ"].get, reverse=True)
    print(f"{'rank of the system by':<22}{''.join(f'{benchmark:>8}' for benchmark in rankings)}")
    for name in names:
        ranks = [ranking.ranks[ranking.labels.index(name)] for ranking in rankings.values()]
        print(f"  {name:<20}{''.join(f'{rank:>8g}' for rank in ranks)}")

    matrices = {name: correlation_matrix(rankings, coefficient=name).statistic for name in COEFFICIENTS}
    print(f"\n{'agreement of':<22}{''.join(f'{name:>8}' for name in COEFFICIENTS)}")
    for (i, first), (j, second) in combinations(enumerate(rankings), 2):
        print(f"  {f'{first} and {second}':<20}{''.join(f'{matrices[name][i, j]:>8.2f}' for name in COEFFICIENTS)}")

    print(f"\n{'tau_w against chance':<22}{'by chance':>12}{'p':>8}")
    for first, second in combinations(rankings, 2):
        test = permutation_test(rankings[first], rankings[second], coefficient="tau_w")
        print(f"  {f'{first} and {second}':<20}{test.null.mean:>12.2f}{test.pvalue:>8.2f}")
    answer = (
        "rho_w and tau_w weigh the top most (weights 1/(n + 2)^2). Chance gives them values below 0, so do not "
        "compare them with rho and tau. All three tau_w are above chance, but only the agreement of RT and AE is "
        "significant (two-sided p). With eight systems and three tests this is an illustration, not a finding."
    )
    print("", fill(answer, WIDTH), sep="\n")


def plan_and_simulate() -> None:
    """Plan ballots for 300 items, and simulate how accurate they are."""
    plan = plan_ballots(300, n_ballots=5, fraction=0.55, presentations=24)
    print("", "What would it take to rank 300 items by pairwise votes, the top most precisely?", "", plan, "", sep="\n")
    result = simulate(plan, VoterPopulation(), exponential_similarity(300), n_simulations=20, seed=1)
    print(
        fill(
            "20 simulations with 100 voters, items whose strengths fall off exponentially: agreement with the true "
            "ranking, mean +- standard deviation. Uniform ballots ask all pairs with equal chances.",
            WIDTH,
        )
    )
    print(f"\n{'':<28}{''.join(f'{name:>18}' for name in COEFFICIENTS)}")
    for approach in ("adaptive", "uniform"):
        cells = [f"{result.mean[approach][name]:.3f} +- {result.sd[approach][name]:.3f}" for name in COEFFICIENTS]
        print(f"  {approach:<26}{''.join(f'{cell:>18}' for cell in cells)}")
    answer = "At the top (rho_w, tau_w) adaptive ballots are better; over the whole list (rho, tau) uniform ones are."
    print("", fill(answer, WIDTH), sep="\n")


if __name__ == "__main__":
    main()
    plan_and_simulate()
