"""A ledger whose file is moved, deleted or replaced under a running server acknowledges no vote."""

import os
import shutil
from pathlib import Path

import pytest

from adaptive.ledger import ContinuousPlan, Ledger, LedgerMovedError, UnreachableError
from tests.adaptive.ledger.campaigns import asked, campaign_of, query, vote


@pytest.fixture
def campaign(tmp_path):
    """A campaign in a file, with one vote, whose connections stay open."""
    ledger = Ledger.create(tmp_path / "votes.db", patience=0.5)
    made = campaign_of(ledger)
    place, _, voter = asked(made)[0]
    made.cast(vote(voter, place))
    yield made
    ledger.close()


def next_vote(campaign):
    place, _, voter = asked(campaign)[1]
    return vote(voter, place)


def move(path):
    path.rename(path.with_name("old.db"))


def replace(path):
    shutil.copy(path, path.with_name("copy.db"))
    os.replace(path.with_name("copy.db"), path)


def delete_all(path):
    for each in (path, log_of(path), Path(f"{path}-shm")):
        each.unlink()


def log_of(path):
    return Path(f"{path}-wal")


@pytest.mark.parametrize(
    "change",
    [
        move,
        replace,
        delete_all,
        Path.unlink,
        lambda path: log_of(path).unlink(),
        lambda path: Path(f"{path}-shm").unlink(),
    ],
)
def test_no_vote_is_acknowledged_after_the_file_was_changed(campaign, change):
    new = next_vote(campaign)
    change(campaign.database.path)
    with pytest.raises(LedgerMovedError, match="so the change is not acknowledged"):
        campaign.cast(new)


def test_what_is_read_from_a_file_that_was_moved_is_refused_too(campaign):
    move(campaign.database.path)
    with pytest.raises(LedgerMovedError):
        campaign.status()


def test_a_file_that_was_deleted_is_not_made_anew(campaign):
    new = next_vote(campaign)
    delete_all(campaign.database.path)
    for _ in range(2):
        with pytest.raises(UnreachableError):
            campaign.cast(new)
    assert not campaign.database.path.exists()


def test_votes_go_on_when_the_file_is_back_and_each_counts_once(campaign, tmp_path):
    new = next_vote(campaign)
    path = campaign.database.path
    path.rename(tmp_path / "away.db")
    log_of(path).rename(tmp_path / "away.db-wal")
    with pytest.raises(LedgerMovedError):
        campaign.cast(new)
    (tmp_path / "away.db").rename(path)
    (tmp_path / "away.db-wal").rename(log_of(path))
    assert campaign.cast(new).revision == 1
    assert query(campaign, "SELECT count(*) FROM vote_event") == [(2,)]


def test_a_vote_whose_file_is_replaced_during_its_commit_is_not_acknowledged(campaign, monkeypatch):
    new, identities = next_vote(campaign), []
    check = type(campaign.database)._check_is_in_place

    def move_after_first_check(database, connection):
        check(database, connection)
        if not identities:
            move(database.path)
        identities.append(None)

    monkeypatch.setattr(type(campaign.database), "_check_is_in_place", move_after_first_check)
    with pytest.raises(LedgerMovedError):
        campaign.cast(new)


def test_another_process_that_opens_and_closes_the_ledger_disturbs_nobody(campaign):
    for _ in range(2):
        other = Ledger.open(campaign.database.path)
        other.new_campaign(ContinuousPlan(4, 20), 4, 1, seed=1, name="other")
        other.close()
    assert campaign.cast(next_vote(campaign)).revision == 1
