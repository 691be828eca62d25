"""The report on the voters of a campaign, against what its rows say."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest, fisher_exact

from adaptive import bradley_terry, influence, voter_report
from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive.ledger import LedgerError
from adaptive.ledger._ballots.sheets import open_comparisons as asked_of
from adaptive.ledger._ballots.stored import ballot_probes, votes_of
from adaptive.ledger._campaign.info import KnownPair, Probing
from adaptive.ledger._reports.agreement import Flag, Limits, Share, VoterQuality, flags_of, is_low
from adaptive.ledger._reports.quality import exclusion_preview, quality_of
from adaptive.ledger._reports.results import result_of
from adaptive.ledger._voters.identity import voter_named
from adaptive.ledger._votes.recording import record_file
from tests.adaptive.ledger.campaigns import campaign_of, check_ids, pair_ids, query, read

PLAN = plan_ballots(10, n_ballots=2, fraction=0.5, presentations=30)
KNOWN = (KnownPair("attention", 0, 9, "left"), KnownPair("gold", 1, 8, "left"), KnownPair("gold", 5, 4, "right"))
PROBING = Probing(KNOWN, 2, 0.2, 0.3)
SEED = 3


@pytest.fixture
def campaign(ledger):
    """Six voters on 150 comparisons: 1 answers fast and at random, 2 always left; smaller is better to the others."""
    made = campaign_of(ledger, plan=PLAN, n_voters=6, seed=SEED, probing=PROBING, sheet_size=9)
    rng = np.random.default_rng(7)
    rows = []
    for each in read(made, asked_of):
        answer = "left" if each.left < each.right else "right"
        if abs(each.left - each.right) == 1:
            answer = "tie" if rng.random() < 0.5 else answer
        if each.voter == "1":
            answer = str(rng.choice(["left", "right"]))
        if each.voter == "2":
            answer = "left"
        if each.voter == "3" and rng.random() < 0.1:
            answer = "cannot say"
        seconds = f"{rng.uniform(0.2, 0.9) if each.voter == '1' else rng.uniform(2, 6):.3f}"
        extra = (("seconds", seconds),) if each.voter != "4" else ()
        rows.append(VoteRow(2, each.id, None, None, None, answer, extra))
    rows = [row for row in rows if rng.random() < 0.95]
    record_file(made, VoteFile("votes.csv", tuple(rows)))
    return made, rows


def test_each_column_is_what_the_rows_say(campaign):
    made, rows = campaign
    shown = {each.id: each for each in read(made, asked_of)}
    probes = made.read(ballot_probes, made.ballots()[0].id)
    said, ids = {row.comparison: row.answer for row in rows}, pair_ids(made)
    probes = dict(zip(check_ids(made), probes, strict=True))
    seconds = defaultdict(list)
    votes, left, known, repeats = (defaultdict(list) for _ in range(4))
    words = {1: "left", 0: "tie", -1: "right"}
    for row in rows:
        voter = shown[row.comparison].voter
        probe = probes.get(row.comparison)
        if probe is not None:
            if probe.kind in ("attention", "gold"):
                known[voter, probe.kind].append(row.answer == words[probe.expected])
            first = None if probe.repeats is None else said.get(ids[probe.repeats])
            if probe.kind == "repeat" and "cannot say" not in (first, row.answer) and first is not None:
                swap = {"left": "right", "right": "left", "tie": "tie"}
                repeats[voter].append(swap[first] == row.answer)
            continue
        votes[voter].append(row.answer)
        seconds[voter] += [round(float(value), 3) for _, value in row.extra]
        if row.answer in ("left", "right"):
            left[voter].append(row.answer == "left")
    found = read(made, quality_of, Limits(fast_seconds=1))
    assert [each.voter for each in found.voters] == ["0", "1", "2", "3", "4", "5"]
    for each in found.voters:
        own = votes[each.voter]
        assert (each.n_votes, each.n_cannot_say) == (len(own), own.count("cannot say"))
        assert each.left == share(left[each.voter])
        assert (each.attention, each.gold) == (share(known[each.voter, "attention"]), share(known[each.voter, "gold"]))
        assert each.repeats == share(repeats[each.voter])
        assert each.fast == share([value < 1 for value in seconds[each.voter]])
        if each.voter == "4":
            assert each.seconds is None
        else:
            assert_allclose(each.seconds, np.median(seconds[each.voter]), atol=1e-9)
        assert each.left_low <= each.left.share <= each.left_high
    assert {each.repeats.n for each in found.voters} != {0}
    assert found.voters[3].n_cannot_say


def share(values):
    return Share.of(sum(values), len(values))


def test_whom_to_look_at(campaign):
    made, _ = campaign
    found = {each.voter: {flag.kind for flag in each.flags} for each in read(made, quality_of).voters}
    assert {"speed", "random"} <= found["1"]
    assert {"side", "repeats"} <= found["2"]  # whoever always says left flips no coins
    assert [found[voter] for voter in "0345"] == [set()] * 4


def test_the_model_is_that_of_the_votes(campaign):
    made, _ = campaign
    report = voter_report(bradley_terry(read(made, votes_of), voters=True))
    by_voter = {each.voter: each for each in read(made, quality_of).voters}
    for at, voter in enumerate(report.voters):
        for name in ("discrimination", "oversight", "random"):
            assert_allclose(getattr(by_voter[voter], name), getattr(report, name)[at], atol=1e-9)
    assert {each.random for each in read(made, quality_of, Limits(model_votes=1000)).voters} == {None}


def test_a_voter_who_is_left_out_is_held_against_the_others_alone(campaign):
    made, _ = campaign
    before = read(made, quality_of)
    made.voters.named("1").exclude("fast")
    after = read(made, quality_of)
    assert [each.excluded for each in after.voters] == [False, True, False, False, False, False]
    assert after.voters[1].agreement == before.voters[1].agreement
    assert after.voters[1].random is None
    assert after.agreement.n < before.agreement.n  # the others have all pairs in common, as before
    assert after.alpha > before.alpha
    of_others = [each.agreement for each in after.voters if not each.excluded]
    assert after.agreement == Share.of(sum(x.n_so for x in of_others) // 2, sum(x.n for x in of_others) // 2)


def test_nobody_has_answered(ledger):
    made = campaign_of(ledger, probing=PROBING, plan=PLAN)
    found = read(made, quality_of)
    assert (found.voters, found.n_pairs, found.n_missing, found.agreement) == ((), 0, 20, Share.of(0, 0))
    assert (found.alpha, found.alpha_low, found.agreement_high) == (None, None, None)


def test_agreement_comes_with_its_interval_and_only_with_enough_pairs(campaign, monkeypatch):
    made, _ = campaign
    found = read(made, quality_of)
    assert found.n_missing == 0
    assert found.agreement_low < found.agreement.share < found.agreement_high
    assert found.alpha_low < found.alpha < found.alpha_high
    monkeypatch.setattr("adaptive.ledger._reports.quality.LEAST_PAIRS", found.n_pairs + 2)
    few = read(made, quality_of)
    assert (few.n_missing, few.agreement) == (2, found.agreement)
    assert {few.agreement_low, few.agreement_high, few.alpha, few.alpha_low, few.alpha_high} == {None}


def test_a_preview_is_what_leaving_out_gives(campaign):
    made, _ = campaign
    before = query(made, "SELECT * FROM audit_event")
    voter = read(made, voter_named, "1")
    seen = read(made, exclusion_preview, voter)
    assert query(made, "SELECT * FROM audit_event") == before
    wanted = influence(bradley_terry(read(made, votes_of)), "1")
    assert_allclose(seen.tau_w, wanted.statistic, atol=1e-9)
    assert (seen.n_votes, seen.excluded) == (wanted.n_votes, False)
    assert seen.n_votes + seen.n_others == read(made, votes_of).n_comparisons
    made.voter(voter).exclude("fast")
    assert_allclose(read(made, result_of, interim=True).agreement, seen.tau_w, atol=1e-9)
    back = read(made, exclusion_preview, voter)
    assert (back.excluded, back.tau_w, back.n_votes, back.n_others) == (True, seen.tau_w, seen.n_votes, seen.n_others)
    rank, without = wanted.rank.tolist(), wanted.rank_without.tolist()
    assert seen.changes
    assert all((now, then) == (rank[item], without[item]) for item, now, then in seen.changes)
    assert all((now, then) == (without[item], rank[item]) for item, now, then in back.changes)
    moved = sorted((abs(then - now) for now, then in zip(rank, without, strict=True)), reverse=True)
    assert [abs(then - now) for _, now, then in seen.changes] == [move for move in moved[:5] if move]


def test_there_must_be_a_difference_to_show(ledger):
    made = campaign_of(ledger, n_voters=2)
    voter = read(made, voter_named, "1")
    with pytest.raises(LedgerError, match="voter '1' has no votes: there is no difference to show"):
        read(made, exclusion_preview, voter)
    rows = [row for row in read(made, asked_of) if row.voter == "1"]
    rows = tuple(VoteRow(2, row.id, None, None, None, "left") for row in rows)
    record_file(made, VoteFile("votes.csv", rows))
    with pytest.raises(LedgerError, match="all others who count have no votes"):
        read(made, exclusion_preview, voter)


NONE, OTHERS = Share.of(0, 0), Share.of(70, 100)
VOTER = VoterQuality("Ann", "k", False, 40, 0, 3.0, Share.of(0, 40), Share.of(20, 40), 0.4, 0.6, NONE, NONE, NONE, NONE)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({}, []),
        ({"fast": Share.of(12, 40)}, []),
        ({"fast": Share.of(13, 40)}, ["speed"]),
        ({"fast": NONE, "left": NONE}, []),
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
    found = list(flags_of(replace(VOTER, **change), Limits(), OTHERS, OTHERS))
    assert [flag.kind for flag in found] == kinds


@pytest.mark.parametrize(("n_so", "n"), [(0, 5), (3, 7), (40, 40), (250, 500)])
def test_the_interval_of_the_side_is_wilsons(n_so, n):
    wanted = binomtest(n_so, n).proportion_ci(0.9, "wilson")
    assert_allclose(Share.of(n_so, n).interval(0.9), wanted, atol=1e-12)
    assert NONE.interval(0.9) is None


shares = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda each: Share.of(min(each), max(each)))


@given(shares, shares, st.floats(0.001, 0.999))
def test_few_are_as_unlikely_as_fishers_test_says(own, others, unlikely):
    if not own.n or not others.n:
        assert not is_low(own, others, unlikely)
        return
    table = [[each.n_so, each.n - each.n_so] for each in (own, others)]
    wanted = fisher_exact(table, "less").pvalue
    assume(abs(wanted - unlikely) > 1e-9)
    assert is_low(own, others, unlikely) == (wanted < unlikely)


def test_a_flag_says_why():
    slow = replace(VOTER, fast=Share.of(39, 40), gold=Share.of(1, 4), repeats=Share.of(1, 8))
    assert not list(flags_of(replace(VOTER, repeats=Share.of(0, 99)), Limits(), NONE, NONE))
    assert list(flags_of(slow, Limits(fast_seconds=2), OTHERS, OTHERS)) == [
        Flag("speed", "39 of 40 answers took less than 2 s"),
        Flag("gold", "1 of 4 gold pairs answered as expected"),
        Flag("repeats", "1 of 8 repeated comparisons got the same answer; 70% by the other voters"),
    ]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"fast_seconds": -1}, "fast_seconds must be a finite number from 0 on; got -1"),
        ({"unlikely": -0.1}, r"unlikely must be from 0 to 1; got -0\.1"),
        ({"fast_share": 1.1}, r"fast_share must be from 0 to 1; got 1\.1"),
        ({"side_level": 1}, "side_level must be between 0 and 1, both excluded; got 1"),
        ({"known_wrong": 0}, "known_wrong must be a positive whole number; got 0"),
        ({"model_votes": 2.5}, r"model_votes must be a positive whole number; got 2\.5"),
    ],
)
def test_limits_out_of_range_are_refused(limits, message):
    with pytest.raises(LedgerError, match=message):
        Limits(**limits)
