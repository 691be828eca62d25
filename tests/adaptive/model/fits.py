"""Fits for property tests, and the naive posterior that each of them should have maximised."""

import numpy as np
from hypothesis import strategies as st

from adaptive import Comparisons, bradley_terry, thurstone
from adaptive._votes import LEFT, RIGHT, TIE
from tests.adaptive import naive
from tests.adaptive.model.votes import WORDS

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
