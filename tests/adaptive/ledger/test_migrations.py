"""The tables that migrations make are those of the schema, and keep their history."""

import contextlib
import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from adaptive.ledger import ConflictError, Ledger, LedgerError, RevisionError
from adaptive.ledger.ballots.shown_sheets import asked as shown
from adaptive.ledger.campaign.status import status_of
from adaptive.ledger.quality.report import quality_of
from adaptive.ledger.store import migrations, schema
from adaptive.ledger.voters.participation import erase
from adaptive.ledger.votes.reading import conflicts
from tests.adaptive.ledger.campaigns import asked, campaign_of, change, check_ledger, query, vote, voters_of


@pytest.fixture
def full(ledger):
    """A ledger with a row in each table of the past."""
    campaign = campaign_of(ledger)
    place, _, voter = asked(campaign)[0]
    campaign.cast(vote(voter, place))
    change(
        ledger,
        "INSERT INTO late_vote (event_id, ballot_id, place, voter_id, received_at, payload_hash, revision, why) "
        "SELECT 'b', ballot.id, 0, :voter, 0, '', 0, 'closed' FROM ballot",
        voter=voter,
    )
    change(ledger, "INSERT INTO voting_pages SELECT id, 1, '{}', 0 FROM campaign")
    change(ledger, "INSERT INTO token (hash, campaign_id, kind, made_at) SELECT 'c', id, 'organiser', 0 FROM campaign")
    return ledger


def refused(ledger, statement):
    """Whether the history is kept, and everything is as it was."""
    tables = sorted(schema.metadata.tables)
    before = [sorted(map(str, query(ledger, f"SELECT * FROM {table}"))) for table in tables]
    with pytest.raises(sa.exc.DBAPIError, match="the ledger keeps its history"):
        change(ledger, statement)
    return before == [sorted(map(str, query(ledger, f"SELECT * FROM {table}"))) for table in tables]


@pytest.mark.parametrize("table", schema.HISTORY)
def test_rows_of_history_are_neither_changed_nor_deleted(full, table):
    assert query(full, f"SELECT count(*) FROM {table}") > [(0,)]
    for column in (each.name for each in schema.metadata.tables[table].c):
        assert refused(full, f"UPDATE {table} SET {column} = {column}")
    assert refused(full, f"DELETE FROM {table}")
    if full.database.is_sqlite:
        assert refused(full, f"REPLACE INTO {table} SELECT * FROM {table}")
    else:
        assert refused(full, f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("table", ["campaign", "ballot", "sheet", "voter", "lease", "token"])
def test_rows_that_change_are_never_deleted_and_keep_what_they_are(full, table):
    assert refused(full, f"DELETE FROM {table}")
    fixed = {
        "campaign": ["key", "mode", "plan", "slots", "seed", "hash_key", "created_at"],
        "ballot": ["number", "places", "presentations", "n_comparisons", "draw_digest", "opened_at"],
        "sheet": ["number", "slot", "n_comparisons", "n_checks"],
        "voter": ["campaign_id", "key", "source", "joined_at"],
        "lease": ["ballot_id", "sheet", "voter_id", "fence", "given_at"],
        "token": ["hash", "campaign_id", "kind", "voter_id", "made_at"],
    }
    for column in fixed[table]:
        assert refused(full, f"UPDATE {table} SET {column} = {column}")
    if full.database.is_sqlite:
        assert refused(full, f"REPLACE INTO {table} SELECT * FROM {table}")
    else:
        assert refused(full, f"TRUNCATE {table} CASCADE")


def test_only_who_a_voter_is_may_be_deleted(full):
    campaign = full.campaign()
    (voter,) = voters_of(campaign, 1)
    assert query(full, "SELECT count(*) FROM voter_identity WHERE voter_id = :voter", voter=voter) == [(1,)]
    votes = query(full, "SELECT count(*) FROM vote_event")
    campaign.database.write(lambda connection: erase(connection, campaign.info, voter))
    assert query(full, "SELECT count(*) FROM voter_identity WHERE voter_id = :voter", voter=voter) == [(0,)]
    assert query(full, "SELECT count(*) FROM vote_event") == votes


def test_migrated_tables_are_those_of_the_schema(ledger):
    with ledger.database.engine.connect() as connection:
        options = {"version_table": "ledger_revision", "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
        found = sa.inspect(connection)
        for table in schema.metadata.sorted_tables:  # what alembic does not compare
            wanted = {each.name for each in table.constraints if isinstance(each, sa.CheckConstraint)}
            assert wanted == {each["name"] for each in found.get_check_constraints(table.name)}


def test_each_fact_of_history_has_its_trigger(ledger):
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if ledger.database.is_sqlite
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    found = {name for (name,) in query(ledger, names)}
    verbs = ["update", "delete"] + ["truncate"] * (not ledger.database.is_sqlite)
    assert {f"tr_{table}_{verb}" for table in schema.HISTORY for verb in verbs} <= found


@pytest.fixture
def old(empty_target):
    """A ledger as revision 0001 wrote it, and what is known of it: two ballots, with checks and answers to them."""
    ledger = Ledger(empty_target)
    kept = json.loads((Path(__file__).parent / "ledger_0001.json").read_text())

    def work(connection):
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for name, table in kept["tables"].items():
            rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
            if rows:
                columns = ", ".join(table["columns"])
                values = ", ".join(f":{column}" for column in table["columns"])
                connection.execute(sa.text(f"INSERT INTO {name} ({columns}) VALUES ({values})"), rows)
            if rows and "id" in table["columns"] and not ledger.database.is_sqlite:
                last = max(row["id"] for row in rows)
                connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {last})")

    ledger.database.write_ahead()
    ledger.database.write(work)
    yield ledger, kept["expected"]
    ledger.close()


def test_revision_0001_is_brought_up_with_its_checks_votes_and_digests(old):
    ledger, expected = old
    assert ledger.migrate() == "0001"
    assert ledger.migrate() is None
    campaign = ledger.campaign()
    read = campaign.database.read
    assert campaign.verify().n_closed == 1  # draws, votes and the chain have the digests that were written
    shares = ("attention", "gold", "repeats", "agreement")
    assert [
        [each.key, each.n_votes, *([share.n_so, share.n] for share in (getattr(each, name) for name in shares))]
        for each in read(lambda c: quality_of(c, campaign.info)).voters
    ] == expected["quality"]
    now = read(lambda c: status_of(c, campaign.info))
    assert (now.n_late, now.n_votes) == (expected["n_late"], expected["n_votes"])
    assert now.spending.n_probes == expected["n_probes"]
    found = read(lambda c: conflicts(c, campaign.info))
    assert sorted([each.stands, each.came] for each in found) == expected["conflicts"]
    for number, wanted in enumerate(expected["orders"], start=1):
        change(ledger, "UPDATE ballot SET state = 'closed'")
        change(ledger, "UPDATE ballot SET state = 'open' WHERE number = :number", number=number)
        assert [[each.left, each.right] for each in read(lambda c: shown(c, campaign.info))] == wanted
    check_ledger(ledger)


def test_events_of_revision_0001_are_known_under_their_ids(old):
    ledger, expected = old
    ledger.migrate()
    campaign = ledger.campaign()
    event_id, place, voter, answer = expected["vote"]
    assert campaign.cast(vote(voter, place, answer, event_id=event_id)).repeated
    event_id, place, voter, answer = expected["check"]
    n_comparisons = campaign.ballots()[0].n_comparisons
    assert campaign.cast(vote(voter, n_comparisons + place, answer, event_id=event_id)).repeated
    # A check was answered under the id of a vote, which keeps it; the answer has another one.
    [(n_votes, n_places)] = query(
        ledger, "SELECT count(*), max(place) FROM vote_event WHERE event_id = :event_id", event_id=expected["reused"]
    )
    assert (n_votes, n_places) == (1, expected["vote"][1])
    kinds = query(ledger, "SELECT kind FROM vote_event WHERE place = :place ORDER BY revision", place=n_comparisons)
    assert kinds[:3] == [("cast",), ("retract",), ("cast",)]
    for place, _, voter in asked(campaign, 2):
        with contextlib.suppress(ConflictError):
            campaign.cast(vote(voter, place, "right", number=2))
    campaign.close(2)
    assert campaign.verify().n_closed == 2


def test_the_head_is_the_last_file():
    config = Config()
    config.set_main_option("script_location", next(iter(migrations.__path__)))
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.HEAD]


@pytest.mark.parametrize("revision", ["0000", "9999"])
def test_another_revision_is_refused_and_left_alone(ledger, revision):
    change(ledger, f"UPDATE ledger_revision SET version_num = '{revision}'")
    target = str(ledger.database.path) if ledger.database.is_sqlite else ledger.database.url
    if not isinstance(target, str):
        target = target.set(drivername="postgresql").render_as_string(hide_password=False)
    for how in (Ledger.open, Ledger.create):
        with pytest.raises(RevisionError, match=f"are of revision {revision}, and this release reads 0003"):
            how(target)
    assert query(ledger, "SELECT version_num FROM ledger_revision") == [(revision,)]


def test_a_database_without_tables_is_no_ledger(empty_target):
    if "://" in empty_target:
        with pytest.raises(RevisionError, match="holds no ledger"):
            Ledger.open(empty_target)
    else:
        with pytest.raises(LedgerError, match="does not exist"):
            Ledger.open(empty_target)


def test_tables_of_other_software_are_left_alone(empty_target):
    other = Ledger(empty_target)
    change(other, "CREATE TABLE item (id INTEGER)")
    other.close()
    with pytest.raises(RevisionError, match=re.escape("has tables of other software: item")):
        Ledger.create(empty_target)
