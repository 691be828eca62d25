"""What users of other voting tools complain about, as far as it is a matter of storage: none of it happens here.

Each test names the tool, and the complaint in its tracker or its notes.
"""

import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive._plan import plan_ballots
from adaptive.errors import ProtocolError
from adaptive.ledger import ConflictError, LedgerError
from adaptive.ledger._ballots.sheets import claim_sheet
from adaptive.ledger._ballots.stored import drawn_columns
from adaptive.ledger._voters.identity import register
from adaptive.ledger._votes.casting import retract
from tests.adaptive.ledger.campaigns import (
    asked,
    campaign_of,
    change,
    check_ledger,
    new_id,
    one_asked,
    query,
    vote,
    voters_of,
    write,
)


def claimed(campaign, voter):
    """The sheet that a voter gets, and its places."""
    lease = write(campaign, claim_sheet, voter)
    return lease, [] if lease is None else [place for place, sheet, _ in asked(campaign) if sheet == lease.sheet]


def test_allourideas_56_the_same_pair_twice_to_a_voter(ledger):
    plan = plan_ballots(5, n_ballots=2, fraction=0.6, presentations=8)  # each pair comes twice
    campaign = campaign_of(ledger, n_voters=2, plan=plan, assigned=False, sheet_size=3, lease_minutes=1)
    stored = campaign.ballots()[0]
    drawn = campaign.read(drawn_columns, stored.id)
    pairs = [frozenset(pair) for pair in zip(drawn.left.tolist(), drawn.right.tolist(), strict=True)]
    assert len(set(pairs)) < len(pairs)
    voters = voters_of(campaign, 4)
    seen = {voter: {} for voter in voters}
    for voter in itertools.islice(itertools.cycle(voters), 40):
        _, places = claimed(campaign, voter)
        for at, place in enumerate(places):
            before = seen[voter].setdefault(pairs[place], place)
            assert before == place  # the same comparison may come again while it is not answered; its pair may not
            if at < 2:
                with contextlib.suppress(ConflictError):
                    campaign.cast(vote(voter, place))
        change(ledger, "UPDATE lease SET expires_at = expires_at - 120000000")  # everybody walks away


def test_gavel_35_an_error_every_ten_votes_under_load(ledger):
    plan = plan_ballots(24, n_ballots=2, fraction=0.5, presentations=14)
    campaign = campaign_of(ledger, n_voters=8, plan=plan, lease_minutes=30)
    places = [(place, voter) for place, _, voter in asked(campaign)]

    def votes(mine):
        for place, voter in mine:
            campaign.cast(vote(voter, place))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(votes, [places[at::8] for at in range(8)]))  # raises the first error
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(len(places),)]
    check_ledger(ledger)


def test_gavel_22_no_undo_for_a_misclick_on_the_last_vote_of_a_sheet(ledger):
    campaign = campaign_of(ledger, assigned=False, sheet_size=2)
    (voter,) = voters_of(campaign, 1)
    first, places = claimed(campaign, voter)
    for place in places:
        campaign.cast(vote(voter, place))
    assert claimed(campaign, voter)[0].sheet != first.sheet  # the first one is done
    assert retract(campaign, new_id(), 1, places[-1], voter).answer is None
    assert campaign.cast(vote(voter, places[-1], "tie")).revision == 3
    kinds = query(ledger, "SELECT kind, answer FROM vote_event WHERE place = :at ORDER BY revision", at=places[-1])
    assert kinds == [("cast", 1), ("retract", None), ("cast", 0)]  # the misclick can still be seen
    check_ledger(ledger)


def test_ibex_20_a_receipt_although_nothing_was_stored(ledger):
    campaign, place, voter = one_asked(ledger)
    engine = ledger.database.engine
    commit = engine.dialect.do_commit

    def fails(_):
        raise RuntimeError("the process runs out of memory")

    engine.dialect.do_commit = fails
    with pytest.raises(RuntimeError, match="out of memory"):
        campaign.cast(vote(voter, place))
    engine.dialect.do_commit = commit
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(0,)]
    assert campaign.cast(vote(voter, place)).revision == 1


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a\nb", "c", "d", "e", "f", "g"], r"one line of text, without spaces around it; got 'a\\nb'"),
        ([" a", "c", "d", "e", "f", "g"], r"one line of text, .* got ' a'"),
        (["", "c", "d", "e", "f", "g"], r"one line of text, .* got ''"),
        (["1", ("1",), "d", "e", "f", "g"], r"the labels '1' and \('1',\) look the same in a file of votes"),
        ([("a", "b\r"), "c", "d", "e", "f", "g"], r"one line of text, .* got \('a', 'b\\r'\)"),
    ],
)
def test_labels_that_a_file_of_votes_could_not_bring_back_are_refused(ledger, items, message):
    with pytest.raises(LedgerError, match=message):
        campaign_of(ledger, items=items)
    assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]


def test_a_number_and_its_text_are_one_label(ledger):
    with pytest.raises(ProtocolError, match="items must be unique; more than once: '1'"):
        campaign_of(ledger, items=["1", 1, "d", "e", "f", "g"])
    assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]


@pytest.mark.parametrize("name", ["", " ", " Ann", "Ann\n", "An\x00n"])
def test_names_that_a_file_of_votes_could_not_bring_back_are_refused(ledger, name):
    campaign = campaign_of(ledger)
    with pytest.raises(LedgerError, match="a voter's name is one line of text without spaces around it"):
        write(campaign, register, name)
