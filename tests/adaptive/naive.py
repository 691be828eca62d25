"""Scores and selection spelt out in fractions, as the paper writes them. Imports nothing of ours.

Equation numbers are those of Lombardo et al. 2020. A comparison is (left, right, vote), the vote "left", "right", "tie"
or None; scores are dicts of item to Fraction.
"""

from fractions import Fraction


def count(item, comparisons):
    """Wins, ties, losses and unanswered presentations of an item."""
    counts = {"wins": 0, "ties": 0, "losses": 0, "unanswered": 0}
    for left, right, vote in comparisons:
        for side, shown in (("left", left), ("right", right)):
            if shown == item:
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


def rescaled(x, previous_mean):
    """y of Eq. 6."""
    b = slope(x, previous_mean)
    return {item: 1 - b + b * x[item] for item in x}


def protocol(ballots):
    """(x, y, b, ybar) of each ballot, given as items and comparisons; ybar is the mean of all y so far (Eq. 5)."""
    history, ybar, records = {}, {}, []
    for k, (items, comparisons) in enumerate(ballots, start=1):
        x = borda_scores(items, comparisons)
        b = Fraction(1) if k == 1 else slope(x, ybar)
        y = x if k == 1 else rescaled(x, {item: ybar[item] for item in items})
        for item in items:
            history.setdefault(item, []).append(y[item])
            ybar[item] = sum(history[item]) / len(history[item])
        records.append((x, y, b, {item: ybar[item] for item in items}))
    return records


def n_tied_at_cut(scores, n_selected):
    """Items that share the score of the last one selected, if one of them is left out."""
    ordered = sorted(scores, reverse=True)
    if n_selected == len(ordered) or ordered[n_selected - 1] != ordered[n_selected]:
        return 0
    return ordered.count(ordered[n_selected])


def parts(items, comparisons):
    """Sets of items that comparisons join, directly or by way of others."""
    found = [{item} for item in items]
    for left, right, _ in comparisons:
        first, second = (next(part for part in found if item in part) for item in (left, right))
        if first is not second:
            found.remove(second)
            first |= second
    return found


def in_top(rankings, k):
    """Share of mid-rankings in which each item is in the top k; items tied at the cut share the places left."""
    shares = [0.0] * len(rankings[0])
    for ranks in rankings:
        for item, rank in enumerate(ranks):
            better = sum(other < rank for other in ranks)
            shares[item] += min(1.0, max(0.0, (k - better) / ranks.count(rank))) / len(rankings)
    return shares


def rank_interval(ranks, level):
    """Smallest drawn rank with at least a share t of all at or below it, for t = (1 -+ level) / 2 and the median."""
    found = []
    for tail in ((1 - level) / 2, 0.5, (1 + level) / 2):
        found.append(min(rank for rank in ranks if sum(r <= rank for r in ranks) >= tail * len(ranks) - 1e-9))
    return found
