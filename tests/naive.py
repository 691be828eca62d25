"""Each formula as the paper writes it, without optimization. Imports nothing from the packages.

Equation numbers are those of Lombardo et al. 2020.
"""

import itertools
import math
import statistics
import struct
from fractions import Fraction


def midranks(scores):
    """Rank 1 is the largest score; ties share the mean of the positions that they occupy."""
    return [
        1 + sum(other > score for other in scores) + (sum(other == score for other in scores) - 1) / 2
        for score in scores
    ]


def inverse_square(n0):
    """f(n; n0) = 1/(n + n0)^2, section 3 of the paper."""
    return lambda rank: 1 / (rank + n0) ** 2


def rank_weights(ranks, f, tied_weights="midrank"):
    """f of each mid-rank, or the mean of f over the positions that the tied group occupies."""
    if tied_weights == "midrank":
        return [f(rank) for rank in ranks]
    weights = []
    for rank in ranks:
        before = sum(other < rank for other in ranks)
        positions = range(before + 1, before + 1 + sum(other == rank for other in ranks))
        weights.append(sum(f(position) for position in positions) / len(positions))
    return weights


def item_weights(a, b, f, scheme="additive", tied_weights="midrank"):
    """Eq. 9, and the other schemes."""
    of_a, of_b = rank_weights(a, f, tied_weights), rank_weights(b, f, tied_weights)
    combined = {
        "additive": [p + q for p, q in zip(of_a, of_b, strict=True)],
        "multiplicative": [p * q for p, q in zip(of_a, of_b, strict=True)],
        "first": of_a,
        "second": of_b,
    }[scheme]
    return [weight / sum(combined) for weight in combined]


def sign(number):
    return int(number > 0) - int(number < 0)


def gamma(a_matrix, b_matrix):
    """Eq. 7."""
    pairs = [(p, q) for rows in zip(a_matrix, b_matrix, strict=True) for p, q in zip(*rows, strict=True)]
    top = math.fsum(p * q for p, q in pairs)
    bottom = math.sqrt(math.fsum(p * p for p, _ in pairs)) * math.sqrt(math.fsum(q * q for _, q in pairs))
    return top / bottom if bottom else math.nan


def pair_matrix(ranks, weights, difference):
    """a_ij = sqrt(w_i w_j) difference(a_j - a_i), the two choices above Eq. 8."""
    return [
        [math.sqrt(w_i) * math.sqrt(w_j) * difference(a_j - a_i) for a_j, w_j in zip(ranks, weights, strict=True)]
        for a_i, w_i in zip(ranks, weights, strict=True)
    ]


def weighted_rho(a, b, weights):
    """Eq. 7 with a_ij = sqrt(w_i w_j) (a_j - a_i)."""
    return gamma(pair_matrix(a, weights, float), pair_matrix(b, weights, float))


def weighted_tau(a, b, weights, variant="b"):
    """Eq. 7 with a_ij = sqrt(w_i w_j) sign(a_j - a_i); variant "a" divides by 1 - sum_i w_i^2."""
    a_matrix, b_matrix = pair_matrix(a, weights, sign), pair_matrix(b, weights, sign)
    statistic = gamma(a_matrix, b_matrix)
    if variant == "b" or math.isnan(statistic):
        return statistic
    top = math.fsum(p * q for rows in zip(a_matrix, b_matrix, strict=True) for p, q in zip(*rows, strict=True))
    # 1 - sum_i w_i^2 without the difference, which loses digits when one weight is nearly all.
    return top / math.fsum(w_i * w_j for i, w_i in enumerate(weights) for j, w_j in enumerate(weights) if i != j)


def exchanges(a, b):
    """Two lists after each choice of places to exchange, and the share of kept places minus that of exchanged ones."""
    for swap in itertools.product((False, True), repeat=len(a)):
        first = [q if swapped else p for p, q, swapped in zip(a, b, swap, strict=True)]
        second = [p if swapped else q for p, q, swapped in zip(a, b, swap, strict=True)]
        yield first, second, 1 - 2 * sum(swap) / len(swap)


def pearson_exchanges(gold, a, b, standardized):
    """Differences of Pearson's correlations of gold with a and b after each exchange; the first exchanges nothing."""
    if standardized:
        a, b = ([(value - statistics.fmean(x)) / statistics.pstdev(x) for value in x] for x in (a, b))
    for first, second, _ in exchanges(a, b):
        yield statistics.correlation(gold, first) - statistics.correlation(gold, second)


def share_as_extreme(true, observed, exchanged, alternative="two-sided", exact=True):
    """P-value of a true difference: exchanges (d*, m) with |d* - m D| >= |d - D|, or one-sided; nan is extreme."""

    def is_extreme(difference, m):
        if math.isnan(difference):
            return True
        one, other = difference - m * true, observed - true
        if alternative == "less":
            one, other = -one, -other
        elif alternative == "two-sided":
            one, other = abs(one), abs(other)
        return one >= other - 1e-9

    number = sum(is_extreme(difference, m) for difference, m in exchanged)
    return number / len(exchanged) if exact else (1 + number) / (1 + len(exchanged))


def differences_not_rejected(alpha, observed, exchanged, alternative="two-sided", exact=True, bound=2.0):
    """The least and the largest difference with a p-value above alpha; p-values change where |d* - m D| = |d - D|."""
    ends = [-bound, bound, observed]
    for difference, m in exchanged:
        ends += [(observed - difference) / (1 - m)] if m < 1 else []
        ends += [(observed + difference) / (1 + m)] if m > -1 else []
    bounds_held = [
        true
        for true in ends
        if abs(true) <= bound and share_as_extreme(true, observed, exchanged, alternative, exact) > alpha
    ]
    return min(bounds_held), max(bounds_held)


def heaviest_chain(first, second, weights):
    """Largest total weight of a subsequence of places in which both keys rise."""
    best = []
    for place, weight in enumerate(weights):
        before = [best[j] for j in range(place) if first[j] < first[place] and second[j] < second[place]]
        best.append(weight + max(before, default=0))
    return max(best)


WORD = (1 << 64) - 1


def splitmix64(state):
    """Steele, Lea and Flood's generator, with which Java's SplittableRandom steps: an endless stream of 64 bits."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        yield finalize(state)


def finalize(number):
    """Its finalizer."""
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & WORD
    return number ^ (number >> 31)


def query_key(query, start):
    """A number for an id: its bits, or its length and then its UTF-8 bytes, 8 at a time, little end first."""
    if isinstance(query, int):
        return finalize((query & WORD) ^ start)
    data = query.encode()
    key = finalize(len(data) ^ start)
    for place in range(0, len(data), 8):
        key = finalize(key ^ int.from_bytes(data[place : place + 8], "little"))
    return key


def poisson_counts(key, n_resamples):
    """How often a query counts in each resample, by the low halves of the stream, then the high ones."""
    stream = splitmix64(key)
    n_steps = (n_resamples + 1) // 2
    numbers = [next(stream) for _ in range(n_steps)]
    halves = [number & 0xFFFFFFFF for number in numbers] + [number >> 32 for number in numbers]
    return [poisson_quantile(half / 2**32) for half in halves][:n_resamples]


def poisson_quantile(share):
    """Least count whose distribution function, of mean 1, is above the share."""
    count, chance = 0, math.exp(-1)
    total = chance
    while total <= share:
        count += 1
        chance /= count
        total += chance
    return count


def cosine(first, second):
    """Cosine of the angle between two vectors."""
    dot = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return dot / math.sqrt(math.fsum(a * a for a in first)) / math.sqrt(math.fsum(b * b for b in second))


def best_first(run):
    """Documents from best to worst as trec_eval sorts them: scores in single precision, ties by descending id."""

    def single(score):
        try:
            return struct.unpack("f", struct.pack("f", score))[0]
        except OverflowError:
            return math.copysign(math.inf, score)

    return sorted(run, key=lambda document: (single(run[document]), str(document)), reverse=True)


def reciprocal_rank(grades, ranked):
    """1 over the place of the first relevant document, of a grade of at least 1."""
    return next((1 / place for place, document in enumerate(ranked, 1) if grades.get(document, 0) >= 1), 0.0)


def recall_at(grades, ranked, k):
    """Share of the relevant documents among the first k."""
    relevant = [document for document, grade in grades.items() if grade >= 1]
    return sum(document in ranked[:k] for document in relevant) / len(relevant) if relevant else 0.0


def ndcg(grades, ranked, k=None):
    """Discounted gains over those of the best order; the gain is the grade, and 0 below 0."""

    def discount(gains):
        return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains[:k], 1))

    best = discount(sorted((max(grade, 0) for grade in grades.values()), reverse=True))
    return discount([max(grades.get(document, 0), 0) for document in ranked]) / best if best else 0.0


def average_precision(grades, ranked):
    """Mean, over the relevant documents, of the precision at the place of each; 0 for one that was not retrieved."""
    relevant = [document for document, grade in grades.items() if grade >= 1]
    result = [place for place, document in enumerate(ranked, 1) if document in relevant]
    return math.fsum(number / place for number, place in enumerate(result, 1)) / len(relevant) if relevant else 0.0


def bpref(grades, ranked):
    """Buckley and Voorhees 2004: documents judged not relevant above relevant ones; below 0 is not judged."""
    n_relevant = sum(grade >= 1 for grade in grades.values())
    bound = min(n_relevant, sum(grade == 0 for grade in grades.values()))
    total, above = 0.0, 0
    for document in ranked:
        grade = grades.get(document, -1)
        if grade >= 1:
            total += 1 - min(above, n_relevant) / bound if above else 1
        elif grade == 0:
            above += 1
    return total / n_relevant if n_relevant else 0.0


def possible_ranks(better):
    """Ranks that tests of pairs do not exclude; `better[i][j]` if system i is significantly better than j."""
    number = len(better)
    result = []
    for system in range(number):
        above = sum(1 for other in range(number) if better[other][system])
        below = sum(1 for other in range(number) if better[system][other])
        result.append((1 + above, number - below))
    return result


def step_down(statistics, exchanged, exact=False):
    """P-values of pairs, each corrected for the pairs whose statistic is not larger; `exchanged` has a row per draw."""
    pvalues = []
    for statistic_of_pair in statistics:
        result = []
        for other in statistics:
            if other < statistic_of_pair:
                continue
            left = [number for number, statistic in enumerate(statistics) if statistic <= other]
            count = sum(1 for row in exchanged if max(row[number] for number in left) >= other)
            result.append(count / len(exchanged) if exact else (1 + count) / (1 + len(exchanged)))
        pvalues.append(max(result))
    return pvalues


def rank_sets(estimates, errors, noise, alpha, of=None):
    """Sets of ranks by Mogstad et al., stepwise: `errors[i][j]` is that of a difference, `noise` has a row per draw.

    A pair is rejected if its ratio exceeds the 1 - alpha quantile of the largest ratio of the pairs not yet rejected.
    """
    number = len(estimates)
    pairs = {(i, j) for i in range(number) for j in range(number) if i != j and (of is None or of in (i, j))}
    ratios = {(i, j): (estimates[i] - estimates[j]) / errors[i][j] for i, j in pairs}
    fallen, is_new = set(), True
    while is_new:
        left = pairs - fallen
        largest = [max(((row[i] - row[j]) / errors[i][j] for i, j in left), default=0.0) for row in noise]
        new = {
            pair
            for pair in left
            if (1 + sum(value >= ratios[pair] - 1e-12 for value in largest)) / (1 + len(noise)) <= alpha + 1e-12
        }
        fallen, is_new = fallen | new, bool(new)
    better = [[(i, j) in fallen and estimates[i] > estimates[j] for j in range(number)] for i in range(number)]
    return possible_ranks(better)


def groups(better):
    """Groups of systems from best to worst: the first of each is better than all systems of later groups."""
    numbers, leader = [1] if better else [], 0
    for system in range(1, len(better)):
        if all(better[leader][other] for other in range(system, len(better))):
            leader = system
        numbers.append(numbers[-1] + (leader == system))
    return numbers


def jackknife_shares(x, y, statistic):
    """Share of each item in the sum of squared deviations of the statistic without one item; undefined ones are 0."""
    values = []
    for item in range(len(x)):
        places = [place for place in range(len(x)) if place != item]
        values.append(statistic([x[place] for place in places], [y[place] for place in places]))
    defined = [value for value in values if not math.isnan(value)]
    mean = sum(defined) / len(defined) if defined else 0.0
    squares = [0.0 if math.isnan(value) else (value - mean) ** 2 for value in values]
    largest = max(squares)
    return [square / sum(squares) if largest > 1e-24 else 0.0 for square in squares]


def blest_nu(x, y):
    """Blest 2000, as the mean over all ways to break the ties of x and y."""
    n = len(x)
    values = []
    for r, s in itertools.product(_untied_rankings(x), _untied_rankings(y)):
        total = sum((n + 1 - a) ** 2 * b for a, b in zip(r, s, strict=True))
        values.append((2 * n + 1) / (n - 1) - 12 * total / ((n - 1) * n * (n + 1) ** 2))
    return sum(values) / len(values)


def _untied_rankings(scores):
    """Rankings, from 1, that break the ties of scores in every way."""
    n = len(scores)
    for order in itertools.permutations(range(n)):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            ranks = [0] * n
            for place, item in enumerate(order):
                ranks[item] = place + 1
            yield ranks


def top_down(x, y):
    """Iman and Conover 1987: Pearson's correlation of Savage scores, which tied items share."""
    n = len(x)
    columns = []
    for scores in (x, y):
        ways = list(_untied_rankings(scores))
        columns.append([sum(sum(1 / j for j in range(way[i], n + 1)) for way in ways) / len(ways) for i in range(n)])
    a, b = ([value - sum(column) / n for value in column] for column in columns)
    product = sum(p * q for p, q in zip(a, b, strict=True))
    return product / math.sqrt(sum(p * p for p in a) * sum(q * q for q in b))


def reliability(triplets, similarity):
    """Section 4.2 of Avraham and Goldberg 2016; (target, a, b, R), and half of |s| where the model ties a and b."""
    scores = []
    for target, a, b, share in triplets:
        first, second = similarity(target, a), similarity(target, b)
        weight = abs(2 * share - 1)
        s = (1 if first > second else -1) * (2 * share - 1)
        scores.append((weight / 2 if first == second else max(s, 0), weight))
    return sum(score for score, _ in scores) / sum(weight for _, weight in scores)


def k_occurrences(cosines, k):
    """How often each item is among the k others with the largest cosines in a row; ties share a place."""
    n = len(cosines)
    counts = [0.0] * n
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for j in others:
            above = sum(cosines[i][other] > cosines[i][j] for other in others)
            tied = sum(cosines[i][other] == cosines[i][j] for other in others)
            counts[j] += min(max(k - above, 0), tied) / tied
    return counts


def longest_common_substring(a, b):
    """Length of the longest common run of both sequences."""
    runs = {tuple(a[i:j]) for i in range(len(a)) for j in range(i + 1, len(a) + 1)}
    return max((len(run) for run in runs if any(tuple(b[i : i + len(run)]) == run for i in range(len(b)))), default=0)


def greedy_tiles(a, b, min_length):
    """Wise 1996: number of items that greedy string tiling covers; longest tiles first, then by place."""
    free_a, free_b, covered = set(range(len(a))), set(range(len(b))), 0
    while True:
        matches = [
            (length, i, j)
            for i in range(len(a))
            for j in range(len(b))
            for length in range(min_length, min(len(a) - i, len(b) - j) + 1)
            if all(a[i + k] == b[j + k] and i + k in free_a and j + k in free_b for k in range(length))
        ]
        if not matches:
            return covered
        length, i, j = max(matches, key=lambda match: (match[0], -match[1], -match[2]))
        free_a -= set(range(i, i + length))
        free_b -= set(range(j, j + length))
        covered += length


# Measures of rbo, precision and the like. A list with ties is a list of groups of labels, best first.


def breakings(groups):
    """All ways to break the ties of a list, each as a list of labels; all equally likely."""
    return [list(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, groups))]


def parts(groups, depth, ties):
    """c(e, d) of Corsi and Urbano 2024: how much of each item a list holds at a depth, where it is more than 0."""
    shares, before = {}, 0
    for group in groups:
        for item in group:
            if before + 1 <= depth:
                shares[item] = 1.0 if ties == "w" else min(1.0, (depth - before) / len(group))
        before += len(group)
    return shares


def agreement(x_parts, y_parts, depth, ties):
    overlap = sum(part * y_parts.get(item, 0) for item, part in x_parts.items())
    if ties == "w":
        return 2 * overlap / (sum(x_parts.values()) + sum(y_parts.values()))
    if ties == "a":
        return overlap / depth
    return overlap / math.sqrt(sum(c * c for c in x_parts.values()) * sum(c * c for c in y_parts.values()))


def overlap_to_depth(x, y, p, ties, depth):
    """RBO summed to a depth, with weights (1 - p) p^(d-1)."""
    return sum(
        (1 - p) * p ** (d - 1) * agreement(parts(x, d, ties), parts(y, d, ties), d, ties) for d in range(1, depth + 1)
    )


def items(groups):
    return list(itertools.chain(*groups))


def never_matching(groups, name, depth):
    """Continue with untied items that are in no other list."""
    return groups + [[(name, place)] for place in range(depth)]


def soonest_matching(x, y, depth):
    """Continue both lists with the items that only the other list has, and then with the same items."""
    x_more = [[item] for item in items(y) if item not in items(x)]
    y_more = [[item] for item in items(x) if item not in items(y)]
    shared = [[("both", place)] for place in range(depth)]
    return x + x_more + shared, y + y_more + shared


def extrapolated_overlap(x, y, p, ties, depth):
    """RBO_EXT: the definition of each section, summed to a depth."""
    short, long = sorted([x, y], key=lambda groups: len(items(groups)))
    shorter, longer = len(items(short)), len(items(long))
    total = 0
    for d in range(1, depth + 1):
        held_short, held_long = parts(short, d, ties), parts(long, d, ties)
        if d <= shorter:
            last = now = agreement(held_short, held_long, d, ties)
        elif d <= longer:
            unmatched = [part for item, part in held_long.items() if item not in held_short]
            overlap = sum(part for item, part in held_long.items() if item in held_short)
            overlap += (d - shorter) * last * sum(unmatched) / len(unmatched)
            if ties == "w":
                now = 2 * overlap / (d + sum(held_long.values()))
            elif ties == "a":
                now = overlap / d
            else:
                now = overlap / math.sqrt(d * sum(c * c for c in held_long.values()))
        total += (1 - p) * p ** (d - 1) * now
    return total


def tau_ap(gold, system):
    """Yilmaz et al. 2008, for two orders of labels without ties."""
    n, total = len(system), Fraction(0)
    for i in range(1, n):
        concordant = sum(gold.index(other) < gold.index(system[i]) for other in system[:i])
        total += Fraction(concordant, i)
    return 2 * total / (n - 1) - 1


def tau_ap_b(x, y):
    """Urbano and Marrero 2017, for two lists of scores: the mean of both directions."""

    def one_way(gold, system):
        terms = []
        for i, score in enumerate(system):
            above = [j for j, other in enumerate(system) if other > score]
            if above:
                terms.append(Fraction(sum(gold[j] > gold[i] for j in above), len(above)))
        return 2 * sum(terms) / len(terms) - 1 if terms else None

    values = one_way(x, y), one_way(y, x)
    return None if None in values else sum(values) / 2


def mean_precision(relevance, order):
    hits, total = 0, Fraction(0)
    for place, item in enumerate(order, start=1):
        if relevance[item]:
            hits += 1
            total += Fraction(hits, place)
    return total / hits


def krippendorff_alpha(rows, level):
    """Krippendorff 2011, by the coincidence matrix, in fractions; None is a missing rating.

    1 - (n - 1) sum_{c,k} o_ck d(c, k) / sum_{c,k} n_c n_k d(c, k), where each unit of m > 1 ratings adds, to o_ck,
    the number of its pairs of a rating c with another one k, divided by m - 1.
    """
    units = [[Fraction(row[item]) for row in rows if row[item] is not None] for item in range(len(rows[0]))]
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    coincidences = {(c, k): Fraction(0) for c in values for k in values}
    for unit in units:
        for c, k in itertools.permutations(unit, 2):
            coincidences[c, k] += Fraction(1, len(unit) - 1)
    totals = {c: sum(coincidences[c, k] for k in values) for c in values}
    n = sum(totals.values())

    def difference(c, k):
        if level == "nominal":
            return int(c != k)
        if level == "ordinal":
            between = sum(totals[g] for g in values if min(c, k) <= g <= max(c, k))
            return (between - (totals[c] + totals[k]) / 2) ** 2
        if level == "interval":
            return (c - k) ** 2
        return ((c - k) / (c + k)) ** 2 if c + k else 0

    observed = sum(coincidences[c, k] * difference(c, k) for c in values for k in values)
    expected = sum(totals[c] * totals[k] * difference(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected if expected else None


def kemeny_distance(order, rankings, weights):
    """Weighted mean number of pairs that rankings (dicts of item to rank) order differently; their ties count half."""
    total = 0
    for ranks, weight in zip(rankings, weights, strict=True):
        for one, other in itertools.combinations(order, 2):
            if one in ranks and other in ranks:
                total += weight * (1 if ranks[one] > ranks[other] else 0.5 if ranks[one] == ranks[other] else 0)
    return total / sum(weights)


def weak_orders(n_items):
    """Mid-ranks of every order with ties."""
    return {tuple(midranks(scores)) for scores in itertools.product(range(n_items), repeat=n_items)}


def mean_tau_w(ranks, rankings, weights, f):
    """Weighted mean tau_w of a list of ranks with lists of ranks, in which None is an absent item."""
    values = []
    for ranking, weight in zip(rankings, weights, strict=True):
        present = [item for item, rank in enumerate(ranking) if rank is not None]
        gold = [ranking[item] for item in present]
        system = midranks([-ranks[item] for item in present])
        values.append((weight, weighted_tau(gold, system, item_weights(gold, system, f))))
    return sum(weight * value for weight, value in values) / sum(weights)


def fused_scores(runs, query, method, norm, k=60):
    """Score of each document of a query: runs are dicts of query to dict of document to score; ties share mid-ranks."""
    fused = {}
    for run in runs:
        scores = run.get(query, {})
        documents, numbers = list(scores), list(scores.values())
        if method == "rrf":
            values = [1 / (k + rank) for rank in midranks(numbers)]
        elif len(set(numbers)) < 2:
            values = [0.0 for _ in numbers]
        elif norm == "min-max":
            values = [(score - min(numbers)) / (max(numbers) - min(numbers)) for score in numbers]
        else:
            mean = math.fsum(numbers) / len(numbers)
            spread = math.sqrt(math.fsum((score - mean) ** 2 for score in numbers) / len(numbers))
            values = [(score - mean) / spread for score in numbers]
        for document, value in zip(documents, values, strict=True):
            fused.setdefault(document, []).append(value)
    return {document: sum(values) * (len(values) if method == "combmnz" else 1) for document, values in fused.items()}
