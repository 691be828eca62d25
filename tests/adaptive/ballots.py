"""Plans, ballots and votes for property tests; ties and unanswered comparisons are common."""

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive._plan import plan_ballots
from adaptive._protocol import run_protocol
from adaptive._votes import UNANSWERED, Vote

SEEDS = st.integers(0, 2**32 - 1)
OPTIONS = {"n_ballots": st.integers(2, 3), "fraction": st.sampled_from([0.5, 0.7, 0.9])}
PLANS = st.builds(plan_ballots, st.integers(8, 14), presentations=st.integers(1, 5), **OPTIONS)


def answers_to(ballot, seed, *, all_answered=False):
    """Random answers, a third of them ties; of the rest some are missing, but none that is an item's only one."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(-1, 2, ballot.n_comparisons).astype(np.int8)
    n_answers = np.bincount(np.concatenate([ballot.left, ballot.right]), minlength=len(ballot.items))
    for comparison in rng.permutation(ballot.n_comparisons)[: 0 if all_answered else ballot.n_comparisons // 3]:
        pair = [ballot.left[comparison], ballot.right[comparison]]
        if (n_answers[pair] > 1).all():
            n_answers[pair] -= 1
            answers[comparison] = UNANSWERED
    return answers


def check_record(record, wanted):
    """The record of a ballot is that of the naive twin."""
    x, y, b, ybar = wanted
    assert_allclose(record.b, float(b), rtol=1e-9)
    for ours, theirs in ((record.x, x), (record.y, y), (record.ybar, ybar)):
        assert_allclose(ours, [float(theirs[item]) for item in record.items], rtol=1e-9, atol=1e-12)


def spelt_out(ballot, answers):
    """A ballot and its answers as the naive twins take them."""
    names = {Vote.LEFT: "left", Vote.RIGHT: "right", Vote.TIE: "tie", Vote.UNANSWERED: None}
    comparisons = [
        (ballot.items[left], ballot.items[right], names[answer])
        for left, right, answer in zip(ballot.left, ballot.right, np.asarray(answers).tolist(), strict=True)
    ]
    return list(ballot.items), comparisons


PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=3)
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "a,\n"), ("=1+1", "Ж")]


def run_and_watch(plan, seed, **options):
    """A result, and the ballots and answers that led to it."""
    seen = []

    def vote(ballot):
        answers = answers_to(ballot, seed + len(seen))
        seen.append((ballot, answers))
        return answers

    options = {"items": plan.n_items, "rng": np.random.default_rng(seed), "voters": 5, **options}
    return run_protocol(plan, vote, **options), seen
