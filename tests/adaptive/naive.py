"""Scores and selection in fractions, as in the paper, and models of votes. Imports nothing from the packages.

Equation numbers are those of Lombardo et al. 2020. A comparison is (left, right, vote), the vote "left", "right", "tie"
or None; scores are dicts of item to Fraction.

In models of votes an item or a voter is a number, the index into the strengths or into the voters' parameters.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


def count(item, comparisons):
    """Wins, ties, losses and unanswered presentations of an item."""
    counts = {"wins": 0, "ties": 0, "losses": 0, "unanswered": 0}
    for left, right, vote in comparisons:
        for side, presented_item in (("left", left), ("right", right)):
            if presented_item == item:
                counts[{side: "wins", "tie": "ties", None: "unanswered"}.get(vote, "losses")] += 1
    return counts


def borda_scores(items, comparisons):
    """Eq. 1, with ties as in footnote 4: x_i = (n_i^w + n_i^t / 2) / M_i, M_i the presentations that were answered."""
    scores = {}
    for item in items:
        counts = count(item, comparisons)
        answered = counts["wins"] + counts["ties"] + counts["losses"]
        scores[item] = (counts["wins"] + Fraction(counts["ties"], 2)) / Fraction(answered)
    return scores


def slope(x, previous_mean):
    """b of Eq. 6."""
    return sum((1 - x[j]) * (1 - previous_mean[j]) for j in x) / sum((1 - x[j]) ** 2 for j in x)


def rescale(x, previous_mean):
    """y of Eq. 6."""
    b = slope(x, previous_mean)
    return {item: 1 - b + b * x[item] for item in x}


def protocol(ballots):
    """(x, y, b, ybar) of each ballot, given as items and comparisons; ybar is the mean of all y so far (Eq. 5)."""
    history, ybar, records = {}, {}, []
    for k, (items, comparisons) in enumerate(ballots, start=1):
        x = borda_scores(items, comparisons)
        b = Fraction(1) if k == 1 else slope(x, ybar)
        y = x if k == 1 else rescale(x, {item: ybar[item] for item in items})
        for item in items:
            history.setdefault(item, []).append(y[item])
            ybar[item] = sum(history[item]) / len(history[item])
        records.append((x, y, b, {item: ybar[item] for item in items}))
    return records


def n_tied_at_cut(scores, n_selected):
    """Number of items with the score of the last selected one, if at least one of these is not selected."""
    ordered = sorted(scores, reverse=True)
    if n_selected == len(ordered) or ordered[n_selected - 1] != ordered[n_selected]:
        return 0
    return ordered.count(ordered[n_selected])


def parts(items, comparisons):
    """Connected components of the items."""
    result = [{item} for item in items]
    for left, right, _ in comparisons:
        first, second = (next(part for part in result if item in part) for item in (left, right))
        if first is not second:
            result.remove(second)
            first |= second
    return result


def chances(margin, nu=0.0, link="logistic"):
    """Probabilities of "left", "tie" and "right" by Davidson's model, or by the normal curve, which has no ties."""
    if link == "normal":
        left, right = (math.erfc(sign * margin / math.sqrt(2)) / 2 for sign in (-1, 1))
        return {"left": left, "tie": 0.0, "right": right}
    weights = {"left": math.exp(margin / 2), "tie": nu, "right": math.exp(-margin / 2)}
    return {vote: weight / sum(weights.values()) for vote, weight in weights.items()}


def recorded_chances(margin, oversight, nu, link):
    """Probabilities of the recorded answers: an oversight reverses the answer."""
    meant = chances(margin, nu, link)
    opposite = {"left": "right", "tie": "tie", "right": "left"}
    return {vote: (1 - oversight) * meant[vote] + oversight * meant[opposite[vote]] for vote in meant}


def vote_log_likelihood(vote, margin, oversight, nu, link, half):
    """Logarithm of the probability of one vote; with `half`, a tie is half a vote for either side."""
    chances = recorded_chances(margin, oversight, nu, link)
    if vote == "tie" and half:
        return (math.log(chances["left"]) + math.log(chances["right"])) / 2
    return math.log(chances[vote])


def log_likelihood(votes, theta, a, e, s, nu=0.0, link="logistic", half=False):
    """Sum over votes, each (left, right, vote, voter), of voters with discrimination a, oversight e and side bias s."""
    return sum(
        vote_log_likelihood(vote, a[v] * (theta[left] - theta[right]) + s[v], e[v], nu, link, half)
        for left, right, vote, v in votes
    )


def log_normal(values, sd):
    """Log density of independent normal values around 0, up to a constant; 0 for an infinite standard deviation."""
    return -sum(value**2 for value in values) / (2 * sd**2)


def log_beta_on_log_odds(values, mean, n_votes):
    """Log density of the log odds of beta values, up to a constant: their mode is at the mean of the beta."""
    return sum(n_votes * (mean * math.log(e) + (1 - mean) * math.log(1 - e)) for e in values)


def gradient(function, at, step=1e-5):
    """Central differences."""
    at = np.asarray(at, float)
    slopes = np.empty(at.size)
    for i in range(at.size):
        move = np.zeros(at.size)
        move[i] = step
        slopes[i] = (function(at + move) - function(at - move)) / (2 * step)
    return slopes


def hessian(function, at):
    """Second derivatives by central differences."""
    return np.array([gradient(lambda x, i=i: gradient(function, x, 1e-4)[i], at, 1e-4) for i in range(len(at))])


def share_in_top(rankings, k):
    """Share of mid-rankings in which each item is in the top k; items tied at the cut share the remaining places."""
    shares = [0.0] * len(rankings[0])
    for ranks in rankings:
        for item, rank in enumerate(ranks):
            better = sum(other < rank for other in ranks)
            shares[item] += min(1.0, max(0.0, (k - better) / ranks.count(rank))) / len(rankings)
    return shares


def rank_interval(ranks, level):
    """Smallest drawn rank with at least a share t of all at or below it, for t = (1 -+ level) / 2 and the median."""
    result = []
    for tail in ((1 - level) / 2, 0.5, (1 + level) / 2):
        result.append(min(rank for rank in ranks if sum(r <= rank for r in ranks) >= tail * len(ranks) - 1e-9))
    return result


def plackett_luce(theta, order, tie_terms):
    """Log-probability of an order, best first, with groups of ties; `tie_terms` are those of ties of 2, 3, ..."""
    rest = [item for group in order for item in group]
    total = 0.0
    for group in order:
        if len(rest) < 2:
            break

        def worth(subset):
            mean = sum(theta[item] for item in subset) / len(subset)
            return math.exp(mean + (tie_terms[len(subset) - 2] if len(subset) > 1 else 0.0))

        subsets = [
            subset for size in range(1, len(tie_terms) + 2) for subset in itertools.combinations(sorted(rest), size)
        ]
        total += math.log(worth(group) / sum(map(worth, subsets)))
        rest = [item for item in rest if item not in group]
    return total


def log_chance_of_best_worst(theta, items, best, worst):
    """Log-probability of a best and a worst item among those asked."""
    odds = {(i, j): math.exp(theta[i] - theta[j]) for i in items for j in items if i != j}
    return math.log(odds[best, worst] / sum(odds.values()))


def log_chance_of_grade(theta, left, right, grade, middle):
    """Log-probability of a grade from -m to m; `middle` are the parameters of the grades of size 0 to m - 1."""
    most = len(middle)
    logits = {
        g: (1 + g / most) / 2 * theta[left]
        + (1 - g / most) / 2 * theta[right]
        + (middle[abs(g)] if abs(g) < most else 0.0)
        for g in range(-most, most + 1)
    }
    return logits[grade] - math.log(sum(map(math.exp, logits.values())))


def draw_sets(n_items, size, presentations, rng):
    """Return the sets of `adaptive.draw_sets`, one choice among the items with the fewest sets and meetings a place."""
    n_sets = -(-n_items * presentations // size)
    n_shown = np.zeros(n_items, np.int64)
    met = np.zeros((n_items, n_items), np.int64)
    sets = []
    for _ in range(n_sets):
        members = []
        for _ in range(size):
            free = [item for item in range(n_items) if item not in members]
            counts = {item: (n_shown[item], met[members, item].sum()) for item in free}
            fewest = min(counts.values())
            members.append(int(rng.choice([item for item in free if counts[item] == fewest])))
        n_shown[members] += 1
        met[np.ix_(members, members)] += 1
        sets.append(rng.permutation(members))
    return tuple(tuple(sets[row].tolist()) for row in rng.permutation(n_sets))
