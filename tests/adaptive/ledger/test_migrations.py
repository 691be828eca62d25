"""New and upgraded ledgers have the tables of the schema, and protect their history."""

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from adaptive.ledger import Ledger, LedgerError, RevisionError
from adaptive.ledger._store import migrations, schema
from adaptive.ledger._store.schema import answer_name
from adaptive.ledger._votes.voiding import erase
from tests.adaptive.ledger.campaigns import (
    change,
    check_ledger,
    comparisons_of,
    first_comparison,
    query,
    target_of,
    vote,
    voters_of,
    write,
)


@pytest.fixture
def ledger(empty_target):
    """A ledger whose tables a test may change."""
    new_ledger = Ledger.create(empty_target)
    yield new_ledger
    new_ledger.close()


@pytest.fixture
def full_ledger(ledger):
    """A ledger with a row in each table of history."""
    campaign, place, voter = first_comparison(ledger)
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


def is_refused(ledger, statement):
    """Whether the statement is refused and nothing has changed."""
    tables = sorted(schema.metadata.tables)
    before = [sorted(map(str, query(ledger, f"SELECT * FROM {table}"))) for table in tables]
    with pytest.raises(sa.exc.DBAPIError, match="the ledger keeps its history"):
        change(ledger, statement)
    return before == [sorted(map(str, query(ledger, f"SELECT * FROM {table}"))) for table in tables]


def check_not_emptied(full, table):
    if full.database.is_sqlite:
        assert is_refused(full, f"REPLACE INTO {table} SELECT * FROM {table}")
    else:
        assert is_refused(full, f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("table", schema.HISTORY)
def test_rows_of_history_are_neither_changed_nor_deleted(full_ledger, table):
    assert query(full_ledger, f"SELECT count(*) FROM {table}") > [(0,)]
    for name in (column.name for column in schema.metadata.tables[table].c):
        assert is_refused(full_ledger, f"UPDATE {table} SET {name} = {name}")
    assert is_refused(full_ledger, f"DELETE FROM {table}")
    check_not_emptied(full_ledger, table)


@pytest.mark.parametrize("table", ["campaign", "ballot", "sheet", "voter", "lease", "token"])
def test_mutable_rows_are_never_deleted_and_keep_their_identity(full_ledger, table):
    assert is_refused(full_ledger, f"DELETE FROM {table}")
    fixed = {
        "campaign": ["key", "mode", "plan", "slots", "seed", "hash_key", "created_at"],
        "ballot": ["number", "places", "presentations", "n_comparisons", "draw_digest", "opened_at"],
        "sheet": ["number", "slot", "n_comparisons", "n_checks"],
        "voter": ["campaign_id", "key", "source", "joined_at"],
        "lease": ["ballot_id", "sheet", "voter_id", "fence", "given_at"],
        "token": ["hash", "campaign_id", "kind", "voter_id", "made_at"],
    }
    for column in fixed[table]:
        assert is_refused(full_ledger, f"UPDATE {table} SET {column} = {column}")
    check_not_emptied(full_ledger, table)


def test_only_identities_of_voters_may_be_deleted(full_ledger):
    campaign = full_ledger.campaign()
    (voter,) = voters_of(campaign, 1)
    assert query(full_ledger, "SELECT count(*) FROM voter_identity WHERE voter_id = :voter", voter=voter) == [(1,)]
    votes = query(full_ledger, "SELECT count(*) FROM vote_event")
    write(campaign, erase, voter)
    assert query(full_ledger, "SELECT count(*) FROM voter_identity WHERE voter_id = :voter", voter=voter) == [(0,)]
    assert query(full_ledger, "SELECT count(*) FROM vote_event") == votes


def check_tables(ledger):
    """The tables are those of the schema."""
    with ledger.database.engine.connect() as connection:
        options = {"version_table": "ledger_revision", "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
        result = sa.inspect(connection)
        for table in schema.metadata.sorted_tables:  # not compared by alembic
            expected = {check.name for check in table.constraints if isinstance(check, sa.CheckConstraint)}
            assert expected == {check["name"] for check in result.get_check_constraints(table.name)}


def test_tables_are_those_of_the_schema(ledger):
    check_tables(ledger)


def test_a_ledger_of_the_first_release_is_upgraded_with_its_votes(full_ledger):
    change(full_ledger, "ALTER TABLE comparison DROP COLUMN other_items")  # the first release had no sets
    change(full_ledger, "UPDATE ledger_revision SET version_num = '0003'")
    votes = query(full_ledger, "SELECT * FROM vote_event")
    with pytest.raises(RevisionError, match="has tables of revision 0003, but this release reads 0004"):
        full_ledger.check()
    assert full_ledger.migrate() == "0003"
    assert full_ledger.migrate() is None
    check_tables(full_ledger)
    assert query(full_ledger, "SELECT * FROM vote_event") == votes
    assert full_ledger.campaign().verify().n_comparisons == full_ledger.campaign().ballots()[0].n_comparisons
    assert is_refused(full_ledger, "UPDATE comparison SET other_items = NULL")


def test_a_change_of_the_tables_has_a_revision():
    """If this fails, add a file to versions/ and write its number and the new digest here."""
    in_memory = Ledger.in_memory()
    statements = query(in_memory, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")  # with indices and triggers
    in_memory.close()
    texts = sorted(" ".join(statement.split()) for (statement,) in statements)
    assert (migrations.HEAD, schema.digest_of(texts)[:12]) == ("0004", "eeb67b84656b")


def test_each_table_of_history_has_its_triggers(ledger):
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if ledger.database.is_sqlite
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    result = {name for (name,) in query(ledger, names)}
    verbs = ["update", "delete"] + ["truncate"] * (not ledger.database.is_sqlite)
    assert {f"tr_{table}_{verb}" for table in schema.HISTORY for verb in verbs} <= result


NEW_REVISION = """
import sqlalchemy as sa
from alembic import op
from adaptive.ledger._store.migrations import triggers

revision, down_revision = "0005", "0004"

def upgrade():
    dialect = op.get_bind().dialect.name
    op.execute("DROP TRIGGER tr_vote_event_update" + " ON vote_event" * (dialect == "postgresql"))
    op.add_column("vote_event", sa.Column("note", sa.Text()))
    op.execute("UPDATE vote_event SET note = 'written before 0005'")
    for statement in triggers(dialect, never_changed=["vote_event"], never_deleted=[], fixed={}):
        op.execute(statement)
"""


@pytest.fixture
def old_ledger(full_ledger, tmp_path, monkeypatch):
    """A ledger with rows, and a patched release whose new revision adds a column to the votes."""
    (tmp_path / "0005_later.py").write_text(NEW_REVISION)
    folder = Path(migrations.__path__[0])
    scripts = ScriptDirectory(str(folder), version_locations=[str(folder / "versions"), str(tmp_path)])
    monkeypatch.setattr(migrations, "_scripts", lambda: scripts)
    monkeypatch.setattr(migrations, "HEAD", "0005")
    return full_ledger


def test_an_older_ledger_is_upgraded_with_its_votes_and_digests(old_ledger):
    campaign = old_ledger.campaign()
    for place, _, voter in comparisons_of(campaign)[1:]:
        campaign.cast(vote(voter, place))
    campaign.close(1)
    with pytest.raises(RevisionError, match="has tables of revision 0004, but this release reads 0005"):
        old_ledger.check()
    assert old_ledger.migrate() == "0004"
    assert old_ledger.migrate() is None
    old_ledger.check()
    assert campaign.verify().n_closed == 1  # draws, votes and the chain keep their digests
    rows = query(
        old_ledger, "SELECT event_id, place, voter_id, answer FROM vote_event WHERE note = 'written before 0005'"
    )
    assert len(rows) == campaign.ballots()[0].n_comparisons
    event_id, place, voter, answer = rows[0]
    assert campaign.cast(vote(voter, place, answer_name(answer), event_id=event_id)).repeated
    assert is_refused(old_ledger, "UPDATE vote_event SET note = NULL")
    campaign.open_next()
    for place, _, voter in comparisons_of(campaign, 2):
        campaign.cast(vote(voter, place, "right", number=2))
    campaign.close(2)
    assert campaign.verify().n_closed == 2
    check_ledger(old_ledger)


def test_a_revision_without_an_upgrade_is_refused_and_not_changed(full_ledger):
    change(full_ledger, "UPDATE ledger_revision SET version_num = '0002'")
    with pytest.raises(RevisionError, match=r"cannot be upgraded: .*'0002'"):
        full_ledger.migrate()
    assert query(full_ledger, "SELECT version_num FROM ledger_revision") == [("0002",)]


def test_the_head_is_the_last_file():
    assert migrations._scripts().get_heads() == [migrations.HEAD]


@pytest.mark.parametrize("revision", ["0000", "9999"])
def test_an_unknown_revision_is_refused_and_not_changed(ledger, revision):
    change(ledger, f"UPDATE ledger_revision SET version_num = '{revision}'")
    for how in (Ledger.open, Ledger.create):
        with pytest.raises(RevisionError, match=f"has tables of revision {revision}, but this release reads 0004"):
            how(target_of(ledger))
    assert query(ledger, "SELECT version_num FROM ledger_revision") == [(revision,)]


def test_a_database_without_tables_is_refused(empty_target):
    message = "is not a ledger" if "://" in empty_target else "does not exist"
    with pytest.raises(LedgerError, match=message):
        Ledger.open(empty_target)


def test_tables_of_other_software_are_not_changed(empty_target):
    other = Ledger(empty_target)
    change(other, "CREATE TABLE item (id INTEGER)")
    other.close()
    with pytest.raises(RevisionError, match=re.escape("has tables of other software: item")):
        Ledger.create(empty_target)
