"""A campaign in memory follows the paper's protocol, whatever the order of its votes, and writes nothing to disk."""

import os
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive.errors import AdaptiveError, VoteError
from adaptive.ledger import (
    CampaignSettings,
    ContinuousPlan,
    Ledger,
    LedgerError,
    NotReadyError,
    VoteCast,
    VotingPages,
    file_id,
)
from adaptive.ledger._store.database import back_up
from tests.adaptive import naive
from tests.adaptive.ledger.campaigns import load_ballot
from tests.adaptive.ledger.databases import PAIRS
from tests.adaptive.strategies import PLAN, PLANS, SEEDS, Voting, answers_to, check_record


@pytest.fixture(scope="module")
def memory():
    """One ledger for many campaigns, because creating the tables takes a fifth of a second."""
    new_ledger = Ledger.in_memory()
    yield new_ledger
    new_ledger.close()


def load_draw(campaign, number):
    stored = campaign.ballots()[number - 1]
    ballot = campaign.read(load_ballot, stored)
    return replace(ballot, voters=tuple(campaign.info.slots))


def votes_on(campaign, number, seed):
    """A vote for most comparisons of a ballot, by id; every item has one."""
    ballot, pairs = load_draw(campaign, number), campaign.asked(number=number)
    words = {1: "left", 0: "tie", -1: "right"}
    answers = {}
    for place, code in enumerate(answers_to(ballot, seed).tolist()):
        left, right = ballot.items[ballot.left[place]], ballot.items[ballot.right[place]]
        answers.setdefault((str(ballot.voters[ballot.voter[place]]), str(left), str(right)), []).append(words.get(code))
    votes = {pair.id: answers[str(pair.voter), str(pair.left), str(pair.right)].pop(0) for pair in pairs}
    return {name: word for name, word in votes.items() if word is not None}


@pytest.mark.wide
@given(PLANS, SEEDS, st.randoms(use_true_random=False))
def test_votes_in_any_order_and_in_parts_follow_the_papers_protocol(plan, seed, random):
    ledger = Ledger.in_memory()
    straight, scattered = (ledger.new_campaign(plan, plan.n_items, 4, seed) for _ in range(2))
    ballots = []
    for number in range(1, plan.n_ballots + 1):
        assert straight.open_next() == scattered.open_next() == number
        assert load_draw(straight, number) == load_draw(scattered, number)
        votes = votes_on(straight, number, seed)
        assert straight.record(votes).n_new == len(votes)
        parts = random.sample(list(votes.items()), len(votes))
        cut = random.randint(0, len(parts))
        assert scattered.record(dict(parts[:cut])).n_new == cut
        assert scattered.record(dict(parts)).n_new == len(parts) - cut
        again = scattered.record(votes)
        assert (again.n_new, again.n_known) == (0, len(votes))
        answers = [(pair.left, pair.right, votes.get(pair.id)) for pair in straight.asked(number=number)]
        ballots.append((list(load_draw(straight, number).items), answers))
        record = straight.close(number, least_answered=0.1)
        assert scattered.close(number, least_answered=0.1) == record
        check_record(record, naive.protocol(ballots)[-1])
    assert scattered.paper_result().to_json() == straight.paper_result().to_json()
    ledger.close()


@pytest.mark.parametrize("seed", [1, 2, 2**70])
def test_the_seed_decides_the_ballots(memory, seed):
    campaign = memory.new_campaign(PLAN, 8, 5, seed)
    campaign.open_next()
    assert load_draw(campaign, 1) == Voting(PLAN, 8, 5, seed).open_ballot()


def test_comparisons_have_the_names_of_voters_and_items(memory):
    campaign = memory.new_campaign(PLAN, PAIRS, ["Ann", "Bob", "Eve"], 1)
    campaign.open_next()
    ballot = load_draw(campaign, 1)
    rows = zip(ballot.voter.tolist(), ballot.left.tolist(), ballot.right.tolist(), strict=True)
    expected = [(ballot.voters[voter], PAIRS[left], PAIRS[right]) for voter, left, right in rows]
    assert sorted((pair.voter, pair.left, pair.right) for pair in campaign.asked(number=1)) == sorted(expected)
    assert campaign.asked() == campaign.asked(number=1)
    assert campaign.asked(number=2) == ()


def test_steps_out_of_order_are_refused(memory):
    campaign = memory.new_campaign(PLAN, 8, 5, 1)
    with pytest.raises(VoteError, match="ballot 1 has not been opened"):
        campaign.record({"1-0-0": "left"})
    with pytest.raises(LedgerError, match="ballot 1 is not open: there is nothing to close"):
        campaign.close(1)
    with pytest.raises(LedgerError, match=r"still open: 0 of 3 ballots are closed; .* interim=True"):
        campaign.paper_result()
    for number in (1, 2, 3):
        campaign.open_next()
        with pytest.raises(LedgerError, match=f"ballot {number} is open: close it before you open the next one"):
            campaign.open_next()
        campaign.record({pair.id: "tie" for pair in campaign.asked()})
        campaign.close(number)
    with pytest.raises(LedgerError, match="all 3 ballots are closed: none is left to open"):
        campaign.open_next()


def test_a_ballot_with_an_unanswered_item_stays_open(memory):
    campaign = memory.new_campaign(PLAN, PAIRS, 5, 1)
    campaign.open_next()
    first, *_ = pairs = campaign.asked()
    campaign.record({pair.id: "tie" for pair in pairs if first.left not in (pair.left, pair.right)})
    with pytest.raises(NotReadyError, match="every item needs an answered comparison"):
        campaign.close(1, least_answered=0.1)
    with pytest.raises(NotReadyError, match="nothing was closed, and a lower share cannot close it: every item needs"):
        campaign.close(1, least_answered=1.0)
    assert campaign.preview(least_answered=0.1).reason == '1 item without any answer other than "cannot say"'
    assert campaign.ballots()[0].state == "open"
    campaign.record({first.id: "left"})
    assert campaign.preview(least_answered=0.1).reason == ""
    assert campaign.close(1, least_answered=0.1).number == 1


@pytest.mark.parametrize(("assigned", "excluded"), [(True, False), (False, False), (False, True)])
def test_a_ballot_full_of_answers_that_do_not_count_says_which_to_void(memory, assigned, excluded):
    settings = CampaignSettings(assigned=assigned)
    campaign = memory.new_campaign(PLAN, 8, ["Ann", "Bob"], 2, settings=settings)
    campaign.open_next()
    pages, voters = VotingPages(open_link=True), []
    if not assigned:
        voters = [campaign.voters.join(pages, consent="1", hours=1)[0] for _ in range(2)]
        for voter in voters:
            voter.next_sheet(pages)
    item, other = campaign.asked()[0].left, campaign.asked()[0].right
    campaign.record({p.id: "cannot say" if {item, other} & {p.left, p.right} else "left" for p in campaign.asked()})
    if excluded:
        voters[0].exclude("a test")
    review = campaign.preview(least_answered=0).of_ballot
    pairs = {file_id(pair.id): {pair.left, pair.right} for pair in campaign.asked()}
    assert {item, other} <= set(review.silent)
    assert all(set(review.silent) & pairs[name] for name in review.to_void)
    # Nothing is open, so all are stuck.
    assert set(review.silent) <= set.union(*(pairs[name] for name in review.to_void))
    assert f"; void {', '.join(review.to_void[:5])}" in review.reason
    with pytest.raises(NotReadyError, match=rf"without any: .*; void {review.to_void[0]}.* \(in a shell, `ballots run"):
        campaign.close(1, least_answered=0)
    for name in review.to_void:
        campaign.correct(name, None, "to be answered")
    assert campaign.preview(least_answered=0).of_ballot.to_void == ()  # now open
    if assigned:
        campaign.record({pair.id: "right" for pair in campaign.asked(unanswered=True)})
    for voter in voters[excluded:]:
        while (sheet := voter.next_sheet(pages).sheet) is not None and sheet.missing:
            for pair in sheet.missing:
                voter.cast(VoteCast(str(uuid4()), 1, pair.place, voter.id, "right"))
    assert campaign.close(1, least_answered=0).number == 1


def test_batches_without_a_ranking_can_be_reviewed_and_closed(memory):
    campaign = memory.new_campaign(ContinuousPlan(5, 20, 10), 5, 2, 1)
    campaign.open_next()
    campaign.record({pair.id: "cannot say" for pair in campaign.asked()})
    progress = campaign.preview()
    assert (progress.is_ready, progress.reason, progress.expected, campaign.close(1)) == (True, "", None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": 7}, "the plan is for 8 items; got 7"),
        ({"items": [*"abcdefg", 0.5]}, "JSON holds labels that are strings, integers or tuples of those; got 0.5"),
        ({"items": [*"abcdefg", "a"]}, "items must be unique; more than once: 'a'"),
        ({"voters": 0}, "voting needs at least one voter"),
        ({"voters": ["Ann", "Ann"]}, "voters must be unique; more than once: 'Ann'"),
        ({"seed": -1}, "seed must be a whole number of 0 or more; got -1"),
    ],
)
def test_invalid_campaigns_are_refused(arguments, message, memory):
    with pytest.raises(AdaptiveError, match=message):
        memory.new_campaign(PLAN, **{"items": 8, "voters": 5, "seed": 1, **arguments})


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ({"2-0-99": "left"}, "votes:2: comparison '2-0-99' is unknown"),
        ({"3-0-0": "left"}, "votes:2: comparison '3-0-0' is unknown: ballot 3 has not been opened"),
        ({"two": "left"}, "votes:2: a comparison has an id like \"2-17\"|votes:2: .* got 'two'"),
        ({"2-0-1": "Left"}, "an answer must be 'left', 'right', 'tie' or 'cannot say'; got 'Left'"),
    ],
)
def test_refused_votes_leave_nothing_behind(votes, message, memory):
    campaign = memory.new_campaign(PLAN, 8, 1, 1)
    campaign.open_next()
    campaign.record({pair.id: "tie" for pair in campaign.asked()})
    campaign.close(1)
    campaign.open_next()
    with pytest.raises(VoteError, match=message):
        campaign.record({"2-0-0": "tie", **votes})
    assert campaign.record({"2-0-0": "tie"}).n_new == 1


def test_two_ledgers_share_nothing_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, other = Ledger.in_memory(), Ledger.in_memory()
    first.new_campaign(PLAN, 8, 5, 1)
    with pytest.raises(LedgerError, match="no campaign"):
        other.campaign()
    with pytest.raises(LedgerError, match="the ledger in memory: has no file to copy"):
        back_up(first.database, tmp_path / "copy.db")
    first.close()
    with pytest.raises(LedgerError, match="no such table: campaign"):
        first.campaign()
    other.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "step",
    [
        lambda campaign, text: campaign.correct("1-0-0", "right", text),
        lambda campaign, text: campaign.voters.named("0").exclude(text),
        lambda campaign, text: campaign.voters.named(text),
        lambda campaign, text: campaign.voters.with_key(text),
        lambda campaign, text: campaign.reopen(1, text),
        lambda campaign, text: Ledger(campaign.database.path).campaign(text),
        lambda _, text: Ledger(f"votes{text}.db"),
    ],
)
def test_a_lone_surrogate_in_a_text_is_refused(step, tmp_path):
    ledger = Ledger.create(tmp_path / "votes.db")
    campaign = ledger.new_campaign(ContinuousPlan(4, 4), 4, 1, seed=1)
    campaign.open_next()
    campaign.record({pair.id: "left" for pair in campaign.asked(number=1)})
    campaign.close(1)
    before = campaign.events_after()
    with pytest.raises(LedgerError, match=r"whole characters, without half of a surrogate pair; got .*ud800"):
        step(campaign, "x\ud800")
    assert campaign.events_after() == before
    ledger.close()
