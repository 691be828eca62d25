"""Batches of continuous campaigns on the web: sheet sizes, no repeated pairs, no waiting for absent voters."""

from collections import Counter
from contextlib import closing, suppress
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adaptive import plan_ballots
from adaptive.ledger import (
    CampaignSettings,
    ContinuousPlan,
    KnownPair,
    LateVoteError,
    Ledger,
    LedgerError,
    NotReadyError,
    Probing,
    VoteCast,
    VotingPages,
    _voter,
    items_of_targets,
    plan_of_targets,
)
from adaptive.ledger._ballots.batches import Refusal, draw_batch, may_draw, refusal_state, write_refusal
from adaptive.ledger._campaign.plan import batch_for, slots_of_batch
from adaptive.ledger._closing import close_batches
from adaptive.ledger._votes.casting import retract
from rankcorr.vectors import TargetGroups, reliability_score
from tests.adaptive.ledger.campaigns import change, new_id, query, read, write
from tests.adaptive.ledger.test_participation import PAGES, answer, claim_sheet, join_campaign, state_for_voter


def continuous_campaign(ledger, n_items, n_slots, *, batch, budget, sheet_size, **options):
    plan = ContinuousPlan(n_items, budget, batch=batch)
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size, lease_minutes=30, **options)
    return ledger.new_campaign(plan, n_items, n_slots, 1, settings=settings)


def next_sheet(campaign, voter):
    """The next sheet of a voter, with a new batch if one is due or none is open yet; None if nothing is left."""
    if not campaign.ballots():
        campaign.open_next()
    sheet, _ = claim_sheet(campaign, voter)
    if sheet is None and read(campaign, may_draw, voter):
        draw_batch(campaign, voter_id=voter)
        sheet, _ = claim_sheet(campaign, voter)
    return sheet


def waiting_reason(campaign):
    """Why the overview says that no more comparisons are asked."""
    return campaign.status().waits


def vote_on(campaign, voter):
    """Answer sheet after sheet, until nothing is left."""
    while (sheet := next_sheet(campaign, voter)) is not None:
        answer(campaign, voter, sheet)


def sheet_sizes(campaign):
    return [n for (n,) in query(campaign, "SELECT n_comparisons FROM sheet ORDER BY ballot_id, number")]


@given(size=st.integers(1, 300), n_slots=st.integers(1, 60), sheet_size=st.none() | st.integers(1, 60))
def test_a_sheet_has_at_least_half_its_size(size, n_slots, sheet_size):
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size)
    dealt = slots_of_batch(size, n_slots, settings)
    assert 1 <= dealt <= min(n_slots, size)
    assert 2 * (size // dealt) >= min(size, sheet_size or 20)
    assert slots_of_batch(size, n_slots, CampaignSettings(sheet_size=sheet_size)) == n_slots


@pytest.mark.parametrize(("n_items", "batch"), [(2, 10), (10, 10), (11, 11), (50, 50), (1_000, 50)])
def test_batches_grow_with_the_number_of_items(n_items, batch):
    assert batch_for(n_items) == batch


def test_forty_slots_do_not_split_a_batch_into_sheets_of_one_pair(ledger):
    campaign = continuous_campaign(ledger, 30, 40, batch=50, budget=200, sheet_size=20)
    vote_on(campaign, join_campaign(campaign))
    assert sum(sheet_sizes(campaign)) == 200
    assert set(sheet_sizes(campaign)) <= {16, 17}


# All examples share a database; each creates its own campaign.
@pytest.mark.wide
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n_items=st.integers(4, 16),
    n_voters=st.integers(1, 4),
    sheet_size=st.integers(3, 12),
    batch=st.integers(6, 20),
    overlap=st.sampled_from([0.0, 0.4]),
    order=st.randoms(use_true_random=False),
)
def test_no_voter_gets_a_pair_twice(n_items, n_voters, sheet_size, batch, overlap, order, ledger):
    options = {"probing": Probing(overlap=overlap)} if overlap else {}
    campaign = continuous_campaign(
        ledger, n_items, 8, batch=batch, budget=20 * n_voters, sheet_size=sheet_size, **options
    )
    waiting = [join_campaign(campaign) for _ in range(n_voters)]
    pair_counts = {voter: Counter() for voter in waiting}
    while waiting:
        voter = order.choice(waiting)
        sheet = None
        with suppress(LedgerError):  # the voter has seen all pairs
            sheet = next_sheet(campaign, voter)
        if sheet is None:
            waiting.remove(voter)
            continue
        pair_counts[voter].update(frozenset((pair.left, pair.right)) for pair in sheet.pairs)
        answer(campaign, voter, sheet)
    assert {count for pairs in pair_counts.values() for count in pairs.values()} == {1}
    n_pairs = n_items * (n_items - 1) // 2
    if sum(ballot.n_comparisons for ballot in campaign.ballots()) < 20 * n_voters:
        # No voter stops while a pair could still be asked.
        assert {len(pairs) for pairs in pair_counts.values()} == {n_pairs}
        assert waiting_reason(campaign) == "pairs"


def test_sheets_held_by_others_delay_no_voter(ledger):
    campaign = continuous_campaign(ledger, 12, 3, batch=10, budget=100, sheet_size=10)
    sheets = [next_sheet(campaign, join_campaign(campaign)) for _ in range(4)]
    assert None not in sheets  # three voters are planned, and half a batch may be open
    assert next_sheet(campaign, join_campaign(campaign)) is None
    with pytest.raises(NotReadyError, match="pairs are unanswered"):
        draw_batch(campaign)
    change(campaign, "UPDATE lease SET expires_at = 1")
    again = next_sheet(campaign, join_campaign(campaign))
    assert (again.number, again.sheet) == (1, 0)  # expired sheets are given out again before a new batch is drawn


def test_the_organiser_opens_the_first_batch_and_voters_the_others(ledger):
    campaign = continuous_campaign(ledger, 12, 2, batch=10, budget=40, sheet_size=20)
    voter = campaign.voter(join_campaign(campaign))
    state = voter.next_sheet(PAGES)
    assert (state.sheet, state.available, state.reason) == (None, False, "not open")
    assert voter.state(PAGES).reason == "not open"
    assert campaign.voters.why_none_left() == ("not open", None)
    assert campaign.ballots() == []
    campaign.open_next()
    while (state := voter.next_sheet(PAGES)).available:
        answer(campaign, voter.id, state.sheet)
    assert (state.reason, state.n_answers, len(campaign.ballots())) == ("none left", 40, 4)
    close_batches(campaign)
    assert (voter.state(PAGES).reason, voter.next_sheet(PAGES).reason) == ("ended", "ended")
    assert campaign.voters.why_none_left() == ("ended", None)


def test_a_batch_with_an_overlap_has_a_sheet_for_a_second_voter(ledger):
    campaign = continuous_campaign(ledger, 12, 5, batch=10, budget=40, sheet_size=20, probing=Probing(overlap=0.4))
    draw_batch(campaign)
    assert sheet_sizes(campaign) == [5, 5]
    assert query(campaign, "SELECT count(*) FROM comparison WHERE probe = 'overlap'") == [(4,)]


def test_a_voter_who_has_seen_all_pairs_is_done_and_others_continue(ledger):
    campaign = continuous_campaign(ledger, 4, 2, batch=10, budget=500, sheet_size=10)
    voters = [join_campaign(campaign) for _ in range(2)]
    for number, voter in enumerate(voters, start=1):
        assert waiting_reason(campaign) == (None if number == 1 else "pairs")
        vote_on(campaign, voter)
        assert query(campaign, "SELECT sum(n_answered) FROM sheet") == [(6 * number,)]
    assert [state_for_voter(campaign, voter).reason for voter in voters] == ["none left"] * 2
    with pytest.raises(LedgerError, match="the voter has seen all pairs"):
        draw_batch(campaign, voter_id=voters[0])
    assert next_sheet(campaign, voters[0]) is None  # and nothing is drawn for it
    rows = query(campaign, "SELECT DISTINCT voter_id FROM audit_event WHERE kind = 'no batch' ORDER BY voter_id")
    assert rows == [(voter,) for voter in voters]
    assert next_sheet(campaign, join_campaign(campaign)) is not None
    assert waiting_reason(campaign) is None


def test_pairs_left_on_the_sheet_of_an_excluded_voter_go_to_others(ledger):
    campaign = continuous_campaign(ledger, 4, 2, batch=4, budget=4, sheet_size=4)
    excluded, other, next_one = (join_campaign(campaign) for _ in range(3))
    sheet = next_sheet(campaign, excluded)
    first, second, third, last = (
        VoteCast(new_id(), sheet.number, pair.place, excluded, "left") for pair in sheet.pairs
    )
    campaign.cast(first)
    assert state_for_voter(campaign, other).reason == "none left"  # the voter has an hour to answer the rest
    campaign.voter(excluded).exclude("a test")
    campaign.cast(second)  # the voter keeps the sheet as long as no other voter asks
    assert state_for_voter(campaign, other).available
    assert [pair.place for pair in next_sheet(campaign, other).pairs] == [third.place, last.place]
    with pytest.raises(LateVoteError, match="the sheet no longer belongs to this voter"):
        campaign.cast(third)
    answer(campaign, other, next_sheet(campaign, other))
    assert campaign.status().n_answered == 4
    assert state_for_voter(campaign, next_one).reason == "none left"


def test_newcomers_get_a_batch_that_is_refused_to_the_organiser(ledger):
    """There are three pairs, and the one planned voter has answered all of them."""
    campaign = continuous_campaign(ledger, 3, 1, batch=4, budget=30, sheet_size=4)
    vote_on(campaign, join_campaign(campaign))
    with pytest.raises(LedgerError, match="as many voters as the plan has could answer all pairs that were drawn"):
        campaign.open_next()
    newcomer = join_campaign(campaign)
    assert state_for_voter(campaign, newcomer).available
    vote_on(campaign, newcomer)
    assert campaign.status().n_answered == 6


@pytest.mark.parametrize("n_other_campaigns", [0, 2])
def test_a_restored_campaign_keeps_its_reason_to_wait(n_other_campaigns, ledger, tmp_path, other_path):
    """A restored campaign has new row ids, also for the decisions before a batch was refused."""
    plan = ContinuousPlan(4, 400, batch=10, target=0.6)
    settings = CampaignSettings(assigned=False, sheet_size=10, lease_minutes=30)
    for _ in range(2):
        campaign = ledger.new_campaign(plan, 4, 3, 1, settings=settings)
    campaign.voter(join_campaign(campaign)).exclude("a test")
    while waiting_reason(campaign) != "target":
        voter = join_campaign(campaign)
        with suppress(LedgerError):
            sheet = next_sheet(campaign, voter)
        for pair in sheet.pairs if waiting_reason(campaign) is None else ():
            winner = "left" if pair.left < pair.right else "right"
            campaign.cast(VoteCast(new_id(), sheet.number, pair.place, voter, winner))
    campaign.write_bundle(tmp_path / "campaign.zip")
    with closing(Ledger.create(other_path)) as copy:
        for _ in range(n_other_campaigns):
            copy.new_campaign(plan, 4, 3, 1, settings=settings)
        assert waiting_reason(copy.restore(tmp_path / "campaign.zip")) == "target"


def test_sheets_without_an_eligible_voter_are_reported_once_the_budget_is_spent(ledger):
    campaign = continuous_campaign(ledger, 4, 2, batch=6, budget=12, sheet_size=6)
    voter = join_campaign(campaign)
    draw_batch(campaign, voter_id=voter)
    draw_batch(campaign, at_once=True)
    answer(campaign, voter, next_sheet(campaign, voter))
    for _ in range(2):
        assert next_sheet(campaign, voter) is None
    assert waiting_reason(campaign) == "pairs"
    assert query(campaign, "SELECT count(*) FROM audit_event WHERE kind = 'no batch'") == [(1,)]
    other = join_campaign(campaign)
    answer(campaign, other, next_sheet(campaign, other))
    assert waiting_reason(campaign) is None


def test_a_draw_that_was_refused_for_the_target_is_tried_again_when_votes_are_changed(ledger):
    plan = ContinuousPlan(4, 200, batch=10, target=0.6)
    settings = CampaignSettings(assigned=False, sheet_size=10, lease_minutes=30)
    campaign = ledger.new_campaign(plan, 4, 3, 1, settings=settings)
    votes, sheet = [], None
    while waiting_reason(campaign) is None:
        voter = join_campaign(campaign)
        with suppress(LedgerError):
            sheet = next_sheet(campaign, voter)
        for pair in sheet.pairs if waiting_reason(campaign) is None else ():
            winner = "left" if pair.left < pair.right else "right"
            votes.append(VoteCast(new_id(), sheet.number, pair.place, voter, winner))
            campaign.cast(votes[-1])
    newcomer = join_campaign(campaign)

    def may_ask():
        return read(campaign, may_draw, newcomer)

    assert (waiting_reason(campaign), may_ask()) == ("target", False)
    for vote in votes[::2]:
        retract(campaign, new_id(), vote.number, vote.place, vote.voter_id)
        other = "right" if vote.answer == "left" else "left"
        campaign.cast(VoteCast(new_id(), vote.number, vote.place, vote.voter_id, other))
    assert (waiting_reason(campaign), may_ask()) == (None, True)


def test_repeated_answers_to_checks_and_comparisons_look_alike(ledger):
    # Otherwise a voter who repeats an answer could recognise a check by whether more pairs are asked.
    campaign = continuous_campaign(ledger, 8, 1, batch=10, budget=40, sheet_size=10, probing=Probing(repeats=0.5))
    voter = join_campaign(campaign)
    sheet = next_sheet(campaign, voter)
    answer(campaign, voter, sheet)
    refused = []
    for pair in sheet.pairs:
        write(campaign, write_refusal, Refusal("reached", "target", read(campaign, refusal_state)))
        assert not state_for_voter(campaign, voter).available
        retract(campaign, new_id(), sheet.number, pair.place, voter)
        campaign.cast(VoteCast(new_id(), sheet.number, pair.place, voter, "left"))
        refused.append(not state_for_voter(campaign, voter).available)
    assert max(pair.place for pair in sheet.pairs) >= 10  # a check
    assert refused == [False] * len(sheet.pairs)


def test_the_time_of_the_next_batch_does_not_reveal_checks(ledger):
    """One session answers; after each answer, another one checks whether there are new pairs."""
    campaign = continuous_campaign(ledger, 12, 1, batch=10, budget=100, sheet_size=10, probing=Probing(repeats=0.4))
    one, _ = sheets = [next_sheet(campaign, voter) for voter in (join_campaign(campaign), join_campaign(campaign))]
    assert [len(sheet.pairs) for sheet in sheets] == [14, 14]
    (voter,) = query(campaign, "SELECT voter_id FROM lease WHERE ballot_id = (SELECT min(id) FROM ballot)")[0]
    other, numbers = join_campaign(campaign), []
    for order in (one.pairs, one.pairs[::-1]):  # repeats come late on a sheet
        answered = []
        while not state_for_voter(campaign, other).available:
            answered.append(order[len(answered)])
            answer(campaign, voter, one, answered[-1].position)
        numbers.append(len(answered))
        for pair in answered:
            retract(campaign, new_id(), one.number, pair.place, voter)
    assert numbers == [9, 9]


# Target groups

TARGETS = {
    "singer": {"musician": "positive", "person": "positive", "artist": "positive", "song": "distractor"},
    "oak": {"tree": "positive", "plant": "positive", "ink": "random"},
    "fox": {"animal": "positive", "canid": "positive", "person": "positive", "plant": "positive", "car": "random"},
}


def campaign_of_targets(ledger, targets=TARGETS, *, answers=2, batch=5, n_slots=3, sheet_size=4, **options):
    plan = plan_of_targets(targets, answers, batch=batch)
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size, lease_minutes=30, targets=targets, **options)
    return ledger.new_campaign(plan, items_of_targets(targets), n_slots, 1, settings=settings)


def vote_in_turns(campaign, choose, voters):
    """Let voters answer in turns until nothing is left; return annotator, target, better and worse of each vote."""
    votes, waiting = [], list(voters)
    while waiting:
        for voter in list(waiting):
            sheet = None
            with suppress(LedgerError):
                sheet = next_sheet(campaign, voter)
            if sheet is None:
                waiting.remove(voter)
                continue
            for pair in sheet.pairs:
                (target, left), (other, right) = campaign.info.items[pair.left], campaign.info.items[pair.right]
                assert target == other
                word = choose(voter, target, left, right)
                votes.append((voter, target, left, right) if word == "left" else (voter, target, right, left))
                campaign.cast(VoteCast(new_id(), sheet.number, pair.place, voter, word))
    return votes


def test_pairs_of_target_groups_get_their_quota_within_a_group(ledger):
    campaign = campaign_of_targets(ledger, answers=3)
    votes = vote_in_turns(
        campaign,
        lambda _voter, _target, left, right: "left" if left < right else "right",
        [join_campaign(campaign) for _ in range(3)],
    )
    assert Counter((target, frozenset(pair)) for _, target, *pair in votes) == {
        (target, frozenset(pair)): 3
        for target, group in TARGETS.items()
        for pair in combinations([word for word, kind in group.items() if kind == "positive"], 2)
    }
    expected = TargetGroups.of_votes(votes, TARGETS)
    groups = campaign.target_groups()
    assert set(groups.shares.values()) <= {0.0, 1.0}  # all voters agree
    assert _by_pair(groups) == _by_pair(expected)
    assert groups.uncompared == []
    (text,) = campaign.export_votes("target_groups").files.values()
    assert text == groups.to_csv()
    cosines = {
        (target, word): -ord(word[0]) - ord(word[1]) / 999 for target, group in TARGETS.items() for word in group
    }
    assert reliability_score(groups, cosines).kinds[0].score == 1


def _by_pair(groups):
    """Share of the first of two candidates in alphabetical order, and number of answers."""
    return {
        (target, *sorted((first, second))): (share if first < second else 1 - share, groups.n_answers[key])
        for key, share in groups.shares.items()
        for target, first, second in [key]
    }


@pytest.mark.wide
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes_of_groups=st.lists(st.integers(2, 5), min_size=1, max_size=4),
    answers=st.integers(1, 3),
    n_voters=st.integers(1, 4),
    batch=st.integers(1, 9),
    sheet_size=st.integers(1, 6),
    random=st.randoms(use_true_random=False),
)
def test_random_target_groups_get_all_their_answers(
    sizes_of_groups, answers, n_voters, batch, sheet_size, random, ledger
):
    words = ["w1", "w2", "w3", "w4", "w5"]  # shared by the targets
    targets = {f"t{n}": dict.fromkeys(words[:size], "positive") for n, size in enumerate(sizes_of_groups)}
    campaign = campaign_of_targets(
        ledger, targets, answers=answers, batch=batch, n_slots=n_voters, sheet_size=sheet_size
    )
    answer_of = lambda *_: random.choice(["left", "right", "tie"])  # noqa: E731
    votes = vote_in_turns(campaign, answer_of, [join_campaign(campaign) for _ in range(n_voters)])
    numbers = Counter((target, frozenset(pair)) for _, target, *pair in votes)
    assert set(numbers.values()) == {min(answers, n_voters)}
    assert sum(numbers.values()) == campaign.info.plan.n_possible(n_voters)
    assert len({(voter, target, frozenset(pair)) for voter, target, *pair in votes}) == len(votes)
    assert sum(campaign.target_groups().n_answers.values()) == len(votes)


def test_each_slot_gets_a_pair_of_a_target_group_once(ledger):
    plan = plan_of_targets(TARGETS, 2, batch=10)
    campaign = ledger.new_campaign(plan, items_of_targets(TARGETS), 3, 1, settings=CampaignSettings(targets=TARGETS))
    pairs_of_slots = set()
    for _ in range(2):
        draw_batch(campaign, at_once=True)
    for slot, left, right in query(
        campaign,
        "SELECT s.slot, c.left_item, c.right_item FROM comparison c JOIN sheet s ON s.ballot_id = c.ballot_id "
        "AND s.number = c.sheet",
    ):
        assert (slot, min(left, right), max(left, right)) not in pairs_of_slots
        pairs_of_slots.add((slot, min(left, right), max(left, right)))
    assert len(pairs_of_slots) == plan.budget == 20


def test_a_tie_counts_half_and_cannot_say_does_not_count(ledger):
    targets = {"oak": {"tree": "positive", "plant": "positive"}}
    campaign = campaign_of_targets(ledger, targets, answers=4, n_slots=4)
    words = iter(["left", "tie", "tie", "cannot say"])
    vote_in_turns(campaign, lambda *_: next(words), [join_campaign(campaign) for _ in range(4)])
    groups = campaign.target_groups()
    assert list(groups.n_answers.values()) == [3]
    assert set(groups.shares.values()) <= {2 / 3, 1 / 3}


def test_contents_of_target_groups_are_the_candidates(ledger):
    campaign = campaign_of_targets(ledger)
    assert [content.content for content in campaign.contents()] == [word for _, word in campaign.info.items]
    assert campaign.info.target_of(0) == "singer"


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"oak": {"tree": "positive"}}, "target 'oak' needs two positive candidates or more; it has 1"),
        ({"oak": {"oak": "positive", "tree": "positive"}}, "target 'oak' is among its own candidates"),
        ({"oak": {"tree": "best", "plant": "positive"}}, "the category of 'tree' for 'oak' must be one of"),
        ({}, "target groups are needed; got none"),
        (5, "categories must be a mapping"),
    ],
)
def test_invalid_targets_are_named(targets, message):
    with pytest.raises(LedgerError, match=f"targets: {message}"):
        CampaignSettings(targets=targets)
    with pytest.raises(LedgerError, match=f"targets: {message}"):
        plan_of_targets(targets, 2)


def test_plan_items_and_checks_must_match_the_targets(ledger):
    items, plan = items_of_targets(TARGETS), plan_of_targets(TARGETS, 2)

    def make(plan=plan, items=items, targets=TARGETS, **options):
        ledger.new_campaign(plan, items, 3, 1, settings=CampaignSettings(targets=targets, **options))

    with pytest.raises(LedgerError, match="a whole number from 1 on"):
        plan_of_targets(TARGETS, 0)
    with pytest.raises(LedgerError, match="must be those of items_of_targets"):
        make(items=[*items[:-1], ("fox", "vixen")])
    with pytest.raises(LedgerError, match="the plan does not fit these target groups"):
        make(plan=ContinuousPlan(len(items), 20, n_pairs=9))
    for other in (
        ContinuousPlan(len(items), 20, target=0.9, n_pairs=10),
        plan_ballots(9, n_ballots=2, fraction=0.5, presentations=2),
    ):
        with pytest.raises(LedgerError, match="need a continuous campaign that ends with its budget"):
            make(plan=other)
    with pytest.raises(LedgerError, match="the plan has n_pairs, which is only for target groups"):
        make(targets=None)
    across = KnownPair("attention", ("oak", "tree"), ("fox", "canid"), "left")
    with pytest.raises(LedgerError, match="a check compares candidates of different targets"):
        make(probing=Probing((across,)))
    other = ledger.new_campaign(ContinuousPlan(3, 3), 3, 1, 1)
    for call in (other.target_groups, lambda: other.export_votes("target_groups")):
        with pytest.raises(LedgerError, match="the campaign has no target groups"):
            call()


def test_bundles_keep_target_groups(ledger, tmp_path):
    campaign = campaign_of_targets(ledger)
    vote_in_turns(campaign, lambda *_: "left", [join_campaign(campaign) for _ in range(2)])
    campaign.write_bundle(tmp_path / "copy.zip")
    restored = Ledger.in_memory().restore(tmp_path / "copy.zip")
    assert restored.info.settings == campaign.info.settings
    assert restored.target_groups().shares == campaign.target_groups().shares


def test_a_claim_asks_for_the_batch_for_which_it_skipped_sheets(ledger, monkeypatch):
    """Another request may draw the batch between the two checks whether one is due."""
    campaign = continuous_campaign(ledger, 6, 2, batch=4, budget=8, sheet_size=2)
    voter, is_due = join_campaign(campaign), iter([True, False])
    monkeypatch.setattr(_voter.batches, "may_draw", lambda *_: next(is_due))
    assert write(campaign, _voter.next_sheet, VotingPages(), voter, may_get_batch=True) is None
