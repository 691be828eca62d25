"""Plans, votings and comparisons for tests; ties, items never compared and repeated pairs are common."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive import Comparisons, bradley_terry, thurstone
from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive._protocol import Position, ballot_rng, checked_items, checked_labels, close_ballot, run_protocol
from adaptive._record import ProtocolResult
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED, Vote, comparisons_of
from adaptive.errors import ProtocolError
from tests.adaptive import naive

NO_INTEGERS = [True, np.True_, 2.0, np.float64(2), math.nan, "2", None, [2], Fraction(2)]
NOT_POSITIVE = [0, -1, -0.5, math.nan, math.inf, True, "5", 10**400]
PAPER = {"n_ballots": 7, "fraction": 0.5}  # section 2.5, with 990 items and M = 20


@st.composite
def shapes(draw, max_items=500):
    """Items, ballots and a fraction that leave two items for the last ballot."""
    n_items = draw(st.integers(2, max_items))
    n_ballots = draw(st.integers(2, 14))
    fraction = draw(st.sampled_from([0.25, 0.5, 0.9]) | st.floats(0.01, 0.99))
    assume(min(naive_sizes(n_items, n_ballots, fraction)) >= 2)
    return n_items, {"n_ballots": n_ballots, "fraction": fraction}


def naive_sizes(n_items, n_ballots, fraction):
    """Eq. 2 with Python's round."""
    sizes = [n_items]
    while len(sizes) < n_ballots:
        sizes.append(round(fraction * sizes[-1]))
    return sizes


SEEDS = st.integers(0, 2**32 - 1)
OPTIONS = {"n_ballots": st.integers(2, 3), "fraction": st.sampled_from([0.5, 0.7, 0.9])}
PLANS = st.builds(plan_ballots, st.integers(8, 14), presentations=st.integers(1, 5), **OPTIONS)


def answers_to(ballot, seed):
    """Random answers, a third of them ties; some others are missing, but every item keeps an answer."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(-1, 2, ballot.n_comparisons).astype(np.int8)
    n_answers = np.bincount(np.concatenate([ballot.left, ballot.right]), minlength=len(ballot.items))
    for comparison in rng.permutation(ballot.n_comparisons)[: ballot.n_comparisons // 3]:
        pair = [ballot.left[comparison], ballot.right[comparison]]
        if (n_answers[pair] > 1).all():
            n_answers[pair] -= 1
            answers[comparison] = UNANSWERED
    return answers


def check_record(record, expected):
    """Check that the record of a ballot equals that of the naive implementation."""
    x, y, b, ybar = expected
    assert_allclose(record.b, float(b), rtol=1e-9)
    for ours, theirs in ((record.x, x), (record.y, y), (record.ybar, ybar)):
        assert_allclose(ours, [float(theirs[item]) for item in record.items], rtol=1e-9, atol=1e-12)


def naive_ballot(ballot, answers):
    """A ballot and its answers in the form of the naive implementation."""
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
    answered_ballots = []

    def vote(ballot):
        answers = answers_to(ballot, seed + len(answered_ballots))
        answered_ballots.append((ballot, answers))
        return answers

    options = {"items": plan.n_items, "rng": np.random.default_rng(seed), "voters": 5, **options}
    return run_protocol(plan, vote, **options), answered_ballots


class Voting:
    """The successive ballots of a plan, each drawn and cut with separate random streams."""

    def __init__(self, plan, items, voters, seed):
        self.plan, self.seed = plan, seed
        self.items, self.voters = checked_items(plan, items), checked_labels(voters, "voters")
        self.position, self.records, self.boxes = Position.first(plan), (), []

    @property
    def is_open(self):
        return len(self.boxes) > len(self.records)

    @property
    def is_finished(self):
        return len(self.records) == self.plan.n_ballots

    @property
    def ballot(self):
        return self.boxes[-1][0]

    def open_ballot(self):
        number = len(self.boxes) + 1
        rng = ballot_rng(self.seed, number, "draw")
        ballot = draw_ballot(self.position.labels(self.items), self.plan.presentations, self.voters, rng)
        self.boxes.append((ballot, np.full(ballot.n_comparisons, UNANSWERED, np.int8)))
        return ballot

    def comparisons(self):
        return comparisons_of(self.ballot, len(self.boxes))

    def record(self, votes):
        for comparison, winner in dict(votes).items():
            number, place = map(int, comparison.split("-"))
            self.boxes[number - 1][1][place] = winner if isinstance(winner, Vote) else Vote[winner.upper()]

    def close_ballot(self):
        number = len(self.boxes)
        rng = ballot_rng(self.seed, number, "cut")
        record, self.position = close_ballot(self.plan, self.position, *self.boxes[-1], rng=rng)
        self.records = (*self.records, record)
        return record

    @property
    def answered_ballots(self):
        return tuple((ballot, answers.copy()) for ballot, answers in self.boxes)

    def result(self):
        if not self.is_finished:
            raise ProtocolError("ballots are missing")
        return ProtocolResult(self.plan, self.items, self.position.mean, self.records)


WORDS = {LEFT: "left", TIE: "tie", RIGHT: "right"}
# One line of text without spaces around it; delimiters, quotes and other scripts are common.
CELLS = st.text(st.sampled_from("aßЖ,;|\"' 1_-"), min_size=1, max_size=6).filter(lambda text: text == text.strip())
LABELS = st.one_of(CELLS, st.tuples(CELLS, CELLS))


@st.composite
def comparisons(draw, *, labels=None, voters=None, min_size=0):
    """Comparisons of 2 to 6 items, numbered unless `labels` is a strategy of strategies; with voters or not."""
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


def items_and_triples(votes):
    """Items and comparisons in the form of the naive implementation."""
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True)
    return list(votes.items), [(votes.items[left], votes.items[right], WORDS[code]) for left, right, code in columns]


def rows_of(votes):
    """Each comparison by its labels: voter, left, right and winner."""
    _, triples = items_and_triples(votes)
    voters = [None] * len(triples) if votes.voter is None else [votes.voters[place] for place in votes.voter.tolist()]
    return [(voter, *triple) for voter, triple in zip(voters, triples, strict=True)]


def small_comparisons(**changes):
    """Two comparisons of three items by two voters."""
    fields = {"items": ("a", "b", "c"), "left": [0, 1], "right": [1, 2], "winner": [LEFT, TIE]}
    fields |= {"voters": ("Ann", "Bob"), "voter": [0, 1], "n_unanswered": 0}
    return Comparisons(**{**fields, **changes})


OVERSIGHT = st.sampled_from([0.0, 0.03, 0.3])
MODELS = st.sampled_from([(bradley_terry, {"ties": "davidson"}), (bradley_terry, {"ties": "half"}), (thurstone, {})])


def simulate_votes(n_items, n_votes, seed, *, sd=1.5, tie=0.0, n_voters=5, opinion_sd=0.0, discrimination=None):
    """Logistic votes on random pairs, and the true strengths; a voter's opinions do not change."""
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
    """Votes in the form of the naive model; all by one voter unless `groups`."""
    voter = votes.voter if groups else np.zeros(votes.n_comparisons, int)
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), voter.tolist(), strict=True)
    return [(left, right, WORDS[code], v) for left, right, code, v in columns]


def naive_posterior(strengths, oversight=0.03, **changed):
    """Log posterior at the parameters of a fit; some may be changed: theta, a, e, s, nu or sd.

    `oversight` is the prior mean of oversights if voters have separate ones.
    """
    result, model, prior = strengths.parameters, strengths.model, strengths.prior
    parameter_values = {"theta": result.theta, "a": result.discrimination, "e": result.oversight, "s": result.side}
    parameter_values |= {"nu": result.nu, "sd": result.sd} | changed
    votes = rows(strengths.comparisons, model.voters)
    parameters = (parameter_values[name] for name in ("theta", "a", "e", "s", "nu"))
    of_votes = naive.log_likelihood(votes, *parameters, model.link, model.ties == "half")
    total = of_votes + naive.log_normal(parameter_values["theta"], parameter_values["sd"])
    if model.voters:
        total += naive.log_normal(np.log(parameter_values["a"]), prior.discrimination_sd)
        if oversight > 0:
            total += naive.log_beta_on_log_odds(parameter_values["e"], oversight, prior.oversight_votes)
    return total + (naive.log_normal(parameter_values["s"], prior.side_sd) if model.side_bias else 0.0)
