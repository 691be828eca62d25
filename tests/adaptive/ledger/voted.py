"""Campaigns with votes, for the tests of what leaves a ledger and comes in."""

import atexit
import os
import secrets
import shutil
import tempfile
from functools import cache

import numpy as np
import psycopg
import pytest

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive._tables import item_cells
from adaptive.ledger import Ledger, Settings
from adaptive.ledger._ballots.stored import load_ballot
from adaptive.ledger._votes.recording import record_file
from tests.adaptive.ledger.campaigns import pair_ids

POSTGRES = os.environ.get("RANKCORR_TEST_POSTGRES", "postgresql://postgres@127.0.0.1/postgres")
PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=5)
ITEMS = ["plum", "=1+1", "-3", "'@fig", 'Ж, "quoted"', "a\tb", "+pear", "kiwi"]
PAIRS = [("a", "b"), ("a", "=c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "Ж")]
VOTERS = ["Ann", "Bob", "@Eve"]
WORDS = ["left", "right", "tie", "cannot say"]


_OPENED = []


def ledger_at(target):
    """A ledger that is closed when the test is over."""
    if "://" not in target and not os.path.exists(target):
        shutil.copy(empty_file(), target)
    _OPENED.append(Ledger.create(target))
    return _OPENED[-1]


@cache
def empty_file():
    """A file with the tables of a ledger: to make them takes a fifth of a second."""
    path = os.path.join(tempfile.mkdtemp(), "empty.db")
    ledger = Ledger.create(path)
    ledger.close()
    atexit.register(shutil.rmtree, os.path.dirname(path))
    return path


def _close_all():
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def sqlite(tmp_path):
    """Path of a ledger that is not there yet."""
    yield str(tmp_path / "ledger.db")
    _close_all()


@pytest.fixture(scope="session")
def postgres():
    """A database of PostgreSQL that campaigns of several tests share; None where no server answers."""
    name = f"rankcorr_{secrets.token_hex(6)}"
    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=60)
    except psycopg.OperationalError:
        yield None
        return
    with server:
        server.execute(f"CREATE DATABASE {name}")
        yield f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    """Where a campaign may be made: a file that is not there yet, or a database of PostgreSQL."""
    if request.param == "sqlite":
        yield str(tmp_path / "other.db")
    else:
        url = request.getfixturevalue("postgres")
        if url is None:
            pytest.skip("no PostgreSQL answers")
        yield url
    _close_all()


def rows_of(campaign, number, seed=0, *, words=WORDS, silent=0.1):
    """A row for most comparisons of a ballot, as a file has them."""
    rng = np.random.default_rng(seed)
    stored = campaign.ballots()[number - 1]
    ballot = campaign.read(load_ballot, stored)
    rows, ids = [], pair_ids(campaign, number)
    for place in range(ballot.n_comparisons):
        if rng.random() < silent:
            continue
        word = words[rng.choice(len(words), p=[0.4, 0.3, 0.2, 0.1][: len(words)] if len(words) == 4 else None)]
        left, right = (ballot.items[side[place]] for side in (ballot.left, ballot.right))
        cells = [item_cells(label) if isinstance(label, tuple) else str(label) for label in (left, right)]
        extra = (("seconds", f"{rng.random():.3f}"), ("device", "=phone")) if rng.random() < 0.5 else ()
        voter = str(campaign.info.slots[ballot.voter[place]])
        rows.append(VoteRow(place + 2, ids[place], voter, *cells, word, extra))
    return rows


def record(campaign, rows):
    return record_file(campaign, VoteFile("votes.csv", tuple(rows)))


def voted(target, n_closed=1, *, n_opened=None, items=ITEMS, voters=VOTERS, seed=1, plan=PLAN, **settings):
    """A campaign with some closed ballots, and votes on the one that is open."""
    campaign = ledger_at(target).new_campaign(
        plan, items, voters, seed, name="Fruit", settings=Settings(least_answered=0.5, **settings)
    )
    for number in range(1, (min(n_closed + 1, plan.n_ballots) if n_opened is None else n_opened) + 1):
        campaign.open_next()
        record(campaign, rows_of(campaign, number, seed + number))
        if number <= n_closed:
            campaign.close(number)
    return campaign
