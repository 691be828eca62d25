"""Copies of a ledger: what the online backup refuses and leaves alone, and a PostgreSQL ledger dumped and restored."""

import shutil
import subprocess

import pytest
import sqlalchemy as sa

from adaptive.ledger import Ledger, LedgerError, UnreachableError
from tests.adaptive.ledger.campaigns import asked, campaign_of, vote


def voted(ledger):
    campaign = campaign_of(ledger)
    for place, _, voter in asked(campaign):
        campaign.cast(vote(voter, place, "left" if place % 3 else "tie"))
    campaign.close(1)
    return campaign


def test_a_copy_is_the_same_campaign(ledger, tmp_path):
    campaign = voted(ledger)
    if not ledger.database.is_sqlite:
        with pytest.raises(LedgerError, match="is backed up with pg_dump"):
            ledger.back_up(tmp_path / "copy.db")
        return
    ledger.back_up(tmp_path / "copy.db")
    copy = Ledger.open(tmp_path / "copy.db")
    assert copy.campaign().bundle() == campaign.bundle()
    copy.close()
    with pytest.raises(LedgerError, match=r"copy\.db: already exists"):
        ledger.back_up(tmp_path / "copy.db")
    with pytest.raises(UnreachableError, match=r"copy\.db: cannot be written"):
        ledger.back_up(tmp_path / "none" / "copy.db")


@pytest.mark.skipif(not (shutil.which("pg_dump") and shutil.which("pg_restore")), reason="needs pg_dump and pg_restore")
def test_a_dump_of_postgresql_is_restored_to_the_same_campaign(postgresql, tmp_path):
    target = postgresql.new_schema(with_tables=True)
    ledger = Ledger.open(target)
    campaign = voted(ledger)
    url = sa.make_url(target)
    schema = url.query["options"].removeprefix("-csearch_path=")
    plain = url.difference_update_query(["options"])
    dump = tmp_path / "votes.dump"

    def run(program, *arguments):
        subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=300)

    run("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", plain.render_as_string(False))
    name = f"{postgresql.name}_restored"
    postgresql._run(postgresql.server, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        run("pg_restore", "--no-owner", f"--dbname={plain.set(database=name).render_as_string(False)}", str(dump))
        restored = Ledger.open(url.set(database=name).render_as_string(False))
        assert restored.campaign().bundle() == campaign.bundle()
        assert restored.campaign().verify().n_votes == 12
        with (
            pytest.raises(sa.exc.IntegrityError, match="never deleted"),
            restored.database.engine.begin() as connection,
        ):
            connection.execute(sa.text("DELETE FROM vote_event"))
        restored.close()
    finally:
        postgresql._run(postgresql.server, f"DROP DATABASE {name} WITH (FORCE)")
        ledger.close()
