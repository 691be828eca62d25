"""Agreement between voters and with themselves, against loops over pairs of answers and another package."""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import binomtest, fisher_exact, norm

from adaptive import bradley_terry, influence, voter_report
from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive.ledger import LedgerError
from adaptive.ledger._ballots.draws import open_comparisons as asked_of
from adaptive.ledger._ballots.stored import NOTHING, Answers, ballot_probes, votes_of
from adaptive.ledger._campaign.settings import KnownPair, Probing
from adaptive.ledger._membership import voter_named
from adaptive.ledger._reports.quality import (
    AnswersByPair,
    Flag,
    FlagLimits,
    Share,
    VoterQuality,
    consistency,
    flags_of,
    is_low,
    quality_of,
    ratings_of,
)
from adaptive.ledger._reports.results import exclusion_preview, result_of
from adaptive.ledger._store.schema import CANNOT_SAY
from adaptive.ledger._votes.imports import record_file
from tests.adaptive.ledger.campaigns import campaign_of, check_ids, pair_ids, query, read


@st.composite
def answers_of_voters(draw, kinds=("",)):
    """Answers on pairs of 4 items by 4 voters in 2 ballots: pairs repeat often, and ties are common."""
    n = draw(st.integers(0, 30))

    def draw_integers(low, high):
        return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), np.int64)

    left = draw_integers(0, 3)
    right = (left + draw_integers(1, 3)) % 4
    ballot = np.sort(draw_integers(1, 2))
    answer = draw_integers(-2, 2)
    answer[answer == -2] = 0
    nothing = np.full(n, NOTHING)
    kind = np.array(draw(st.lists(st.sampled_from(kinds), min_size=n, max_size=n)), "<U9")
    repeats = np.where(kind == "repeat", draw_integers(0, 12), NOTHING)
    return Answers(ballot, np.arange(n), left, right, answer, draw_integers(0, 3), nothing, kind, nothing, repeats)


def first_answers(votes, probes, excluded):
    """First answer of each voter on each pair, with the lower item on the left; ballots in order, votes first."""
    rows = []
    for source, part in enumerate((votes, probes)):
        for at in range(part.answer.size):
            if part.answer[at] == CANNOT_SAY or part.voter[at] in excluded or (source and part.kind[at] != "overlap"):
                continue
            left, right, answer = int(part.left[at]), int(part.right[at]), int(part.answer[at])
            vote = answer if left < right else -answer
            rows.append((int(part.ballot[at]), source, int(part.place[at]), int(part.voter[at]), {left, right}, vote))
    rows.sort(key=lambda row: row[:3])
    result = {}
    for _, _, _, voter, pair, vote in rows:
        result.setdefault((min(pair), max(pair)), {}).setdefault(voter, vote)
    return {pair: answers_by_voter for pair, answers_by_voter in result.items() if len(answers_by_voter) > 1}


PROBES = answers_of_voters(kinds=("overlap", "repeat", "gold"))


@given(answers_of_voters(), PROBES, st.sets(st.integers(0, 3), max_size=2))
def test_agreement_is_that_of_all_pairs_of_answers(votes, probes, excluded):
    ratings = ratings_of(votes, probes, excluded=excluded)
    expected = first_answers(votes, probes, excluded)
    assert ratings.n_pairs == len(expected)
    both = [pair for answers in expected.values() for pair in combinations(answers.values(), 2)]
    assert ratings.agreement() == Share.of(sum(x == y for x, y in both), len(both))
    others, same = ratings.with_others()
    for voter in range(4):
        mask = ratings.voter == voter
        triples = [
            (answers[voter], v, other)
            for answers in expected.values()
            if voter in answers
            for v, other in answers.items()
        ]
        pairs = [(answer, other) for answer, v, other in triples if v != voter]
        assert (others[mask].sum(), same[mask].sum()) == (len(pairs), sum(x == y for x, y in pairs))


@given(answers_of_voters(), PROBES)
def test_alpha_is_that_of_the_pairs_in_both_orders(votes, probes):
    result = ratings_of(votes, probes).alpha()
    expected = first_answers(votes, probes, ())
    units = [sign * np.array(list(answers.values())) for answers in expected.values() for sign in (1, -1)]
    if not any(unit.any() for unit in units):
        assert result is None
        return
    matrix = np.full((4, len(units)), np.nan)
    for at, unit in enumerate(units):
        matrix[: unit.size, at] = unit
    assert_allclose(result, krippendorff.alpha(matrix, level_of_measurement="interval"), atol=1e-12)


@given(answers_of_voters(), PROBES)
def test_a_repeat_is_compared_with_the_answer_of_the_same_voter(votes, probes):
    voters, same = consistency(votes, probes)
    expected = []
    for at in np.flatnonzero(probes.kind == "repeat").tolist():
        places = np.flatnonzero((votes.ballot == probes.ballot[at]) & (votes.place == probes.repeats[at])).tolist()
        if (
            places
            and votes.voter[places[0]] == probes.voter[at]
            and CANNOT_SAY not in (votes.answer[places[0]], probes.answer[at])
        ):
            expected.append((int(probes.voter[at]), bool(probes.answer[at] == -votes.answer[places[0]])))
    assert list(zip(voters.tolist(), same.tolist(), strict=True)) == expected


def interval_of(values, weights, level):
    """Interval of the means between 0 and 1 that the score test with maximal variance does not reject."""
    mean = sum(w * v for v, w in zip(values, weights, strict=True)) / sum(weights)
    n = sum(weights) ** 2 / sum(w * w for w in weights)
    z = norm.ppf((1 + level) / 2)

    def excess(p):
        return (mean - p) ** 2 - z * z * p * (1 - p) / n

    off = 1e-12  # a mean of 0 or 1 is a second root
    low = brentq(excess, 0, mean - off, xtol=1e-14) if mean > 0 else 0.0
    high = brentq(excess, mean + off, 1, xtol=1e-14) if mean < 1 else 1.0
    return low, high


@given(answers_of_voters(), PROBES, st.sampled_from([0.5, 0.9, 0.99]))
def test_intervals_hold_the_means_that_the_score_test_does_not_reject(votes, probes, level):
    ratings = ratings_of(votes, probes)
    units = [list(answers_by_voter.values()) for answers_by_voter in first_answers(votes, probes, ()).values()]
    couples = [list(combinations(unit, 2)) for unit in units]
    if not units:
        assert ratings.agreement_interval(level) is None
        return
    agreements = [np.mean([x == y for x, y in couples_of_pair]) for couples_of_pair in couples]
    expected = interval_of(agreements, [len(couples_of_pair) for couples_of_pair in couples], level)
    assert_allclose(ratings.agreement_interval(level), expected, atol=1e-9)
    decided = [sum(x != 0 for x in unit) for unit in units]
    if not any(decided):
        assert ratings.alpha_interval(level) is None
        return
    # Two answers differ by at most 2; (x - y)^2 is averaged over the couples of a pair, for each answer that is no tie.
    agreements_of_alpha = [
        1 - len(unit) * np.mean([(x - y) ** 2 for x, y in couples_of_pair]) / (4 * n) if n else 0
        for unit, couples_of_pair, n in zip(units, couples, decided, strict=True)
    ]
    n = sum(map(len, units))
    expected = [1 - (2 * n - 1) / n * (1 - end) for end in interval_of(agreements_of_alpha, decided, level)]
    assert_allclose(ratings.alpha_interval(level), expected, atol=1e-9)
    low, high = ratings.alpha_interval(level)
    assert low <= ratings.alpha() <= high


@pytest.mark.wide
def test_intervals_have_their_nominal_coverage():
    """Pairs differ in difficulty, and two to four voters answer each; one in ten answers is a tie."""
    rng = np.random.default_rng(5)
    n_pairs, n_times = 20, 600

    def draw_ratings(n):
        sizes = rng.integers(2, 5, n)
        share = np.repeat(rng.beta(0.8, 0.8, n), sizes)
        answers = np.where(rng.random(share.size) < share, 1, -1)
        answers[rng.random(answers.size) < 0.1] = 0
        return AnswersByPair(np.repeat(np.arange(n), sizes), np.arange(answers.size), answers)

    truth = draw_ratings(300_000)
    expected = {"agreement": truth.agreement().share, "alpha": truth.alpha()}
    times = [draw_ratings(n_pairs) for _ in range(n_times)]
    for name, value in expected.items():
        ends = np.array([getattr(ratings, f"{name}_interval")(0.9) for ratings in times])
        coverage = np.mean((ends[:, 0] <= value) & (value <= ends[:, 1]))
        assert 0.9 - 3 * np.sqrt(0.09 / n_times) <= coverage


PLAN = plan_ballots(10, n_ballots=2, fraction=0.5, presentations=30)
KNOWN = (KnownPair("attention", 0, 9, "left"), KnownPair("gold", 1, 8, "left"), KnownPair("gold", 5, 4, "right"))
PROBING = Probing(KNOWN, 2, 0.2, 0.3)
SEED = 3


@pytest.fixture
def campaign_and_rows(ledger):
    """Six voters on 150 comparisons: 1 answers fast and at random, 2 always left; the others prefer smaller numbers."""
    campaign = campaign_of(ledger, plan=PLAN, n_voters=6, seed=SEED, probing=PROBING, sheet_size=9)
    rng = np.random.default_rng(7)
    rows = []
    for comparison in read(campaign, asked_of):
        answer = "left" if comparison.left < comparison.right else "right"
        if abs(comparison.left - comparison.right) == 1:
            answer = "tie" if rng.random() < 0.5 else answer
        if comparison.voter == "1":
            answer = str(rng.choice(["left", "right"]))
        if comparison.voter == "2":
            answer = "left"
        if comparison.voter == "3" and rng.random() < 0.1:
            answer = "cannot say"
        seconds = f"{rng.uniform(0.2, 0.9) if comparison.voter == '1' else rng.uniform(2, 6):.3f}"
        extra = (("seconds", seconds),) if comparison.voter != "4" else ()
        rows.append(VoteRow(2, comparison.id, None, None, None, answer, extra))
    rows = [row for row in rows if rng.random() < 0.95]
    record_file(campaign, VoteFile("votes.csv", tuple(rows)))
    return campaign, rows


@pytest.fixture
def campaign(campaign_and_rows):
    return campaign_and_rows[0]


def test_each_column_is_computed_from_the_votes(campaign_and_rows):
    campaign, rows = campaign_and_rows
    comparisons = {comparison.id: comparison for comparison in read(campaign, asked_of)}
    probes = campaign.read(ballot_probes, campaign.ballots()[0].id)
    answers, ids = {row.comparison: row.answer for row in rows}, pair_ids(campaign)
    probes = dict(zip(check_ids(campaign), probes, strict=True))
    seconds = defaultdict(list)
    votes, left, known, repeats = (defaultdict(list) for _ in range(4))
    words = {1: "left", 0: "tie", -1: "right"}
    for row in rows:
        voter = comparisons[row.comparison].voter
        probe = probes.get(row.comparison)
        if probe is not None:
            if probe.kind in ("attention", "gold"):
                known[voter, probe.kind].append(row.answer == words[probe.expected])
            first = None if probe.repeats is None else answers.get(ids[probe.repeats])
            if probe.kind == "repeat" and "cannot say" not in (first, row.answer) and first is not None:
                swap = {"left": "right", "right": "left", "tie": "tie"}
                repeats[voter].append(swap[first] == row.answer)
            continue
        votes[voter].append(row.answer)
        seconds[voter] += [round(float(value), 3) for _, value in row.extra]
        if row.answer in ("left", "right"):
            left[voter].append(row.answer == "left")
    result = read(campaign, quality_of, FlagLimits(fast_seconds=1))
    assert [entry.voter for entry in result.voters] == ["0", "1", "2", "3", "4", "5"]
    for entry in result.voters:
        voters_answers = votes[entry.voter]
        assert (entry.n_votes, entry.n_cannot_say) == (len(voters_answers), voters_answers.count("cannot say"))
        assert entry.left == share(left[entry.voter])
        assert (entry.attention, entry.gold) == (
            share(known[entry.voter, "attention"]),
            share(known[entry.voter, "gold"]),
        )
        assert entry.repeats == share(repeats[entry.voter])
        assert entry.fast == share([value < 1 for value in seconds[entry.voter]])
        if entry.voter == "4":
            assert entry.seconds is None
        else:
            assert_allclose(entry.seconds, np.median(seconds[entry.voter]), atol=1e-9)
        assert entry.left_low <= entry.left.share <= entry.left_high
    assert {row.repeats.n for row in result.voters} != {0}
    assert result.voters[3].n_cannot_say


def share(values):
    return Share.of(sum(values), len(values))


def test_suspicious_voters_are_flagged(campaign):
    result = {row.voter: {flag.kind for flag in row.flags} for row in read(campaign, quality_of).voters}
    assert {"speed", "random"} <= result["1"]
    assert {"side", "repeats"} <= result["2"]  # a voter who always answers left is not random
    assert [result[voter] for voter in "0345"] == [set()] * 4


def test_the_model_is_that_of_the_votes(campaign):
    report = voter_report(bradley_terry(read(campaign, votes_of), voters=True))
    by_voter = {row.voter: row for row in read(campaign, quality_of).voters}
    for at, voter in enumerate(report.voters):
        for name in ("discrimination", "oversight", "random"):
            assert_allclose(getattr(by_voter[voter], name), getattr(report, name)[at], atol=1e-9)
    assert {row.random for row in read(campaign, quality_of, FlagLimits(model_votes=1000)).voters} == {None}


def test_an_excluded_voter_is_compared_only_with_included_ones(campaign):
    before = read(campaign, quality_of)
    campaign.voters.named("1").exclude("fast")
    after = read(campaign, quality_of)
    assert [row.excluded for row in after.voters] == [False, True, False, False, False, False]
    assert after.voters[1].agreement == before.voters[1].agreement
    assert after.voters[1].random is None
    assert after.agreement.n < before.agreement.n  # the others still have all pairs in common
    assert after.alpha > before.alpha
    of_others = [row.agreement for row in after.voters if not row.excluded]
    assert after.agreement == Share.of(sum(x.n_so for x in of_others) // 2, sum(x.n for x in of_others) // 2)


def test_a_campaign_without_answers_has_no_quality(ledger):
    campaign = campaign_of(ledger, probing=PROBING, plan=PLAN)
    result = read(campaign, quality_of)
    assert (result.voters, result.n_pairs, result.n_missing, result.agreement) == ((), 0, 20, Share.of(0, 0))
    assert (result.alpha, result.alpha_low, result.agreement_high) == (None, None, None)


def test_agreement_has_an_interval_and_needs_enough_pairs(campaign, monkeypatch):
    result = read(campaign, quality_of)
    assert result.n_missing == 0
    assert result.agreement_low < result.agreement.share < result.agreement_high
    assert result.alpha_low < result.alpha < result.alpha_high
    monkeypatch.setattr("adaptive.ledger._reports.quality.LEAST_PAIRS", result.n_pairs + 2)
    few = read(campaign, quality_of)
    assert (few.n_missing, few.agreement) == (2, result.agreement)
    assert {few.agreement_low, few.agreement_high, few.alpha, few.alpha_low, few.alpha_high} == {None}


def test_a_preview_equals_the_result_of_the_exclusion(campaign):
    before = query(campaign, "SELECT * FROM audit_event")
    voter = read(campaign, voter_named, "2")
    preview = read(campaign, exclusion_preview, voter)
    assert query(campaign, "SELECT * FROM audit_event") == before
    expected = influence(bradley_terry(read(campaign, votes_of)), "2")
    assert_allclose(preview.tau_w, expected.statistic, atol=1e-9)
    assert (preview.n_votes, preview.excluded) == (expected.n_votes, False)
    assert preview.n_votes + preview.n_others == read(campaign, votes_of).n_comparisons
    campaign.voter(voter).exclude("fast")
    assert_allclose(read(campaign, result_of, interim=True).agreement, preview.tau_w, atol=1e-9)
    back = read(campaign, exclusion_preview, voter)
    assert back.excluded
    assert (back.tau_w, back.n_votes, back.n_others) == (preview.tau_w, preview.n_votes, preview.n_others)
    rank, rank_without = expected.rank.tolist(), expected.rank_without.tolist()
    assert preview.changes
    assert all((now, then) == (rank[item], rank_without[item]) for item, now, then in preview.changes)
    assert all((now, then) == (rank_without[item], rank[item]) for item, now, then in back.changes)
    moved = sorted((abs(then - now) for now, then in zip(rank, rank_without, strict=True)), reverse=True)
    assert [abs(then - now) for _, now, then in preview.changes] == [move for move in moved[:5] if move]


def test_a_report_says_whether_the_scores_contain_excluded_voters(ledger):
    campaign = campaign_of(ledger)

    def answer_and_close(number):
        pairs = campaign.asked(number=number)
        campaign.record({pair.id: "left" if pair.left < pair.right else "right" for pair in pairs})
        campaign.close(number)

    answer_and_close(1)
    campaign.voters.named("1").exclude("fast")
    left_out = "The votes of 1 further voter were left out"
    assert f"{left_out}. We fitted" in campaign.result(interim=True).report().methods
    campaign.voters.named("1").include("a mistake")
    campaign.open_next()
    answer_and_close(2)
    campaign.voters.named("1").exclude("fast")
    expected = f"{left_out}, except from the scores of ballots closed before. The scores of the protocol rank the items"
    assert expected in campaign.result().report().methods


def test_a_preview_without_difference_is_refused(ledger):
    campaign = campaign_of(ledger, n_voters=2)
    voter = read(campaign, voter_named, "1")
    with pytest.raises(LedgerError, match="voter '1' has no votes: there is no difference to show"):
        read(campaign, exclusion_preview, voter)
    rows = [row for row in read(campaign, asked_of) if row.voter == "1"]
    rows = tuple(VoteRow(2, row.id, None, None, None, "left") for row in rows)
    record_file(campaign, VoteFile("votes.csv", rows))
    with pytest.raises(LedgerError, match="all others who count have no votes"):
        read(campaign, exclusion_preview, voter)


NO_SHARE, SHARE_OF_OTHERS = Share.of(0, 0), Share.of(70, 100)
VOTER = VoterQuality(
    "Ann", "k", False, 40, 0, 3.0, Share.of(0, 40), Share.of(20, 40), 0.4, 0.6, NO_SHARE, NO_SHARE, NO_SHARE, NO_SHARE
)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({}, []),
        ({"fast": Share.of(12, 40)}, []),
        ({"fast": Share.of(13, 40)}, ["speed"]),
        ({"fast": NO_SHARE, "left": NO_SHARE}, []),
        # scipy.stats.binomtest(30, 40).proportion_ci(0.999, "wilson") begins at 0.490, that of 31 at 0.515.
        ({"left": Share.of(30, 40)}, []),
        ({"left": Share.of(31, 40)}, ["side"]),
        ({"left": Share.of(9, 40)}, ["side"]),
        ({"left": Share.of(10, 40)}, []),
        ({"attention": Share.of(0, 1)}, []),
        ({"attention": Share.of(6, 8)}, []),
        ({"attention": Share.of(5, 8)}, ["attention"]),
        ({"gold": Share.of(0, 2)}, ["gold"]),
        # scipy.stats.fisher_exact([[k, 10 - k], [70, 30]], "less") is .0160 for k = 3, and .0029 for k = 2.
        ({"repeats": Share.of(0, 3)}, []),
        ({"repeats": Share.of(3, 10)}, []),
        ({"repeats": Share.of(2, 10)}, ["repeats"]),
        ({"agreement": Share.of(3, 10)}, []),
        ({"agreement": Share.of(2, 10)}, ["agreement"]),
        ({"random": 0.5}, []),
        ({"random": 0.51}, ["random"]),
    ],
)
def test_flags_begin_at_their_limits(change, kinds):
    result = list(flags_of(replace(VOTER, **change), FlagLimits(), SHARE_OF_OTHERS, SHARE_OF_OTHERS))
    assert [flag.kind for flag in result] == kinds


@pytest.mark.parametrize(("n_so", "n"), [(0, 5), (3, 7), (40, 40), (250, 500)])
def test_the_interval_of_the_side_is_wilsons(n_so, n):
    expected = binomtest(n_so, n).proportion_ci(0.9, "wilson")
    assert_allclose(Share.of(n_so, n).interval(0.9), expected, atol=1e-12)
    assert NO_SHARE.interval(0.9) is None


shares = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda numbers: Share.of(min(numbers), max(numbers)))


@given(shares, shares, st.floats(0.001, 0.999))
def test_low_shares_are_those_of_fishers_test(voters_share, others, unlikely):
    if not voters_share.n or not others.n:
        assert not is_low(voters_share, others, unlikely)
        return
    table = [[one_share.n_so, one_share.n - one_share.n_so] for one_share in (voters_share, others)]
    expected = fisher_exact(table, "less").pvalue
    assume(abs(expected - unlikely) > 1e-9)
    assert is_low(voters_share, others, unlikely) == (expected < unlikely)


def test_flags_state_their_reasons():
    slow = replace(VOTER, fast=Share.of(39, 40), gold=Share.of(1, 4), repeats=Share.of(1, 8))
    assert not list(flags_of(replace(VOTER, repeats=Share.of(0, 99)), FlagLimits(), NO_SHARE, NO_SHARE))
    assert list(flags_of(slow, FlagLimits(fast_seconds=2), SHARE_OF_OTHERS, SHARE_OF_OTHERS)) == [
        Flag("speed", "39 of 40 answers took less than 2 s"),
        Flag("gold", "1 of 4 gold pairs answered as expected"),
        Flag("repeats", "1 of 8 repeated comparisons got the same answer; 70% by the other voters"),
    ]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"fast_seconds": -1}, "fast_seconds must be a finite number from 0 on; got -1"),
        ({"unlikely": -0.1}, r"unlikely must be a number from 0 to 1; got -0\.1"),
        ({"side_level": 1}, "side_level must be a finite number above 0 and below 1; got 1"),
        ({"known_wrong": 0}, "known_wrong must be a positive whole number; got 0"),
    ],
)
def test_limits_out_of_range_are_refused(limits, message):
    with pytest.raises(LedgerError, match=message):
        FlagLimits(**limits)
