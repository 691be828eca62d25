"""Where a campaign stands: the figures, and that they cost as little beside many votes as beside few."""

import uuid

from adaptive._plan import plan_ballots
from adaptive.ledger import Ledger
from adaptive.ledger._ballots.stored import current_votes, drawn_columns
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._reports.results import preview_of
from adaptive.ledger._reports.status import status_of
from adaptive.ledger._store import schema
from tests.adaptive.ledger.campaigns import all_answered, answer_all, asked, campaign_of, in_second_ballot, read


def steps_of_status(ledger, n_items):
    """Steps of SQLite's machine, in hundreds, that the status of a ballot that is answered takes."""
    campaign = campaign_of(ledger, plan=plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=20))
    places = asked(campaign)
    ballot = campaign.ballots()[0].id

    def fill(transaction):
        columns = {
            "event_id": [str(uuid.uuid4()) for _ in places],
            "place": [place for place, _, _ in places],
            "voter_id": [voter for _, _, voter in places],
        }
        same = {"ballot_id": ballot, "revision": 1, "kind": "cast", "answer": 1, "payload_hash": "", "received_at": 0}
        transaction.insert_columns(schema.vote_event, {**columns, **same})

    campaign.write(fill)
    n_steps = 0

    def count():
        nonlocal n_steps
        n_steps += 1

    def counted(transaction):
        transaction.connection.connection.dbapi_connection.set_progress_handler(count, 100)
        return status_of(transaction)

    assert campaign.read(counted).n_voters == 3
    return n_steps


def test_no_vote_is_read_one_by_one(tmp_path):
    """Beside ten times the votes it was ten times the steps, and 250 ms beside 400,000."""
    few, many = Ledger.create(tmp_path / "few.db"), Ledger.create(tmp_path / "many.db")
    assert steps_of_status(many, 2000) < 2 * steps_of_status(few, 200)
    few.close()
    many.close()


def test_the_pace_is_that_of_the_votes_that_came_one_by_one(ledger):
    campaign = all_answered(ledger)
    all_answered(ledger)  # later, and of no account
    assert campaign.status().votes_per_minute > 0
    now = campaign.status()
    assert (now.n_answered, now.n_votes, now.n_voters, now.expected_end) == (12, 12, 3, None)
    campaign.close(1)
    assert campaign.status().votes_per_minute is None


def test_the_pace_is_not_sought_among_events_of_long_ago(ledger, monkeypatch):
    campaign, other = campaign_of(ledger), campaign_of(ledger)
    answer_all(campaign)
    monkeypatch.setattr("adaptive.ledger._reports.status._SEARCHED", 12)
    assert campaign.status().votes_per_minute > 0
    answer_all(other)
    assert campaign.status().votes_per_minute is None


def test_answers_of_voters_who_are_left_out_do_not_count(ledger):
    campaign = all_answered(ledger)
    _, _, voter = asked(campaign)[0]
    assert len([each for each in asked(campaign) if each[2] == voter]) == 4  # of 12, among 3 voters
    campaign.voter(voter).exclude("asked to")
    now = campaign.status()
    assert (now.n_answered, now.n_counted, now.n_comparisons) == (12, 8, 12)
    seen = read(campaign, preview_of)
    assert seen.n_answered == now.n_counted
    assert min(answers for _, answers in seen.fewest) == min(answers_by_item(campaign).values()) < 4
    campaign.close(1, least_answered=0.5)
    campaign.voter(voter).include("it was a mistake")
    (first,) = campaign.ballot_progress()
    assert (first.n_answered, first.n_counted) == (12, 8)  # as it was closed


def answers_by_item(campaign):
    """Answers of each item, of voters who are not left out, counted one by one."""
    out = set(campaign.read(Transaction.excluded_voters))
    left = campaign.read(current_votes, campaign.ballots()[0].id)
    drawn = campaign.read(drawn_columns, campaign.ballots()[0].id)
    found = dict.fromkeys(range(campaign.info.n_items), 0)
    for place, voter in zip(left.place.tolist(), left.voter.tolist(), strict=True):
        if voter not in out:
            found[int(drawn.left[place])] += 1
            found[int(drawn.right[place])] += 1
    return found


def test_ballots_say_how_far_they_have_come(ledger):
    campaign = in_second_ballot(ledger)
    first, second = campaign.ballot_progress()
    assert (first.ballot, first.state, first.n_items, first.n_answered, first.n_comparisons) == (1, "closed", 6, 12, 12)
    assert (first.n_sheets_done, first.n_sheets) == (3, 3)
    assert first.opened_at < first.closed_at < second.opened_at
    assert (second.state, second.n_items, second.n_answered, second.closed_at) == ("open", 3, 1, None)
