"""A voting kept in a file goes on in a ledger as if it had always been there."""

import uuid
from pathlib import Path

import numpy as np
import pytest

from adaptive.formats.saved_voting import SavedVoting, read_saved_voting, saved_voting
from adaptive.ledger.errors import BundleError
from adaptive.ledger.formats.exports import gathered
from adaptive.votes import Vote
from tests.adaptive import formats
from tests.adaptive.ledger.campaigns import pair_ids
from tests.adaptive.ledger.voted import ledger_at, record, rows_of
from tests.adaptive.votings import PAIRS, opened, run, started, votes_on

VERSION_1 = Path(formats.__file__).parent / "version_1"


@pytest.mark.parametrize("n_closed", [0, 1, 2, 3])
@pytest.mark.parametrize("items", [8, PAIRS], ids=["numbers", "pairs"])
def test_a_voting_is_the_same_in_the_ledger(n_closed, items, target):
    protocol = run(started(items, ["Ann", "Bob", "Eve"], seed=2**70), n_closed)
    if n_closed < 3:
        protocol.open_ballot()
        protocol.record(dict(list(votes_on(protocol).items())[:5]))
    campaign = ledger_at(target).import_protocol(protocol, f"Fruit {uuid.uuid4()}")  # others share the database
    records, standing = campaign.standing()
    assert records == protocol.records
    assert standing.places.tolist() == (protocol.standing.places if n_closed else np.arange(8)).tolist()
    np.testing.assert_array_equal(standing.mean, protocol.standing.mean)
    votes = campaign.database.read(lambda connection: gathered(connection, campaign.info, names=True))
    for number, (ballot, answers) in enumerate(protocol.voted, start=1):
        own = [vote for vote in votes if vote.comparison.startswith(f"{number}-")]
        assert [vote.left for vote in own] == [ballot.items[place] for place in ballot.left]
        assert [vote.right for vote in own] == [ballot.items[place] for place in ballot.right]
        assert [vote.voter for vote in own] == [ballot.voters[place] for place in ballot.voter]
        assert [vote.answer for vote in own] == [
            {1: "left", 0: "tie", -1: "right", -2: None}[code] for code in answers.tolist()
        ]
    if n_closed == 3:
        assert campaign.paper_result().to_json() == protocol.result().to_json()
    assert campaign.bundle()  # it verifies


@pytest.mark.parametrize("name", ["opened.json", "ready.json", "finished.json"])
def test_files_of_version_1_come_in_too(name, sqlite):
    protocol = read_saved_voting(VERSION_1 / name)
    campaign = ledger_at(sqlite).import_protocol(protocol, name)
    assert campaign.info.name == name
    assert campaign.standing()[0] == protocol.records


def test_the_voting_goes_on_in_the_ledger(sqlite):
    """To the end: the same ballots, cuts and ranking as without the ledger."""
    protocol = opened()
    campaign = ledger_at(sqlite).import_protocol(saved_voting(protocol.to_json(), "JSON"), "Fruit")
    for number in (2, 3):
        if number == 3:
            campaign.open_next()
            protocol.open_ballot()
        known = dict(list(votes_on(protocol).items())[:5]) if number == 2 else {}
        ids = {name: f"{number}-{place}" for place, name in enumerate(pair_ids(campaign, number))}
        rows = rows_of(campaign, number, words=["left", "right", "tie"], silent=0)
        rows = [row for row in rows if ids[row.comparison] not in known]
        protocol.record([(ids[row.comparison], Vote[row.answer.upper()]) for row in rows])
        record(campaign, rows)
        assert campaign.close(number) == protocol.close_ballot()
    assert campaign.paper_result().to_json() == protocol.result().to_json()


def test_votes_that_do_not_give_the_records_are_not_imported(sqlite):
    protocol = run(started(), 2)
    (first, codes), *others = protocol.voted
    flipped = codes.copy()
    flipped[np.flatnonzero(codes == 1)[0]] = -1
    names = ("plan", "items", "voters", "seed", "records", "standing")
    kept = {name: getattr(protocol, name) for name in names}
    edited = SavedVoting(**kept, voted=((first, flipped), *others))
    ledger = ledger_at(sqlite)
    with pytest.raises(BundleError, match=r"record of ballot 1: (the votes do not give|.* cannot be scored)"):
        ledger.import_protocol(edited, "Fruit")
    with pytest.raises(Exception, match="no campaign"):
        ledger.campaign()
