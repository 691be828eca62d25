"""Comparisons for property tests; ties, items never compared and repeated pairs are common."""

import numpy as np
from hypothesis import strategies as st

from adaptive import Comparisons, bradley_terry, thurstone
from adaptive._votes import LEFT, RIGHT, TIE
from tests.adaptive import naive

WORDS = {LEFT: "left", TIE: "tie", RIGHT: "right"}
# One line of text without spaces around it; delimiters, quotes and other scripts are common.
CELLS = st.text(st.sampled_from("aßЖ,;|\"' 1_-"), min_size=1, max_size=6).filter(lambda text: text == text.strip())
LABELS = st.one_of(CELLS, st.tuples(CELLS, CELLS))


@st.composite
def comparisons(draw, *, labels=None, voters=None, min_size=0):
    """Comparisons of 2 to 6 items, numbered unless a strategy of strategies of labels is given; with voters or not."""
    if labels is None:
        items = range(draw(st.integers(2, 6)))
    else:
        kind = draw(labels)
        items = tuple(draw(st.lists(kind, min_size=2, max_size=6, unique=True)))
    pairs = st.tuples(st.integers(0, len(items) - 1), st.integers(1, len(items) - 1))
    row = st.tuples(pairs, st.sampled_from([LEFT, TIE, RIGHT]), st.integers(0, 2))
    rows = draw(st.lists(row, min_size=min_size, max_size=12))
    left = np.array([pair[0] for pair, _, _ in rows], np.int32)
    right = np.array([(pair[0] + pair[1]) % len(items) for pair, _, _ in rows], np.int32)
    winner = np.array([code for _, code, _ in rows], np.int8)
    if not (draw(st.booleans()) if voters is None else voters):
        return Comparisons(items, left, right, winner)
    return Comparisons(items, left, right, winner, ("Ann", "Bob", "Zoë"), np.array([v for _, _, v in rows], np.int32))


def spelt_out(votes):
    """Items and comparisons as the naive twins take them."""
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True)
    return list(votes.items), [(votes.items[left], votes.items[right], WORDS[code]) for left, right, code in columns]


def rows_of(votes):
    """Each comparison by its labels: voter, left, right and winner."""
    _, triples = spelt_out(votes)
    voters = [None] * len(triples) if votes.voter is None else [votes.voters[place] for place in votes.voter.tolist()]
    return [(voter, *triple) for voter, triple in zip(voters, triples, strict=True)]


def small(**changes):
    """Two comparisons of three items by two voters."""
    fields = {"items": ("a", "b", "c"), "left": [0, 1], "right": [1, 2], "winner": [LEFT, TIE]}
    fields |= {"voters": ("Ann", "Bob"), "voter": [0, 1], "n_unanswered": 0}
    return Comparisons(**{**fields, **changes})


OVERSIGHT = st.sampled_from([0.0, 0.03, 0.3])
MODELS = st.sampled_from([(bradley_terry, {"ties": "davidson"}), (bradley_terry, {"ties": "half"}), (thurstone, {})])


def simulated(n_items, n_votes, seed, *, sd=1.5, tie=0.0, n_voters=5, opinion_sd=0.0, discrimination=None):
    """Votes of a logistic curve on random pairs, and the strengths behind them; opinions stay as long as voters."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, sd, n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    voter = rng.integers(0, n_voters, n_votes)
    opinion = theta + opinion_sd * rng.standard_normal((n_voters, n_items))
    a = np.ones(n_voters) if discrimination is None else np.asarray(discrimination)
    margin = a[voter] * (opinion[voter, left] - opinion[voter, right])
    winner = np.where(rng.random(n_votes) < 1 / (1 + np.exp(-margin)), LEFT, RIGHT)
    winner[rng.random(n_votes) < tie] = TIE
    return Comparisons(n_items, left, right, winner, n_voters, voter), theta


def rows(votes, groups):
    """Votes as the naive model takes them; all of one voter unless `groups`."""
    voter = votes.voter if groups else np.zeros(votes.n_comparisons, int)
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), voter.tolist(), strict=True)
    return [(left, right, WORDS[code], v) for left, right, code, v in columns]


def naive_posterior(strengths, oversight=0.03, **changed):
    """Log posterior at the parameters of a fit, of which some may be changed: theta, a, e, s, nu or sd.

    `oversight` is the mean of the prior of oversights, where voters have their own.
    """
    found, model, prior = strengths.parameters, strengths.model, strengths.prior
    own = {"theta": found.theta, "a": found.discrimination, "e": found.oversight, "s": found.side}
    own |= {"nu": found.nu, "sd": found.sd} | changed
    votes = rows(strengths.comparisons, model.voters)
    parameters = (own[name] for name in ("theta", "a", "e", "s", "nu"))
    of_votes = naive.log_likelihood(votes, *parameters, model.link, model.ties == "half")
    total = of_votes + naive.log_normal(own["theta"], own["sd"])
    if model.voters:
        total += naive.log_normal(np.log(own["a"]), prior.discrimination_sd)
        if oversight > 0:
            total += naive.log_beta_on_log_odds(own["e"], oversight, prior.oversight_votes)
    return total + (naive.log_normal(own["s"], prior.side_sd) if model.side_bias else 0.0)
